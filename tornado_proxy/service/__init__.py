"""The process: a configuration becomes a generation, a server serves it, signals and edits change it."""
