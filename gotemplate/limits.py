"""The limits of expressions and templates."""

from __future__ import annotations

STEPS_PER_QUESTION = 200_000
"""Steps for one question, by default: at most a second of plain Python."""
STEPS_PER_LIST = 2_000_000
"""Steps for all questions about one list, by default."""
LONGEST_KEY = 1025
"""Bytes of UTF-8 of the longest valid key, with its leading slash."""

MOST_POSITIONS = 2000
"""Positions of one expression: enough for the 1,000 repetitions that RE2 allows."""
DEEPEST_GROUPS = 60
"""Levels of groups; beyond them, recursion over the tree would come near Python's limit."""

SET_MEMORY = 32 << 20
"""Bytes for the sets of a list with the states that they cache. A set whose share is full begins anew, which costs a
key some 10 µs: 4 MiB are enough for about 1,000 addresses in use."""
LARGE_SETS = 8
"""Sets among which this memory is divided; each of more than these gets an eighth."""
MOST_PARTS = 1_200
"""Characters, classes and alternatives of a source with its counts written out, such as two `[^/]{1,255}`."""
MOST_INSTRUCTIONS = 16_000
r"""The most instructions of RE2 for a source; `\pL` has about 1,200."""
MOST_CAPTURES = 100_000
"""Instructions of a source, times its groups."""
SET_INSTRUCTIONS = 80_000
"""Instructions of a set, or characters if these are more: about 1,200 patterns. RE2 compiles a set while it holds the
GIL: 15 ms for this size, which requests hardly notice. Each additional set costs a microsecond for every key."""
ENDS_A_PORTION = 128
"""A set that is three quarters full ends before the next pattern whose checksum is a multiple of this."""
LONGEST_GROUP_NUMBER = 9
"""Digits of the number of a group; to Go, more of them are a name."""

SHORT_EXPRESSION = 1000
"""Characters: a shorter text cannot be too deep nor, without counts, too large."""

LARGEST_PROGRAM = 1 << 20
r"""Most bytes of a program; a class such as `\pL` has 11,000, because RE2's Unicode is older than Go's."""

STEPS_OF_SEARCH = 50
"""Steps that a search costs before it reads anything."""

GREATEST_REPEAT = 1000
"""Greatest bound of a count, and the most copies that nested counts may make."""
GREATEST_DEPTH = 1000
"""Levels of nesting, as in Go."""

COST_OF_DECIMAL = 4
"""Steps of an exact decimal."""
DIVISION_PLACES = 16
"""Digits of a quotient, decimal.DivisionPrecision."""

COST_OF_DATE = 8
"""Steps of what reads a calendar."""

EXPRESSION_MEMORY = 2 << 20
"""Bytes of a compiled expression; a larger one would take too long to compile."""
LONGEST_EXPRESSION = 2048
"""Bytes of an expression."""

COST_OF_VERSION = 8
"""Steps of reading a version."""
LONGEST_VERSION = 256
"""Bytes of a version, semver's MaxVersionLen."""
COST_OF_CONSTRAINT = 50
"""Steps of reading a constraint."""

COST_OF_STRINGER = 16
"""Steps of a call of a value's String method, which is what a time costs."""

LONG_TEXT = 255
"""Bytes of a text that costs no more than the action that reads, creates or writes it."""

MOST_TEMPLATES = 100
"""Templates that one text defines."""
DEEPEST_TEMPLATE = 100
"""Levels of parentheses and of control actions; Go allows more levels of parentheses."""

LARGEST_WIDTH = 1_000_000
"""Greatest width and precision of a verb, as in Go."""
LONGEST_WIDTH = 8
"""Digits of a width."""
