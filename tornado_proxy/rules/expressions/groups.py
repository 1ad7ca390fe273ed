"""What stands behind `(?`: named groups, groups that capture nothing, and flags (regexp/syntax, parsePerlFlags)."""

from __future__ import annotations

import re
from typing import NamedTuple

from tornado_proxy.rules.expressions import advice
from tornado_proxy.rules.expressions.errors import PatternError

_NAMED = re.compile(r"\(\?P?<([^>]*)>")
_NAME_BEGINS = re.compile(r"\(\?P?<")
_NAME = re.compile(r"[A-Za-z0-9_]+")
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_FLAGS_READ = re.compile(r"\(\?[imsU]*-?[imsU]*")


class Opening(NamedTuple):
    """The beginning of a group, or flags for the rest of one; `fold` is None where case is not spoken of."""

    text: str
    name: str | None = None
    fold: bool | None = None

    @property
    def opens(self) -> bool:
        """Whether a group begins, that a parenthesis must close."""
        return not self.text.endswith(")")


def read_opening(text: str, at: int) -> Opening:
    """What begins with `(?` at an offset; raises `PatternError`."""
    if named := _NAMED.match(text, at):
        if _NAME.fullmatch(named[1]):
            return Opening(named[0], name=named[1])
        _refuse_known(text, at, ("(?<=", "(?<!"))
        raise PatternError(
            f"`{named[1]}` is no name for a group",
            *named.span(1),
            help="a name is made of ASCII letters, digits and underscores",
        )
    if flags := _FLAGS.match(text, at):
        return Opening(flags[0], fold=_fold(flags[1], flags[2] or ""))
    _refuse_known(text, at)
    if beginning := _NAME_BEGINS.match(text, at):
        raise PatternError(
            "the name of the group is never closed", *beginning.span(), help="write `>` where the name ends"
        )
    raise _unknown_flag(text, at)


def _fold(on: str, off: str) -> bool | None:
    if "i" in off:
        return False
    return True if "i" in on else None


def _refuse_known(text: str, at: int, among: tuple[str, ...] = ()) -> None:
    for beginning, what, cure in advice.GROUPS:
        if text.startswith(beginning, at) and (not among or beginning in among):
            raise PatternError(f"`{beginning}` begins {what}, which Go does not have", at, at + len(beginning), cure)


def _unknown_flag(text: str, at: int) -> PatternError:
    read = _FLAGS_READ.match(text, at)
    assert read
    end = read.end()
    flag = text[end : end + 1]
    if not flag:
        return PatternError("the group is never closed", at, end, "write `)` where it ends")
    if flag in ":)":
        return PatternError(
            "no flag stands behind the `-`", end - 1, end, "name the flags to turn off: `i`, `m`, `s`, `U`"
        )
    cure = advice.FLAGS.get(flag, "the flags are `i`, `m`, `s` and `U`")
    return PatternError(f"`{flag}` is no flag that Go knows", end, end + 1, cure)
