r"""Escapes that stand for one character: `\.`, `\n`, `\x41`, `\x{1F600}`, `\012` (regexp/syntax, parseEscape)."""

from __future__ import annotations

import re

from tornado_proxy.rules.expressions import advice
from tornado_proxy.rules.expressions.errors import PatternError
from tornado_proxy.rules.expressions.ranges import LAST

# One non-zero digit alone would be a back-reference.
_OCTAL = re.compile(r"\\(0[0-7]{0,2}|[1-7][0-7]{1,2})")
_HEXADECIMAL = re.compile(r"\\x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\})")
_PUNCTUATION = re.compile(r"\\([\x00-/:-@\[-`{-\x7f])")
_CONTROLS = {"a": 0x07, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}

Read = tuple[int, int]
"""A code point, and the offset after what stands for it."""


def read_escape(text: str, at: int, *, in_class: bool = False) -> Read:
    """The character of an escape whose backslash stands at an offset; raises `PatternError`."""
    if at + 1 == len(text):
        raise PatternError("the expression ends in a backslash", at, at + 1, "write `\\\\` for the character itself")
    return _punctuation(text, at) or _control(text, at) or _number(text, at) or _refuse(text, at, in_class)


def _punctuation(text: str, at: int) -> Read | None:
    found = _PUNCTUATION.match(text, at)
    return (ord(found[1]), found.end()) if found else None


def _control(text: str, at: int) -> Read | None:
    code = _CONTROLS.get(text[at + 1])
    return (code, at + 2) if code is not None else None


def _number(text: str, at: int) -> Read | None:
    if found := _OCTAL.match(text, at):
        return int(found[1], 8), found.end()
    if found := _HEXADECIMAL.match(text, at):
        code = int(found[1] or found[2], 16)
        return (code, found.end()) if code <= LAST else None
    return None


def _refuse(text: str, at: int, in_class: bool) -> Read:  # noqa: FBT001 - passed on from `read_escape`
    letter = text[at + 1]
    escape = f"\\{letter}"
    if letter == "x":
        raise PatternError(
            "`\\x` needs two hexadecimal digits, or a code point in braces", at, at + 2, "write `\\x41` or `\\x{1F600}`"
        )
    if letter in "123456789" and not in_class:
        raise PatternError(f"`{escape}` is a back-reference, which Go does not have", at, at + 2, advice.BACK_REFERENCE)
    if in_class and letter in advice.IN_CLASS:
        raise PatternError(f"`{escape}` means nothing in a class", at, at + 2, advice.IN_CLASS[letter])
    if in_class and letter in "dDsSwWpP":
        raise PatternError(f"`{escape}` is a class, not the end of a range", at, at + 2, "write `\\-` for the hyphen")
    raise PatternError(f"`{escape}` is no escape that Go knows", at, at + 2, _cure(letter))


def _cure(letter: str) -> str:
    return advice.ESCAPES.get(
        letter, f"write `{letter}` for the character itself, `\\\\{letter}` with a backslash before it"
    )
