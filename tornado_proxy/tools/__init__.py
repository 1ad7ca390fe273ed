"""Tools for the author of rules: tests, diff, conversion; they use neither S3 nor network nor Tornado."""
