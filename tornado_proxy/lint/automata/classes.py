"""What the one-character nodes read, exactly as RE2 reads it.

ASCII is written down here. What Unicode says (categories, scripts, other cases) depends on the version of its tables,
so RE2 itself is asked, with a text of all code points: exact for the matcher that will run, whatever its version.
"""

from __future__ import annotations

import sys
from array import array
from functools import lru_cache
from typing import assert_never

import re2

from tornado_proxy.lint.automata.characters import ALL, NEWLINE, WORD, CharacterSet
from tornado_proxy.lint.automata.syntax import (
    AnyCharacter,
    BracketClass,
    Character,
    CharacterRange,
    Member,
    OneCharacter,
    PerlClass,
    PosixClass,
    UnicodeClass,
    Unsupported,
)

_DIGIT = CharacterSet.of((0x30, 0x39))
_UPPER = CharacterSet.of((0x41, 0x5A))
_LOWER = CharacterSet.of((0x61, 0x7A))
_ALPHA = _UPPER | _LOWER
_SPACE = CharacterSet.listed("\t\n\f\r ")
_GRAPH = CharacterSet.of((0x21, 0x7E))
_ASCII = CharacterSet.of((0, 0x7F))

PERL = {"d": _DIGIT, "s": _SPACE, "w": WORD}
POSIX = {
    "alnum": _ALPHA | _DIGIT,
    "alpha": _ALPHA,
    "ascii": _ASCII,
    "blank": CharacterSet.listed("\t "),
    "cntrl": CharacterSet.of((0, 0x1F), (0x7F, 0x7F)),
    "digit": _DIGIT,
    "graph": _GRAPH,
    "lower": _LOWER,
    "print": _GRAPH | CharacterSet.listed(" "),
    "punct": _GRAPH & ~(_ALPHA | _DIGIT),
    "space": _SPACE | CharacterSet.listed("\v"),
    "upper": _UPPER,
    "word": WORD,
    "xdigit": _DIGIT | CharacterSet.listed("abcdefABCDEF"),
}

# Unicode's simple case folding gives two ASCII letters a third form: the sign of Kelvin and the long s.
_THIRD_FORMS = {"K": "\u212a", "S": "\u017f"}


@lru_cache(maxsize=4096)
def characters(node: OneCharacter | Member) -> CharacterSet:  # noqa: PLR0911 - one case for each kind of node
    """The characters that a node reads; raises `Unsupported` for a class that RE2 does not know."""
    match node:
        case Character():
            found = CharacterSet.listed(node.character)
            return _folded(found) if node.folded else found
        case CharacterRange():
            found = CharacterSet.of((ord(node.first), ord(node.last)))
            return _folded(found) if node.folded else found
        case PerlClass():
            return _named(PERL[node.letter], node)
        case PosixClass():
            return _named(POSIX[node.name], node)
        case UnicodeClass():
            found = asked(rf"{'(?i)' if node.folded else ''}\p{{{node.name}}}")
            return ~found if node.negated else found
        case BracketClass():
            found = CharacterSet.of(*(each for member in node.members for each in characters(member).ranges))
            return ~found if node.negated else found
        case AnyCharacter():
            return ALL if node.newline else ~NEWLINE
        case _:
            assert_never(node)


def _named(found: CharacterSet, node: PerlClass | PosixClass) -> CharacterSet:
    """A class of ASCII characters: other cases are added before it is negated, as Go and RE2 do."""
    if node.folded:
        found = _folded(found)
    return ~found if node.negated else found


def _folded(found: CharacterSet) -> CharacterSet:
    """A set with the other cases of its characters: ASCII by arithmetic, the rest by asking."""
    letters = "".join(chr(code) for first, last in (found & _ALPHA).ranges for code in range(first, last + 1))
    upper = letters.upper()
    cases = CharacterSet.listed(upper + letters.lower() + "".join(_THIRD_FORMS.get(each, "") for each in upper))
    beyond = (found & ~_ASCII).ranges
    if not beyond:
        return found | cases
    members = "".join(rf"\x{{{first:X}}}-\x{{{last:X}}}" for first, last in beyond)
    return found | cases | asked(f"(?i)[{members}]")


@lru_cache(maxsize=256)
def asked(expression: str) -> CharacterSet:
    """The characters that RE2 finds for a one-character expression; raises `Unsupported` where it knows none."""
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    text = _every_character()
    try:
        runs = [each.span() for each in re2.finditer(f"(?:{expression})+", text, options)]
    except re2.error as error:
        raise Unsupported(f"RE2 does not know `{expression}`") from error
    return CharacterSet.of(*((ord(text[start]), ord(text[end - 1])) for start, end in runs))


@lru_cache(maxsize=1)
def _every_character() -> str:
    """All code points but the surrogates, which no text in UTF-8 can hold."""
    codes = array("I", range(0xD800))
    codes.extend(range(0xE000, 0x110000))
    return codes.tobytes().decode(f"utf-32-{sys.byteorder[0]}e")
