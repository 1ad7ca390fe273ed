"""The characters of classes: sets of code points as sorted ranges, and the characters that a node matches.

RE2 knows the members of Unicode classes: it searches all code points once. What Unicode has added since RE2's tables
were made is in `unicode.json`.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import assert_never

import msgspec
import re2

from gotemplate.regexp import syntax

Range = tuple[int, int]  # the first and the last code point

Ranges = tuple[Range, ...]  # sorted and not adjacent; compared by value
LAST = 0x10FFFF
EVERYTHING: Ranges = ((0, LAST),)


def union(ranges: Iterable[Range]) -> Ranges:
    """Returns ranges, in any order, as one set."""
    merged: list[Range] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """Returns the code points that are not in a set."""
    edges = [(-1, -1), *ranges, (LAST + 1, LAST + 1)]
    gaps = ((left[1] + 1, right[0] - 1) for left, right in pairwise(edges))
    return tuple(gap for gap in gaps if gap[0] <= gap[1])


def difference(ranges: Ranges, others: Ranges) -> Ranges:
    """Returns the code points of one set that are not in another."""
    return complement(union((*complement(ranges), *others)))


def contains(ranges: Ranges, code_point: int) -> bool:
    """Whether a code point is in a set."""
    index = bisect_right(ranges, (code_point, LAST)) - 1
    return index >= 0 and code_point <= ranges[index][1]


def listed(characters: str) -> Ranges:
    """Returns the characters of a text as a set."""
    return union((ord(each), ord(each)) for each in characters)


def spelled(ranges: Iterable[Range]) -> str:
    """Returns ranges as they are written between the brackets of a class."""
    return "".join(f"\\x{{{low:x}}}" if low == high else f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges)


@lru_cache(64)  # a class of Unicode has hundreds of ranges, and an expression may have it again and again
def bracketed(ranges: Ranges) -> str:
    """Returns a class of exactly these code points, in the syntax of Go and RE2."""
    return f"[{spelled(ranges)}]" if ranges else f"[^{spelled(EVERYTHING)}]"


DIGIT: Ranges = ((0x30, 0x39),)
UPPER: Ranges = ((0x41, 0x5A),)
LOWER: Ranges = ((0x61, 0x7A),)
ALPHA = UPPER + LOWER
ALNUM = DIGIT + ALPHA
GRAPH: Ranges = ((0x21, 0x7E),)
ASCII: Ranges = ((0, 0x7F),)
WORD = union((*ALNUM, *listed("_")))  # the characters that `\w` matches, next to which `\b` finds a boundary
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
"""The classes between `[:` and `:]` by name."""

_ASCII_CLASSES = {r"\d": DIGIT, r"\s": listed("\t\n\f\r "), r"\w": WORD} | {
    f"[:{name}:]": POSIX[name] for name in POSIX
}


class UnicodeTables(msgspec.Struct, frozen=True):
    """The names of Go's Unicode classes, and the code points that Unicode 16 and 17 moved, in hexadecimal.

    The aliases are those of the property gc in PropertyValueAliases.txt, as Go's unicode.CategoryAliases has them.
    """

    categories: tuple[str, ...]
    scripts: tuple[str, ...]
    aliases: Mapping[str, str]
    added_to_categories: Mapping[str, str]
    removed_from_categories: Mapping[str, str]
    added_to_scripts: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all classes."""
        return (*self.categories, *self.scripts, *self.aliases, "Any", "ASCII", "Assigned")


@cache
def unicode_tables() -> UnicodeTables:
    """Returns the tables, which few expressions need."""
    return msgspec.json.decode(Path(__file__).with_name("unicode.json").read_bytes(), type=UnicodeTables)


def ranges_of(text: str) -> Ranges:
    """Returns ranges written as hexadecimal numbers: one alone, or two with a hyphen."""
    bounds = (each.partition("-") for each in text.split())
    return tuple((int(low, 16), int(high or low, 16)) for low, _, high in bounds)


_PAIRS = [
    (0x19B, 0xA7DC),
    (0x264, 0xA7CB),
    *((lower, lower + 1) for lower in (0x1C89, 0xA7CC, 0xA7CE, 0xA7D2, 0xA7D4, 0xA7DA)),
    *((upper, upper + 0x20) for upper in range(0x10D50, 0x10D66)),
    *((upper, upper + 0x1B) for upper in range(0x16EA0, 0x16EB9)),
]

OTHER_CASE = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
"""The other case of letters for which RE2 knows none."""

_SURROGATES = (0xD800, 0xDFFF)
_PRIVATE_USE = ((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD))  # fixed by the Unicode stability policy

# Unicode's simple case folding gives two letters of ASCII a third form: the Kelvin sign and the long s.
_THIRD_FORMS = {"K": "\u212a", "S": "\u017f"}


def _plain(name: str) -> str:
    """Returns a name in the form in which names are compared: lower case, without spaces, hyphens and underscores."""
    return name.lower().translate({ord(each): None for each in " -_"})


