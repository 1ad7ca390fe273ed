"""The linter: an engine that runs checks over compiled rule files, and reporters that print what they found."""
