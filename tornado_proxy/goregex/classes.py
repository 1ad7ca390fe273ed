r"""Which characters a class matches: Unicode classes by name, other cases, and what each node of a tree matches.

What a Unicode class holds is asked of RE2, by letting it read every code point once, and completed by what Unicode has
added since RE2's tables were made.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import assert_never

from tornado_proxy.goregex import syntax
from tornado_proxy.goregex.codepoints import (
    ADDED_TO_CATEGORIES,
    ADDED_TO_SCRIPTS,
    ALPHA,
    ASCII,
    EVERYTHING,
    LONG_NAMES,
    NAMES,
    OTHER_CASE,
    PERL,
    POSIX,
    REMOVED,
    Range,
    Ranges,
    complement,
    contains,
    difference,
    listed,
    spelled,
    union,
)
from tornado_proxy.goregex.engine import ProgramRefused, compile_program

_SURROGATES = (0xD800, 0xDFFF)
_PRIVATE_USE = ((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD))  # for good: Unicode stability policy

# Unicode's simple case folding gives two letters of ASCII a third form: the Kelvin sign and the long s.
_THIRD_FORMS = {"K": "\u212a", "S": "\u017f"}


def _plain(name: str) -> str:
    """A name as names are compared: in any case, without spaces, hyphens and underscores (regexp/syntax)."""
    return name.lower().translate({ord(each): None for each in " -_"})


@cache
def _by_plain_name() -> Mapping[str, str]:
    return {_plain(name): LONG_NAMES.get(name, name) for name in NAMES}


def resolve(name: str) -> str | None:
    """The official name of a Unicode class; None for an unknown one."""
    return _by_plain_name().get(_plain(name)) if name.isascii() else None


def members(name: str, *, fold: bool = False) -> Ranges:
    """The code points of a class by its official name; `fold` adds those that differ from them in case only."""
    # Go has no folding table for LC.
    return folded(_members(name)) if fold and name != "LC" else _members(name)


@cache
def _members(name: str) -> Ranges:
    special = _SPECIAL.get(name)
    if special is not None:
        return special()
    added = (*_added_to_categories(name), *ADDED_TO_SCRIPTS.get(name, ()))
    known = union((*matched(rf"\p{{{name}}}"), *added))
    return difference(known, REMOVED.get(name, ()))


def _assigned() -> Ranges:
    added = (each for ranges in ADDED_TO_CATEGORIES.values() for each in ranges)
    return union((*matched(r"[\pL\pM\pN\pP\pS\pZ\pC]"), _SURROGATES, *_PRIVATE_USE, *added))


def _other() -> Ranges:
    return union((*matched(r"\pC"), _SURROGATES, *_PRIVATE_USE, *_members("Cn")))


# Classes that RE2 does not have, or has without what is not assigned, and those that need no asking.
_SPECIAL: Mapping[str, Callable[[], Ranges]] = {
    "Any": lambda: EVERYTHING,
    "ASCII": lambda: ASCII,
    "Assigned": _assigned,
    "C": _other,
    "Cn": lambda: complement(_assigned()),
    "Co": lambda: _PRIVATE_USE,
    "Cs": lambda: (_SURROGATES,),
    "LC": lambda: union(each for part in ("Lu", "Ll", "Lt") for each in _members(part)),
}


def _added_to_categories(name: str) -> Iterable[Range]:
    """What Unicode has added to a category, or to all categories that begin with a letter."""
    parts = (part for part in ADDED_TO_CATEGORIES if name in (part, part[0]))
    return (each for part in parts for each in ADDED_TO_CATEGORIES[part])


@cache
def folded(ranges: Ranges) -> Ranges:
    """The code points of a set and all that differ from them in case only (Go's unicode.SimpleFold)."""
    other_cases = ((code, code) for letter, code in OTHER_CASE.items() if contains(ranges, letter))
    return union((*ranges, *matched(f"(?i)[{spelled(ranges)}]"), *other_cases)) if ranges else ranges


def matched(expression: str) -> Ranges:
    """The assigned code points that RE2's expression of one character matches; empty if RE2 refuses it."""
    try:
        compiled = compile_program(f"(?:{expression})+".encode())
    except ProgramRefused:
        return ()
    runs = (each.group().decode() for planes in _assigned_planes() for each in compiled.finditer(planes))
    return tuple((ord(run[0]), ord(run[-1])) for run in runs)


@cache
def _assigned_planes() -> tuple[bytes, ...]:
    """Every code point of the planes that hold characters, in order, but for those of private use."""
    planes = ((*range(_SURROGATES[0]),), (*range(_SURROGATES[1] + 1, 0x40000),), (*range(0xE0000, 0xF0000),))
    return tuple(array("I", codes).tobytes().decode("utf-32").encode() for codes in planes)


@lru_cache(maxsize=4096)
def cases(character: str, *, folded: bool) -> Ranges:
    """What a character matches that stands for itself, with its other cases if `folded`."""
    found = listed(character)
    return _every_case(found) if folded else found


@lru_cache(maxsize=4096)
def characters(node: syntax.AnyOf | syntax.Member) -> Ranges:
    """The characters that a node matches."""
    match node:
        case syntax.BracketClass():
            found = union(each for member in node.members for each in characters(member))
            return complement(found) if node.negated else found
        case syntax.AnyCharacter():
            return EVERYTHING if node.newline else complement(listed("\n"))
        case syntax.UnicodeClass():
            found = members(node.name, fold=node.folded)
            return complement(found) if node.negated else found
        case syntax.PerlClass() | syntax.PosixClass():
            found = PERL[node.letter] if isinstance(node, syntax.PerlClass) else POSIX[node.name]
            found = _every_case(found) if node.folded else found
            return complement(found) if node.negated else found
        case syntax.Character() | syntax.CharacterRange():
            found = (
                listed(node.character) if isinstance(node, syntax.Character) else ((ord(node.first), ord(node.last)),)
            )
            return _every_case(found) if node.folded else found
        case _:
            assert_never(node)


def _every_case(found: Ranges) -> Ranges:
    """A set with the other cases of its characters; ASCII is folded here, since asking RE2 takes milliseconds."""
    within = difference(found, complement(ALPHA))
    letters = "".join(chr(code) for low, high in within for code in range(low, high + 1))
    upper = letters.upper()
    third = "".join(_THIRD_FORMS.get(each, "") for each in upper)
    return union((*found, *listed(upper + letters.lower() + third), *folded(difference(found, ASCII))))
