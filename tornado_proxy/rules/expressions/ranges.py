"""Sets of code points as sorted ranges, and the few operations that character classes need."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

Range = tuple[int, int]
"""The first and the last code point."""

Ranges = tuple[Range, ...]
"""Sorted, apart from one another; compared by value."""

LAST = 0x10FFFF
EVERYTHING: Ranges = ((0, LAST),)


def union(ranges: Iterable[Range]) -> Ranges:
    """The ranges, in any order, as one set."""
    merged: list[Range] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """Every code point that is not in a set."""
    edges = [(-1, -1), *ranges, (LAST + 1, LAST + 1)]
    gaps = ((left[1] + 1, right[0] - 1) for left, right in pairwise(edges))
    return tuple(gap for gap in gaps if gap[0] <= gap[1])


def difference(ranges: Ranges, others: Ranges) -> Ranges:
    """Every code point of a set that is not in another."""
    return complement(union((*complement(ranges), *others)))


def contains(ranges: Iterable[Range], code_point: int) -> bool:
    """Whether a code point is in a set, whose ranges may stand in any order."""
    return any(low <= code_point <= high for low, high in ranges)


def spelled(ranges: Iterable[Range]) -> str:
    """The ranges as they stand between the brackets of a class."""
    return "".join(f"\\x{{{low:x}}}" if low == high else f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges)


def bracketed(ranges: Ranges) -> str:
    """A class of exactly these code points, whatever flags are set around it."""
    return f"(?-i:[{spelled(ranges)}])" if ranges else f"[^{spelled(EVERYTHING)}]"
