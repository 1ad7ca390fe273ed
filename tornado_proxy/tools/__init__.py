"""Tools for the author of rules: tests, diff, conversion; neither S3 nor network nor Tornado."""
