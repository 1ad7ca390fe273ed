"""The tokens of an expression that need no context; a reader raises `PatternError` where Go refuses one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

from gotemplate.limits import GREATEST_REPEAT
from gotemplate.regexp.classes import LAST, POSIX, resolve, unicode_tables
from gotemplate.regexp.syntax import Extent, NamedClass, PatternError

# What to write instead of the constructs of other dialects. RE2 matches in linear time, so it has nothing that needs
# backtracking: look-around, back-references, recursion. The rest is only written differently.
_AROUND = "match that text too, or give the exceptions an expression of their own before this one"
_AGAIN = "an expression cannot require the same text twice; match both, and use one in the template"
_FOREVER = "an expression cannot contain itself; write out the levels"
_COMMENT = "write the comment beside the expression"
_NAMED = "write `(?P<name>…)` or `(?<name>…)`"

# Longer prefixes first.
_GROUPS = (
    ("(?<=", "look-behind", _AROUND),
    ("(?<!", "look-behind", _AROUND),
    ("(?=", "look-ahead", _AROUND),
    ("(?!", "look-ahead", _AROUND),
    ("(?>", "atomic group", "write `(?:…)`: RE2 never backtracks, so an atomic group changes nothing"),
    ("(?#", "comment", _COMMENT),
    ("(?(", "condition", "write one alternative for each case"),
    ("(?'", "group name in quotes", _NAMED),
    ("(?P=", "back-reference", _AGAIN),
    ("(?R", "recursion", _FOREVER),
    *((f"(?{digit}", "recursion", _FOREVER) for digit in range(10)),
)

_FLAGS_ELSEWHERE = {
    "x": "remove the flag and the spaces",
    "u": "remove the flag: Unicode is always on",
    "a": "`\\d`, `\\w`, `\\s` and `\\b` are always ASCII; remove the flag",
}

_ESCAPES = {
    "Z": "write `\\z` for the end of the text",
    "G": "write `^` or `\\A` for the beginning of the text",
    "K": "remove it: what stands before it is part of the match",
    "h": "write `[ \\t]`",
    "R": "write `(?:\\r\\n|\\n|\\r)`",
    "e": "write `\\x1b`",
    "c": "write the control character as `\\x01` to `\\x1a`",
    "u": "write `\\x{1234}`",
    "U": "write `\\x{12345}`",
    "k": _AGAIN,
    "g": _AGAIN,
}

_ESCAPES_IN_CLASS = {
    "b": "write `\\x08` for a backspace",
    **dict.fromkeys("ABz", "an assertion is not allowed in a class"),
    "Q": "escape each character with a backslash",
}


# A single digit other than zero would be a back-reference.
_OCTAL = re.compile(r"\\(0[0-7]{0,2}|[1-7][0-7]{1,2})")
_HEXADECIMAL = re.compile(r"\\x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\})")
_PUNCTUATION = re.compile(r"\\([\x00-/:-@\[-`{-\x7f])")
_CONTROLS = {"a": 0x07, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}

_UNICODE_CLASS = re.compile(r"\\([pP])(?:\{(\^?)([^}]*)\}|(.?))", re.DOTALL)
_POSIX_CLASS = re.compile(r"\[:(\^?)(.*?):\]", re.DOTALL)
_COUNT = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")

_GROUP_NAME = re.compile(r"\(\?P?<([^>]*)>")
_GROUP_NAME_BEGINS = re.compile(r"\(\?P?<")
_NAME = re.compile(r"[A-Za-z0-9_]+")
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_FLAGS_BEGIN = re.compile(r"\(\?[imsU]*-?[imsU]*")


def read_escape(text: str, at: int, *, in_class: bool = False) -> tuple[int, int]:
    """Returns the code point of an escape and the offset after it (regexp/syntax, parseEscape)."""
    if at + 1 == len(text):
        raise PatternError("trailing backslash", at, at + 1, "write `\\\\` for the character itself")
    if match := _PUNCTUATION.match(text, at):
        return ord(match[1]), match.end()
    if text[at + 1] in _CONTROLS:
        return _CONTROLS[text[at + 1]], at + 2
    if match := _OCTAL.match(text, at):
        return int(match[1], 8), match.end()
    match = _HEXADECIMAL.match(text, at)
    if match is None:
        raise _invalid_escape(text[at : at + 2], at, in_class=in_class)
    code = int(match[1] or match[2], 16)
    if code > LAST:
        raise PatternError(f"code point out of range `{match[0]}`", *match.span(), "the greatest is `\\x{10FFFF}`")
    return code, match.end()


def _invalid_escape(escape: str, at: int, *, in_class: bool) -> PatternError:
    letter = escape[1]
    message = f"invalid escape `{escape}`"
    if letter == "x":
        advice = "write two hexadecimal digits, `\\x41`, or a code point in braces, `\\x{1F600}`"
    elif letter in "123456789" and not in_class:
        message, advice = f"unsupported back-reference `{escape}`", _AGAIN
    elif in_class and letter in _ESCAPES_IN_CLASS:
        message, advice = f"invalid escape `{escape}` in a class", _ESCAPES_IN_CLASS[letter]
    elif in_class and letter in "dDsSwWpP":
        message, advice = f"invalid range end `{escape}`", "write `\\-` for the hyphen"
    else:
        literally = f"write `{letter}` for the character itself, `\\\\{letter}` with a backslash before it"
        advice = _ESCAPES.get(letter, literally)
    return PatternError(message, at, at + 2, advice)


def read_unicode_class(text: str, at: int, *, folded: bool) -> NamedClass:
    r"""Returns the class of a `\p` or `\P`."""
    match = _UNICODE_CLASS.match(text, at)
    assert match
    sign, caret, braced, single = match.groups(default="")
    name = braced or single
    if single == "{":
        raise PatternError(f"unclosed `\\{sign}{{`", at, at + 3, "write `}` after the name of the class")
    official = resolve(name)
    if official is None:
        raise _unknown_class(name, at, match.end(), unicode_tables().names)
    return NamedClass(f"\\p{{{official}}}", (sign == "P") != bool(caret), folded, Extent(*match.span()))


def read_posix_class(text: str, at: int, *, folded: bool) -> NamedClass | None:
    """Returns the class of a `[:`; None if no `:]` follows."""
    match = _POSIX_CLASS.match(text, at)
    if match is None:
        return None
    if match[2] not in POSIX:
        raise _unknown_class(match[2], at, match.end(), POSIX)
    return NamedClass(f"[:{match[2]}:]", bool(match[1]), folded, Extent(*match.span()))


def _unknown_class(name: str, at: int, end: int, names: Iterable[str]) -> PatternError:
    # No name is that long, and difflib's time grows with the length.
    close = get_close_matches(name, names, n=1, cutoff=0.65) if len(name) <= 64 else []
    message = f"unknown character class `{name}`" if name else "missing character class name"
    return PatternError(message, at, end, f"did you mean `{close[0]}`?" if close else None)


Count = tuple[int, int | None]  # the bounds of a repetition; the second is None without an upper bound


def read_count(text: str, at: int) -> tuple[Count, int] | None:
    """Returns the count of a `{` and the offset after it; None if the brace is a literal character."""
    match = _COUNT.match(text, at)
    if match is None:
        return None
    # Python refuses to convert thousands of digits.
    bounds = [int(each) if len(each) <= 4 else GREATEST_REPEAT + 1 for each in (match[1], match[3] or match[1])]
    least, most = bounds
    if max(bounds) > GREATEST_REPEAT:
        raise PatternError(f"repeat count too large `{match[0]}`", *match.span(), f"the limit is {GREATEST_REPEAT}")
    if match[2] and not match[3]:
        return (least, None), match.end()
    if least > most:
        raise PatternError(f"invalid repeat count `{match[0]}`", *match.span(), f"write `{{{most},{least}}}`")
    return (least, most), match.end()


class GroupOpening(NamedTuple):
    """The text after `(`: a group's name, flags, or neither; `opens` is False for flags of the surrounding group."""

    end: int
    captures: bool = False
    name: str | None = None
    on: frozenset[str] = frozenset()
    off: frozenset[str] = frozenset()
    opens: bool = True


