"""The letters of a proof: characters grouped by what its expressions tell apart, each group shown by one of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple

from tornado_proxy.lint.automata.classes import WORD, holds, listed
from tornado_proxy.lint.automata.gaps import BLANK, side
from tornado_proxy.lint.automata.real_keys import REFUSED, role
from tornado_proxy.rules.expressions.ranges import Ranges, complement

# What people write into a key, best first: examples are made of these where they can be.
_EVERYDAY = ascii_lowercase + digits + ascii_uppercase + "-_/.~+,=@:!$&'()*;% #?[]{}|^`\"<>\\"
_BASE = (complement(REFUSED), listed("/"), listed("."))


class Letter(NamedTuple):
    """All characters that are in the same sets; `sets` has a bit for each set, `size` is in bytes of UTF-8."""

    character: str
    sets: int
    size: int
    role: int
    side: int


def everyday(characters: Ranges) -> str | None:
    """The character of a set that people are most likely to write; None where it is empty."""
    found = next((each for each in _EVERYDAY if holds(characters, each)), None)
    return found or (chr(characters[0][0]) if characters else None)


def letters(sets: Sequence[Ranges], *, words: bool) -> tuple[Letter, ...]:
    """The letters of an alphabet, everyday ones first; `words`: whether word characters are to be told from others."""
    borders, members = _stretches([*sets, *_BASE, *((WORD,) if words else ())])
    real = 1 << len(sets)
    shown: dict[int, str] = {}
    for character in _EVERYDAY:
        shown.setdefault(members[bisect_right(borders, ord(character)) - 1], character)
    for border, signature in zip(borders, members, strict=True):
        if signature & real and signature not in shown:
            shown[signature] = chr(border)
    return tuple(
        Letter(
            character,
            signature & (real - 1),
            len(character.encode()),
            role(character),
            side(character) if words else BLANK,
        )
        for signature, character in shown.items()
    )


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
