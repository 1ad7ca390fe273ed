"""The admin listener: health, status page, metrics and commands, for operators."""
