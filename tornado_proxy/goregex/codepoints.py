r"""Sets of code points as sorted ranges: their algebra, and the ASCII classes such as `\d` and `[:alpha:]`."""

from __future__ import annotations

from bisect import bisect_right
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


def contains(ranges: Ranges, code_point: int) -> bool:
    """Whether a code point is in a set."""
    index = bisect_right(ranges, (code_point, LAST)) - 1
    return index >= 0 and code_point <= ranges[index][1]


def listed(characters: str) -> Ranges:
    """The characters of a text as a set."""
    return union((ord(each), ord(each)) for each in characters)


def spelled(ranges: Iterable[Range]) -> str:
    """The ranges as they stand between the brackets of a class."""
    return "".join(f"\\x{{{low:x}}}" if low == high else f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges)


def bracketed(ranges: Ranges) -> str:
    """A class of exactly these code points, in Go's syntax and in RE2's."""
    return f"[{spelled(ranges)}]" if ranges else f"[^{spelled(EVERYTHING)}]"


DIGIT: Ranges = ((0x30, 0x39),)
UPPER: Ranges = ((0x41, 0x5A),)
LOWER: Ranges = ((0x61, 0x7A),)
ALPHA = UPPER + LOWER
ALNUM = DIGIT + ALPHA
GRAPH: Ranges = ((0x21, 0x7E),)
ASCII: Ranges = ((0, 0x7F),)
WORD = union((*ALNUM, *listed("_")))
r"""What `\w` matches, and what `\b` looks for on one of its sides."""

PERL = {"d": DIGIT, "s": listed("\t\n\f\r "), "w": WORD}
r"""The classes `\d`, `\s` and `\w` by their letters."""

POSIX = {
    "alnum": ALNUM,
    "alpha": ALPHA,
    "ascii": ASCII,
    "blank": listed("\t "),
    "cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "digit": DIGIT,
    "graph": GRAPH,
    "lower": LOWER,
    "print": ((0x20, 0x7E),),
    "punct": difference(GRAPH, ALNUM),
    "space": listed("\t\n\v\f\r "),
    "upper": UPPER,
    "word": WORD,
    "xdigit": listed("0123456789ABCDEFabcdef"),
}
"""The classes that stand between `[:` and `:]`, by name."""
