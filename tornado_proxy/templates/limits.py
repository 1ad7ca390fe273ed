"""The limits of templates: of rules, of pages, and of their headers."""

from __future__ import annotations

KEY_STEPS = 50_000
"""Steps of one rendering of a key; a usual template takes a few dozen."""
KEY_TEXT = 64 * 1024
"""Characters, and items of lists, that one rendering of a key makes; a key has at most 1024 bytes."""
PAGE_STEPS = 200_000
"""Steps of one rendering of a page, and for each further thousand entries of its listing."""
PAGE_TEXT = 4 << 20
"""Bytes of a page."""
HEADER_STEPS = 20_000
"""Steps of one rendering of a header or a status."""
HEADER_TEXT = 64 * 1024
"""Bytes of a header."""
PAGE_ITEMS = 10_000
"""Items of the lists that a page or a header makes: ten times the entries of a page of S3's."""

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
