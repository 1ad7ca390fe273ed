"""The alphabet of proofs: the characters of valid keys, grouped into symbols, and a budget of steps.

A valid key begins with `/`, and has no dot segments and no control characters. A *symbol* stands for all
characters that the expressions of a proof treat alike. Assertions look at the *gaps* between characters. All of these
are plain integers, because they are parts of search states, and members of an `Enum` are slow to hash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

from gotemplate.limits import LONGEST_KEY, STEPS_PER_LIST, STEPS_PER_QUESTION
from gotemplate.regexp import classes
from gotemplate.regexp.classes import WORD, Ranges, contains, difference, listed
from gotemplate.regexp.syntax import AnyOf, AssertionKind


class Unproved(Exception):
    """A question without an answer; the text gives the reason, without a full stop."""


class Unsupported(Unproved):
    """An expression, or a part of one, cannot be treated exactly."""


class Exhausted(Unproved):
    """A budget is used up."""


class OnlyOverlong(Unproved):
    """All answers are longer than keys: no client asks for one, but a program may make one, so nothing is proved."""


class Budget:
    """A number of steps that are left to spend; a step takes a few microseconds."""

    def __init__(self, steps: int = STEPS_PER_QUESTION, whole: Budget | None = None) -> None:
        self.left = steps
        self._whole = whole

    def spend(self, steps: int) -> None:
        """Takes steps from this budget and its parent; raises `Exhausted` if too few are left."""
        self.left -= steps
        if self.left < 0:
            raise Exhausted("the proof would take too long")
        if self._whole is not None:
            self._whole.spend(steps)

    def portion(self, most: int = STEPS_PER_LIST) -> Budget:
        """Returns a budget for one of many questions, which also spends from this one."""
        return Budget(min(most, self.left), self)


FORBIDDEN_CHARACTERS: Ranges = ((0, 0x1F), (0x7F, 0x9F), (0xD800, 0xDFFF))
"""Control characters and surrogates, which no key may contain."""

KEY_CHARACTERS = classes.complement(FORBIDDEN_CHARACTERS)  # the characters that a key may contain

SLASH, DOT, OTHER, FORBIDDEN = range(4)  # the roles of characters in a path

START, SEGMENT_START, ONE_DOT, TWO_DOTS, IN_SEGMENT, DEAD = range(6)
"""The states of an automaton that accepts valid paths: before the leading slash, at the start of a segment, after
`.` or `..` at the start of one, elsewhere in a segment, and the dead state of invalid paths."""

PATH_TRANSITIONS = (
    (SEGMENT_START, DEAD, DEAD, DEAD),
    (SEGMENT_START, ONE_DOT, IN_SEGMENT, DEAD),
    (DEAD, TWO_DOTS, IN_SEGMENT, DEAD),
    (DEAD, IN_SEGMENT, IN_SEGMENT, DEAD),
    (SEGMENT_START, IN_SEGMENT, IN_SEGMENT, DEAD),
    (DEAD, DEAD, DEAD, DEAD),
)
"""The next state, by state and by the role of the next character."""

# What makes a key invalid, found in one search.
_INVALID = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]|/\.\.?(?:/|$)")
_PATH_ROLES = {"/": SLASH, ".": DOT}

FINAL_STATES = frozenset({SEGMENT_START, IN_SEGMENT})  # the states in which a valid key may end


@lru_cache(maxsize=4096)
def path_role(character: str) -> int:
    """Returns the role of a character in a path."""
    if character in _PATH_ROLES:
        return _PATH_ROLES[character]
    return FORBIDDEN if contains(FORBIDDEN_CHARACTERS, ord(character)) else OTHER


def is_valid_key(text: str) -> bool:
    """Whether a text is a valid key."""
    return text.startswith("/") and not _INVALID.search(text) and len(text.encode()) <= LONGEST_KEY


@lru_cache(maxsize=4096)
def allowed_characters(node: AnyOf) -> Ranges:
    """Returns the characters that a node matches and a key may contain."""
    return difference(classes.characters(node), FORBIDDEN_CHARACTERS)


@lru_cache(maxsize=4096)
def allowed_cases(character: str, *, folded: bool) -> Ranges:
    """Returns the characters that a literal character matches and a key may contain."""
    return difference(classes.cases(character, folded=folded), FORBIDDEN_CHARACTERS)


EDGE, OTHER_CHARACTER, WORD_CHARACTER = range(3)
r"""The sides of a gap: the end of the text, a character that `\w` does not match, or one that it matches."""

ASSERTION_BITS = {
    AssertionKind.TEXT_START: 1,
    AssertionKind.LINE_START: 1,  # a key has no line ends, so it is one line
    AssertionKind.TEXT_END: 2,
    AssertionKind.LINE_END: 2,
    AssertionKind.WORD_BOUNDARY: 4,
    AssertionKind.NO_WORD_BOUNDARY: 8,
}
"""A bit for each assertion; a set of assertions is an integer."""

WORD_BOUNDARIES = ASSERTION_BITS[AssertionKind.WORD_BOUNDARY] | ASSERTION_BITS[AssertionKind.NO_WORD_BOUNDARY]
r"""The assertions that depend on whether characters match `\w`."""


def _assertions_between(before: int, after: int) -> int:
    differ = (before == WORD_CHARACTER) != (after == WORD_CHARACTER)
    boundary = AssertionKind.WORD_BOUNDARY if differ else AssertionKind.NO_WORD_BOUNDARY
    start = ASSERTION_BITS[AssertionKind.TEXT_START] if before == EDGE else 0
    end = ASSERTION_BITS[AssertionKind.TEXT_END] if after == EDGE else 0
    return start | end | ASSERTION_BITS[boundary]


GAP_ASSERTIONS = tuple(tuple(_assertions_between(before, after) for after in range(3)) for before in range(3))
"""The assertions that hold in a gap, by the sides before and after it."""


@lru_cache(maxsize=4096)
def side(character: str) -> int:
    """Returns the side of a gap that a character forms."""
    return WORD_CHARACTER if contains(WORD, ord(character)) else OTHER_CHARACTER


# The characters that read best in examples, best first; the others follow by code point.
_READABLE = ascii_lowercase + digits + ascii_uppercase + "-_/.~+,=@:!$&'()*;% #?[]{}|^`\"<>\\"
_UNRANKED = len(_READABLE)
_RANKS = [_READABLE.index(each) if each in _READABLE else _UNRANKED + ord(each) for each in map(chr, range(128))]
_BASE = (KEY_CHARACTERS, listed("/"), listed("."))


class KeySymbol(NamedTuple):
    """All characters in the same sets, a bit of `readers` for each; `character` reads best, `size` is in bytes."""

    character: str
    readers: int
    size: int
    path_role: int
    side: int


@lru_cache(maxsize=4096)
def most_readable(ranges: Ranges) -> str | None:
    """Returns the character of a set that reads best in an example; None if the set is empty."""
    return _character_at(min(_rank(first, last) for first, last in ranges)) if ranges else None


@lru_cache(maxsize=1024)
def symbols(sets: tuple[Ranges, ...], *, words: bool) -> tuple[KeySymbol, ...]:
    r"""Returns the symbols of some sets, readable ones first; `words` distinguishes the characters of `\w`."""
    borders, members = _intervals([*sets, *_BASE, *((WORD,) if words else ())])
    real = 1 << len(sets)
    best: dict[int, int] = {}  # by sets: the rank of their most readable character
    readable: list[KeySymbol] = []
    for (border, following), signature in zip(pairwise(borders), members, strict=False):
        if signature & real:
            rank = _rank(border, following - 1)
            best[signature] = min(rank, best.get(signature, rank))
    for signature, rank in sorted(best.items(), key=itemgetter(1)):
        character = _character_at(rank)
        beside = side(character) if words else OTHER_CHARACTER
        readers, size = signature & (real - 1), len(character.encode())
        readable.append(KeySymbol(character, readers, size, path_role(character), beside))
    return tuple(readable)


def _rank(first: int, last: int) -> int:
    """Returns the rank of the most readable character in a range."""
    return min(_RANKS[first : last + 1], default=_UNRANKED + first)


def _character_at(rank: int) -> str:
    return _READABLE[rank] if rank < _UNRANKED else chr(rank - _UNRANKED)


def _intervals(sets: Iterable[Ranges]) -> tuple[list[int], list[int]]:
    """Cuts the code points into intervals; returns where each begins, and a bit for each set that contains it."""
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
