"""What proofs read and what they may cost: real keys, character by character, and a budget of steps.

A real key is one that `rules.model.objection` lets through and that starts with `/`. A *letter* stands for all
characters that the expressions of a proof cannot tell apart; assertions look at the gaps between characters. Roles,
positions, sides and truths are plain integers: they are parts of states, and members of an `Enum` are slow to hash.

Unproved
├── Unsupported     an expression cannot be treated exactly, so nothing is concluded from it
├── Exhausted       the budget is used up
└── OnlyOverlong    what answers the question is longer than keys may be
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

from tornado_proxy.goregex.classes import WORD, Ranges, cases, characters, complement, contains, difference, listed
from tornado_proxy.goregex.syntax import AnyOf, AssertionKind


class Unproved(Exception):
    """A question that stays open; the text says why, as a fact without a full stop."""


class Unsupported(Unproved):
    """An expression, or a part of one, cannot be treated exactly; nothing is concluded from it."""


class Exhausted(Unproved):
    """The steps of a budget are used up."""

    def __init__(self) -> None:
        super().__init__("the proof would take too long")


class OnlyOverlong(Unproved):
    """Every key that answers the question is longer than keys may be.

    Such a key is refused where a client asks for it, but a rewrite may shorten it. So it is not an example, and does
    not prove that there is no key.
    """

    def __init__(self) -> None:
        super().__init__("only keys that are too long would show it")


QUESTION = 200_000
"""The steps of one question by default: at most a second of plain Python."""

LIST = 2_000_000
"""The steps of all questions about one list by default."""


class Budget:
    """Steps to be spent; a step is some microseconds of a proof."""

    __slots__ = ("_left", "_whole")

    def __init__(self, steps: int = QUESTION, whole: Budget | None = None) -> None:
        self._left = steps
        self._whole = whole

    @property
    def left(self) -> int:
        """The steps that may still be spent."""
        return self._left if self._whole is None else min(self._left, self._whole.left)

    def spend(self, steps: int) -> None:
        """Take steps from this budget and from the one it is part of; raises `Exhausted` where too few are left."""
        self._left -= steps
        if self._left < 0:
            raise Exhausted
        if self._whole is not None:
            self._whole.spend(steps)

    def portion(self, steps: int) -> Budget:
        """A budget for one question of many, which spends from this one too."""
        return Budget(steps, self)


LONGEST = 1025
"""The most bytes of UTF-8 in a key, its leading slash included."""

REFUSED: Ranges = ((0, 0x1F), (0x7F, 0x9F), (0xD800, 0xDFFF))
"""What no key may hold: control characters and surrogates."""

HELD = complement(REFUSED)
"""What a key may hold."""

SLASH, DOT, OTHER, NEVER = range(4)
"""What a character is to the segments of a key."""

START, SEGMENT, ONE_DOT, TWO_DOTS, WITHIN, NOWHERE = range(6)
"""Where in its segments a key has been read up to: before its leading slash, at the start of a segment, in one that is
`.` or `..` so far, in any other, or where no real key leads."""

FOLLOWING = (
    (SEGMENT, NOWHERE, NOWHERE, NOWHERE),
    (SEGMENT, ONE_DOT, WITHIN, NOWHERE),
    (NOWHERE, TWO_DOTS, WITHIN, NOWHERE),
    (NOWHERE, WITHIN, WITHIN, NOWHERE),
    (SEGMENT, WITHIN, WITHIN, NOWHERE),
    (NOWHERE, NOWHERE, NOWHERE, NOWHERE),
)
"""By place, and by the role of the next character: the place after it."""

# What `led` finds in no real key, in one look.
_UNREAL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]|/\.\.?(?:/|$)")
_ROLES = {"/": SLASH, ".": DOT}

ENDS = frozenset({SEGMENT, WITHIN})
"""Where a real key may end."""


@lru_cache(maxsize=4096)
def role(character: str) -> int:
    """What a character is to the segments of a key."""
    if character in _ROLES:
        return _ROLES[character]
    return NEVER if contains(REFUSED, ord(character)) else OTHER


def led(text: str) -> int:
    """Where a text leads from the beginning of a key."""
    place = START
    for character in text:
        place = FOLLOWING[place][role(character)]
    return place


def is_real(text: str) -> bool:
    """Whether a text is a real key."""
    return text.startswith("/") and not _UNREAL.search(text) and len(text.encode()) <= LONGEST


@lru_cache(maxsize=4096)
def readable(node: AnyOf) -> Ranges:
    """The characters that a node matches, of those that a key may hold."""
    return difference(characters(node), REFUSED)


@lru_cache(maxsize=4096)
def readable_cases(character: str, *, folded: bool) -> Ranges:
    """The characters that a literal character matches, of those that a key may hold."""
    return difference(cases(character, folded=folded), REFUSED)


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
    return LETTER if contains(WORD, ord(character)) else BLANK


def gaps(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """The gaps of a text from left to right, from an offset on: what holds there, and the character after, if any."""
    before = side(text[start - 1]) if start else EDGE
    for character in text[start:]:
        after = side(character)
        yield HOLDING[before][after], character
        before = after
    yield HOLDING[before][EDGE], ""


# What people write into a key, best first: examples are made of these where they can be.
_EVERYDAY = ascii_lowercase + digits + ascii_uppercase + "-_/.~+,=@:!$&'()*;% #?[]{}|^`\"<>\\"
_RARE = len(_EVERYDAY)
_RANKS = [_EVERYDAY.index(each) if each in _EVERYDAY else _RARE + ord(each) for each in map(chr, range(128))]
_BASE = (HELD, listed("/"), listed("."))


class Letter(NamedTuple):
    """All characters that are in the same sets; `sets` has a bit for each set, `size` is in bytes of UTF-8."""

    character: str
    sets: int
    size: int
    role: int
    side: int


def everyday(ranges: Ranges) -> str | None:
    """The character of a set that people are most likely to write; None where it is empty."""
    return _ranked(min(_rank(first, last) for first, last in ranges)) if ranges else None


@lru_cache(maxsize=1024)
def letters(sets: tuple[Ranges, ...], *, words: bool) -> tuple[Letter, ...]:
    """The letters of an alphabet, everyday ones first; `words`: whether word characters are distinguished."""
    borders, members = _stretches([*sets, *_BASE, *((WORD,) if words else ())])
    real = 1 << len(sets)
    best: dict[int, int] = {}  # the least rank of those in the same sets
    for (border, following), signature in zip(pairwise(borders), members, strict=False):
        if signature & real:
            rank = _rank(border, following - 1)
            best[signature] = min(rank, best.get(signature, rank))
    return tuple(
        _letter(_ranked(rank), signature & (real - 1), words=words)
        for signature, rank in sorted(best.items(), key=itemgetter(1))
    )


def _rank(first: int, last: int) -> int:
    """The place in a line of all characters, those that people write into a key first, of the first in a range."""
    return min(_RANKS[first : last + 1], default=_RARE + first)


def _ranked(rank: int) -> str:
    """The character of a rank."""
    return _EVERYDAY[rank] if rank < _RARE else chr(rank - _RARE)


def _letter(character: str, sets: int, *, words: bool) -> Letter:
    return Letter(character, sets, len(character.encode()), role(character), side(character) if words else BLANK)


def _stretches(sets: Iterable[Ranges]) -> tuple[list[int], list[int]]:
    """Where membership changes along all code points, and in which sets the code points from there on are."""
    changes: dict[int, int] = {0: 0}
    for index, each in enumerate(sets):
        for first, last in each:
            changes[first] = changes.get(first, 0) ^ 1 << index
            changes[last + 1] = changes.get(last + 1, 0) ^ 1 << index
    borders = sorted(changes)
    members = []
    now = 0
    for border in borders:
        now ^= changes[border]
        members.append(now)
    return borders, members
