"""What the grammar expects and what stands there, in words."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from lark import Token

from tornado_proxy.lang.reading import Where

CLAUSES = ("as", "method", "host", "header", "user-groups", "email")
_WORDS = ("target", "rewrite", "test", "jinja", "go", "unchanged", "error", *CLAUSES)
KEYWORDS = {word.upper().replace("-", "_"): word for word in _WORDS}  # by the grammar's names for them

_STRINGS = "(a string or a raw string between backticks)"
_VALUES = "(a name or a string)"

# What a name or string would be, by the last keyword before it.
_NOUNS = {
    "TARGET": f"the target's name {_VALUES}",
    "REWRITE": f"a source pattern {_STRINGS}",
    "TEST": f"a key {_STRINGS}",
    "JINJA": f"a template {_STRINGS}",
    "GO": f"a template {_STRINGS}",
    "AS": f"a user name {_VALUES}",
    "METHOD": f"a method {_VALUES}",
    "HOST": f"a host {_VALUES}",
    "HEADER": f"a header's name and value {_VALUES}",
    "USER_GROUPS": f"the names of groups {_VALUES}",
    "EMAIL": f"an e-mail address {_VALUES}",
}
_AFTER_ARROW = {
    Where.REWRITE: f"a template {_STRINGS}",
    Where.TEST: f"a key {_STRINGS}, `unchanged` or `error`",
}
_LONGEST = 40
_CONTROL_NAMES = {"\0": "null", "\x0b": "vertical tab", "\x0c": "form feed", "\r": "carriage return"}


def expected(where: Where, accepts: frozenset[str], begun: Sequence[Token]) -> str:
    """What would fit, as it stands behind "expected"."""
    match where:
        case Where.FILE:
            return "`target`"
        case Where.BLOCK:
            return "`rewrite`, `test` or `}`"
        case Where.HEADER if "LBRACE" in accepts:
            return "`{`"
        case Where.REWRITE if "ARROW" in accepts:
            return "`->`"
        case Where.TEST if "ARROW" in accepts:
            return "`->` or a clause"
    keyword = next(token.type for token in reversed(begun) if token.type in _NOUNS or token.type == "ARROW")
    return _AFTER_ARROW[where] if keyword == "ARROW" else _NOUNS[keyword]


def found(token: Token) -> str:
    """What stands there, as it stands behind "found"."""
    match token.type:
        case "$END":
            return "the end of the file"
        case "STRING":
            return "a string"
        case "RAW":
            return "a raw string"
    return shown(token)


def shown(text: str) -> str:
    """A piece of the file between backticks, or the name of the character in it that nobody can see."""
    for character in text:
        if not character.isprintable():
            return _named(character)
    return f"`{text[:_LONGEST]}…`" if len(text) > _LONGEST else f"`{text}`"


def _named(character: str) -> str:
    name = _CONTROL_NAMES.get(character, unicodedata.name(character, "control character"))
    return f"U+{ord(character):04X} ({name.lower()})"
