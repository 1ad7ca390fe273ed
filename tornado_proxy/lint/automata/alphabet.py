"""The letters of a proof: characters grouped by what its expressions tell apart, each group shown by one of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

from tornado_proxy.lint.automata.classes import WORD, listed
from tornado_proxy.lint.automata.gaps import BLANK, side
from tornado_proxy.lint.automata.real_keys import HELD, role
from tornado_proxy.rules.expressions.ranges import Ranges

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


def everyday(characters: Ranges) -> str | None:
    """The character of a set that people are most likely to write; None where it is empty."""
    return _ranked(min(_rank(first, last) for first, last in characters)) if characters else None


@lru_cache(maxsize=1024)
def letters(sets: tuple[Ranges, ...], *, words: bool) -> tuple[Letter, ...]:
    """The letters of an alphabet, everyday ones first; `words`: whether word characters are to be told from others."""
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
