"""Gaps before, between and after characters, and which assertions hold in them.

Sides and truths are plain integers: they are parts of states, and members of an `Enum` are slow to hash.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from tornado_proxy.lint.automata.classes import WORD, holds
from tornado_proxy.lint.automata.syntax import AssertionKind

EDGE, BLANK, LETTER = range(3)
"""What stands on one side of a gap: nothing, any other character, or one of `\\w`."""

TRUTHS = {
    AssertionKind.TEXT_START: 1,
    AssertionKind.LINE_START: 1,  # a key holds no line end, so its one line is the text
    AssertionKind.TEXT_END: 2,
    AssertionKind.LINE_END: 2,
    AssertionKind.WORD_BOUNDARY: 4,
    AssertionKind.NO_WORD_BOUNDARY: 8,
}
"""A bit for each assertion: truths are an integer made of those that hold in a gap."""

BOUNDARIES = TRUTHS[AssertionKind.WORD_BOUNDARY] | TRUTHS[AssertionKind.NO_WORD_BOUNDARY]
"""The assertions that ask whether a character is one of `\\w`."""


def _truths(before: int, after: int) -> int:
    apart = (before == LETTER) != (after == LETTER)
    boundary = AssertionKind.WORD_BOUNDARY if apart else AssertionKind.NO_WORD_BOUNDARY
    start = TRUTHS[AssertionKind.TEXT_START] if before == EDGE else 0
    end = TRUTHS[AssertionKind.TEXT_END] if after == EDGE else 0
    return start | end | TRUTHS[boundary]


HOLDING = tuple(tuple(_truths(before, after) for after in range(3)) for before in range(3))
"""By the sides before and after a gap: what holds in it."""


@lru_cache(maxsize=4096)
def side(character: str) -> int:
    """What a character is to the gaps beside it."""
    return LETTER if holds(WORD, character) else BLANK


def gaps(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """The gaps of a text from left to right, from an offset on: what holds there, and the character after, if any."""
    before = side(text[start - 1]) if start else EDGE
    for character in text[start:]:
        after = side(character)
        yield HOLDING[before][after], character
        before = after
    yield HOLDING[before][EDGE], ""
