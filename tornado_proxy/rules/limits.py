"""The limits of rule files and of keys."""

from __future__ import annotations

MOST_SOURCE_MEMORY = 64 << 20
"""Bytes of all compiled sources: twenty times what 10,000 ordinary ones need."""
MOST_TEMPLATE_MISTAKES = 10
"""Mistakes of one template that are reported."""

LONGEST_MISSPELT = 64
"""Characters of a misspelt word: difflib's time grows with the length."""
CLOSE_ENOUGH = 0.65
"""Likeness, of 1, from which a word is one that was meant."""
SHOWN_BYTES = 200
"""Bytes that are shown after one that cannot be decoded."""

LARGEST_RULES = 8 * 1024 * 1024
"""Bytes of all rule files: ten times what 10,000 rewrites need. Compiling takes 80 to 280 bytes for each. In the
manual."""

LARGEST_LISTS = 32 * 1024 * 1024
"""Bytes of all lists of addresses: three times what 100,000 lines need. In the manual."""

LONGEST_OBJECT_KEY = 1024
"""Bytes of UTF-8 in a key of S3 (S3 API, PutObject). In the manual."""

MOST_MISTAKES = 1000
"""Mistakes of a file: one with more is not a rule file. Each recovery reports or moves on, so this bounds its time."""

FOLDED_KEPT = 256
"""Paths whose folded form is kept."""

LONGEST_SHOWN = 40
"""Characters of what a message quotes."""

LONGEST_SHOWN_KEY = 80
"""Characters of a key in the report of a test."""
TAB = 4
"""Columns of a tab in an excerpt."""
WIDEST_EXCERPT = 120
"""Columns of a line in an excerpt: of what is marked, and on either side."""
WIDEST_HEAD = 80
"""Columns of a statement before its arrow: the arrow of a wider one does not move those of its neighbours."""