@cache
def _by_plain_name() -> Mapping[str, str]:
    tables = unicode_tables()
    return {_plain(name): tables.aliases.get(name, name) for name in tables.names}


def resolve(name: str) -> str | None:
    """Returns the official name of a Unicode class; None for an unknown one."""
    return _by_plain_name().get(_plain(name)) if name.isascii() else None


def members(name: str, *, fold: bool = False) -> Ranges:
    """Returns the code points of a class by its official name; `fold` adds their other cases."""
    # Go has no folding table for LC.
    return folded(_members(name)) if fold and name != "LC" else _members(name)


@cache
def _members(name: str) -> Ranges:
    special = _SPECIAL.get(name)
    if special is not None:
        return special()
    tables = unicode_tables()
    # A category of one letter has all categories that begin with it.
    added = [text for each, text in tables.added_to_categories.items() if name in (each, each[0])]
    added.append(tables.added_to_scripts.get(name, ""))
    characters = union((*matched(rf"\p{{{name}}}"), *ranges_of(" ".join(added))))
    return difference(characters, ranges_of(tables.removed_from_categories.get(name, "")))


def _assigned() -> Ranges:
    added = ranges_of(" ".join(unicode_tables().added_to_categories.values()))
    return union((*matched(r"[\pL\pM\pN\pP\pS\pZ\pC]"), _SURROGATES, *_PRIVATE_USE, *added))


# Classes that RE2 lacks, classes with unassigned code points, which RE2 lacks too, and constant ones.
_SPECIAL: Mapping[str, Callable[[], Ranges]] = {
    "Any": lambda: EVERYTHING,
    "ASCII": lambda: ASCII,
    "Assigned": _assigned,
    "C": lambda: union((*matched(r"\pC"), _SURROGATES, *_PRIVATE_USE, *_members("Cn"))),
    "Cn": lambda: complement(_assigned()),
    "Co": lambda: _PRIVATE_USE,
    "Cs": lambda: (_SURROGATES,),
    "LC": lambda: union(each for part in ("Lu", "Ll", "Lt") for each in _members(part)),
}


@cache
def folded(ranges: Ranges) -> Ranges:
    """Returns the code points of a set with all their other cases (Go's unicode.SimpleFold)."""
    other_cases = ((code, code) for letter, code in OTHER_CASE.items() if contains(ranges, letter))
    return union((*ranges, *matched(f"(?i)[{spelled(ranges)}]"), *other_cases)) if ranges else ranges


def matched(expression: str) -> Ranges:
    """Returns the assigned code points that a one-character expression matches; empty if RE2 refuses it."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    try:
        compiled = re2.compile(f"(?:{expression})+".encode(), options)
    except re2.error:
        return ()
    runs = (each.group().decode() for planes in _assigned_planes() for each in compiled.finditer(planes))
    return tuple((ord(run[0]), ord(run[-1])) for run in runs)


@cache
def _assigned_planes() -> tuple[bytes, ...]:
    """All code points of the planes with assigned characters, in order, without private use."""
    planes = ((*range(_SURROGATES[0]),), (*range(_SURROGATES[1] + 1, 0x40000),), (*range(0xE0000, 0xF0000),))
    return tuple(array("I", codes).tobytes().decode("utf-32").encode() for codes in planes)


@lru_cache(maxsize=4096)
def cases(character: str, *, folded: bool) -> Ranges:
    """Returns the characters that a literal character matches; with its other cases if `folded`."""
    ranges = listed(character)
    return _every_case(ranges) if folded else ranges


@lru_cache(maxsize=4096)
def characters(node: syntax.AnyOf | syntax.Member) -> Ranges:
    """Returns the characters that a node matches."""
    match node:
        case syntax.AnyCharacter():
            return EVERYTHING if node.newline else complement(listed("\n"))
        case syntax.CharacterRange():
            ranges: Ranges = ((ord(node.first), ord(node.last)),)
            return _every_case(ranges) if node.folded else ranges
        case syntax.BracketClass():
            ranges = union(each for member in node.members for each in characters(member))
        case syntax.NamedClass() if node.name in _ASCII_CLASSES:
            ranges = _ASCII_CLASSES[node.name]
            ranges = _every_case(ranges) if node.folded else ranges
        case syntax.NamedClass():
            ranges = members(node.name[3:-1], fold=node.folded)
        case _:
            assert_never(node)
    return complement(ranges) if node.negated else ranges


def _every_case(characters: Ranges) -> Ranges:
    """Returns a set with the other cases of its characters; ASCII is folded here, because RE2 takes milliseconds."""
    within = difference(characters, complement(ALPHA))
    letters = "".join(chr(code) for low, high in within for code in range(low, high + 1))
    upper = letters.upper()
    third = "".join(_THIRD_FORMS.get(each, "") for each in upper)
    return union((*characters, *listed(upper + letters.lower() + third), *folded(difference(characters, ASCII))))
