r"""What the one-character nodes read: the same code points for which `rules.expressions` lets RE2 look.

ASCII is written down here, since an expression of ASCII should need no table; what Unicode says of categories, scripts
and other cases comes from where the matcher has it.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import assert_never

from tornado_proxy.lint.automata.real_keys import REFUSED
from tornado_proxy.lint.automata.syntax import (
    AnyCharacter,
    AnyOf,
    BracketClass,
    Character,
    CharacterRange,
    Member,
    PerlClass,
    PosixClass,
    UnicodeClass,
)
from tornado_proxy.rules.expressions.properties import folded, members
from tornado_proxy.rules.expressions.ranges import EVERYTHING, LAST, Ranges, complement, difference, union


def listed(characters: str) -> Ranges:
    """The characters of a text as a set."""
    return union((ord(each), ord(each)) for each in characters)


_DIGIT: Ranges = ((0x30, 0x39),)
_UPPER: Ranges = ((0x41, 0x5A),)
_LOWER: Ranges = ((0x61, 0x7A),)
_ALPHA = _UPPER + _LOWER
_ALNUM = _DIGIT + _ALPHA
_GRAPH: Ranges = ((0x21, 0x7E),)
_ASCII: Ranges = ((0, 0x7F),)
WORD = union((*_ALNUM, *listed("_")))
r"""What `\w` reads, and what `\b` looks for on one of its sides."""

_PERL = {"d": _DIGIT, "s": listed("\t\n\f\r "), "w": WORD}
_POSIX = {
    "alnum": _ALNUM,
    "alpha": _ALPHA,
    "ascii": _ASCII,
    "blank": listed("\t "),
    "cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "digit": _DIGIT,
    "graph": _GRAPH,
    "lower": _LOWER,
    "print": ((0x20, 0x7E),),
    "punct": difference(_GRAPH, _ALNUM),
    "space": listed("\t\n\v\f\r "),
    "upper": _UPPER,
    "word": WORD,
    "xdigit": listed("0123456789ABCDEFabcdef"),
}
POSIX_NAMES = frozenset(_POSIX)

# Unicode's simple case folding gives two letters of ASCII a third form: the sign of Kelvin and the long s.
_THIRD_FORMS = {"K": "\u212a", "S": "\u017f"}


@lru_cache(maxsize=4096)
def readable(node: AnyOf) -> Ranges:
    """The characters that a node reads, of those that a key may hold."""
    return difference(characters(node), REFUSED)


@lru_cache(maxsize=4096)
def cases(character: str, *, folded: bool) -> Ranges:
    """What a character reads that stands for itself, of what a key may hold; with its other cases if `folded`."""
    found = listed(character)
    return difference(_every_case(found) if folded else found, REFUSED)


@lru_cache(maxsize=4096)
def characters(node: AnyOf | Member) -> Ranges:
    """The characters that a node reads."""
    match node:
        case BracketClass():
            found = union(each for member in node.members for each in characters(member))
            return complement(found) if node.negated else found
        case AnyCharacter():
            return EVERYTHING if node.newline else complement(listed("\n"))
        case UnicodeClass():
            found = members(node.name, fold=node.folded)
            return complement(found) if node.negated else found
        case PerlClass() | PosixClass():
            found = _PERL[node.letter] if isinstance(node, PerlClass) else _POSIX[node.name]
            found = _every_case(found) if node.folded else found
            return complement(found) if node.negated else found
        case Character() | CharacterRange():
            found = listed(node.character) if isinstance(node, Character) else ((ord(node.first), ord(node.last)),)
            return _every_case(found) if node.folded else found
        case _:
            assert_never(node)


def _every_case(found: Ranges) -> Ranges:
    """A set with the other cases of its characters."""
    letters = "".join(chr(code) for low, high in _within(found, _ALPHA) for code in range(low, high + 1))
    upper = letters.upper()
    third = "".join(_THIRD_FORMS.get(each, "") for each in upper)
    return union((*found, *listed(upper + letters.lower() + third), *folded(difference(found, _ASCII))))


def _within(found: Ranges, others: Ranges) -> Ranges:
    return difference(found, complement(others))


def holds(ranges: Ranges, character: str) -> bool:
    """Whether a character is in a set."""
    code = ord(character)
    index = bisect_right(ranges, (code, LAST)) - 1
    return index >= 0 and code <= ranges[index][1]
