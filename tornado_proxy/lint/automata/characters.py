"""Sets of characters as ranges of code points: what one place of an expression can read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LAST = 0x10FFFF
"""The last code point of Unicode."""

Range = tuple[int, int]
"""The first and the last of neighbouring code points, both included."""


@dataclass(frozen=True, slots=True)
class CharacterSet:
    """A set of code points; `ranges` are in order and never touch, so that equal sets are equal values."""

    ranges: tuple[Range, ...] = ()

    @classmethod
    def of(cls, *ranges: Range) -> CharacterSet:
        """The set of all code points in any of the ranges."""
        return cls(tuple(_merged(sorted(ranges))))

    @classmethod
    def listed(cls, characters: str) -> CharacterSet:
        """The set of the characters of a text."""
        return cls.of(*((ord(each), ord(each)) for each in characters))

    def __contains__(self, character: str) -> bool:
        code = ord(character)
        index = bisect_right(self.ranges, (code, LAST)) - 1
        return index >= 0 and code <= self.ranges[index][1]

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __or__(self, other: CharacterSet) -> CharacterSet:
        return CharacterSet.of(*self.ranges, *other.ranges)

    def __and__(self, other: CharacterSet) -> CharacterSet:
        return ~(~self | ~other)

    def __invert__(self) -> CharacterSet:
        return CharacterSet(tuple(_between(self.ranges)))


def _merged(ranges: Iterable[Range]) -> Iterator[Range]:
    """The same code points in ranges that do not touch; expects them in order."""
    first, last = -2, -2
    for start, end in ranges:
        if start <= last + 1:
            last = max(last, end)
            continue
        if last >= 0:
            yield first, last
        first, last = start, end
    if last >= 0:
        yield first, last


def _between(ranges: Iterable[Range]) -> Iterator[Range]:
    """The code points outside ranges that do not touch."""
    free = 0
    for first, last in ranges:
        if free < first:
            yield free, first - 1
        free = last + 1
    if free <= LAST:
        yield free, LAST


ALL = CharacterSet.of((0, LAST))
NEWLINE = CharacterSet.listed("\n")
WORD = CharacterSet.of((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
"""What `\\w` reads, and what `\\b` looks for on one of its sides: ASCII only, as in Go."""