# One for all the expressions that begin with `(?i)`.
_flag_set = lru_cache(maxsize=64)(frozenset[str])


def read_opening(text: str, at: int) -> GroupOpening:
    """Returns the start of a group, or flags for the rest of one (regexp/syntax, parsePerlFlags)."""
    if not text.startswith("(?", at):
        return GroupOpening(at + 1, captures=True)
    if named := _GROUP_NAME.match(text, at):
        if not _NAME.fullmatch(named[1]):
            _refuse_unsupported(text, at)
            advice = "a name consists of ASCII letters, digits and underscores"
            message = f"invalid group name `{named[1]}`" if named[1] else "missing group name"
            raise PatternError(message, *named.span(1), advice)
        return GroupOpening(named.end(), captures=True, name=named[1])
    if flags := _FLAGS.match(text, at):
        on, off = _flag_set(flags[1]), _flag_set(flags[2] or "")
        return GroupOpening(flags.end(), on=on, off=off, opens=flags[3] == ":")
    _refuse_unsupported(text, at)
    if beginning := _GROUP_NAME_BEGINS.match(text, at):
        raise PatternError("unclosed group name", *beginning.span(), "write `>` where the name ends")
    read = _FLAGS_BEGIN.match(text, at)
    assert read
    end = read.end()
    flag = text[end : end + 1]
    if not flag:
        raise PatternError("unclosed group", at, end, "write `)` where it ends")
    if flag in ":)":
        advice = "name the flags to turn off: `i`, `m`, `s`, `U`"
        raise PatternError("missing flag after `-`", end - 1, end, advice)
    advice = _FLAGS_ELSEWHERE.get(flag, "the flags are `i`, `m`, `s` and `U`")
    raise PatternError(f"unknown flag `{flag}`", end, end + 1, advice)


def _refuse_unsupported(text: str, at: int) -> None:
    for beginning, what, advice in _GROUPS:
        if text.startswith(beginning, at):
            raise PatternError(f"unsupported {what} `{beginning}`", at, at + len(beginning), advice)
