"""The configuration: YAML becomes frozen targets and settings, with a diagnostic for each mistake."""
