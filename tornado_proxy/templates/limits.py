"""The limits of templates in rules."""

from __future__ import annotations

MOST_LENGTH_DIGITS = 18
"""Digits of a Content-Length, which an int64 has room for."""

MOST_BITS = 1024
"""Bits of the largest integer."""
LONGEST_CONVERSION = 450
"""Characters of the largest float with 99 decimals."""
FLOAT_DIGITS = 15
"""Significant digits of a float."""

LONGEST_MESSAGE = 200
"""Characters of a message of Python's, which may contain values."""

LONGEST_NUMBER = 100
"""Characters of a number; Python writes no number of thousands into the compiled template."""
DEEPEST_TEMPLATE = 60
"""Levels of nesting of a Jinja template."""
MOST_TEMPLATE_NAMES = 100
"""Names that a template sets: Jinja2 copies all of them at each of its branches."""
