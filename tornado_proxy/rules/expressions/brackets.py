r"""Classes: `[^/]`, `[a-z\d]`, `[[:alpha:]\pL]` (regexp/syntax, parseClass), and properties that stand alone."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from tornado_proxy.lang.suggestion import did_you_mean
from tornado_proxy.rules.expressions import additions
from tornado_proxy.rules.expressions.errors import PatternError
from tornado_proxy.rules.expressions.escapes import Read, read_escape
from tornado_proxy.rules.expressions.properties import NAMES, folded, matched, members, resolve
from tornado_proxy.rules.expressions.ranges import Range, Ranges, bracketed, complement, spelled, union

_POSIX = "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit".split()  # noqa: SIM905 - reads as a list
_LETTERS = sorted(additions.OTHER_CASE)
_POSIX_CLASS = re.compile(r"\[:(\^?)(.*?):\]", re.DOTALL)
_PERL_CLASS = re.compile(r"\\[dDsSwW]")
_PROPERTY = re.compile(r"\\([pP])(?:\{(\^?)([^}]*)\}|(.?))", re.DOTALL)


class ClassProgram(NamedTuple):
    """What RE2 is given for a class, and how many bounds of ranges Go counts for it."""

    text: str
    bounds: int


class Property(NamedTuple):
    """A Unicode class by its one name, or all that is not in it."""

    name: str
    negated: bool

    def ranges(self, *, fold: bool) -> Ranges:
        """Its code points; under `(?i)` those that differ in case only as well."""
        found = members(self.name, fold=fold)
        return complement(found) if self.negated else found

    def program(self, *, fold: bool) -> ClassProgram:
        """The class, standing alone."""
        return _exactly(self.ranges(fold=fold))


@lru_cache  # 128 texts of classes; those of one property may be 20 KiB
def _exactly(ranges: Ranges) -> ClassProgram:
    return ClassProgram(bracketed(ranges), 2 * len(ranges))


def read_property(text: str, at: int) -> tuple[Property, int]:
    r"""The property of a `\p` at an offset, and the offset behind it; raises `PatternError`."""
    found = _PROPERTY.match(text, at)
    assert found
    sign, caret, braced, single = found.groups(default="")
    name = braced or single
    if single == "{":
        raise PatternError(f"`\\{sign}{{` is never closed", at, at + 3, "write `}` behind the name of the class")
    official = resolve(name)
    if official is None:
        raise PatternError(f"there is no class named `{name}`", at, found.end(), _suggestion(name, NAMES))
    return Property(official, (sign == "P") != bool(caret)), found.end()


def _suggestion(name: str, names: tuple[str, ...] | list[str]) -> str | None:
    meant = did_you_mean(name, names)
    return f"did you mean `{meant}`?" if meant else None


@dataclass(slots=True)
class _Class:
    """What has been read of a class: ranges, ASCII classes by their text, properties."""

    negated: bool
    ranges: list[Range] = field(default_factory=list)
    ascii: list[str] = field(default_factory=list)
    properties: list[Property] = field(default_factory=list)

    def program(self, *, fold: bool) -> ClassProgram:
        """The same class, or its code points where RE2 would not find the same."""
        if self.properties or (fold and any(map(_has_other_case, self.ranges))):
            return self._every_code_point(fold=fold)
        text = f"[{'^' if self.negated else ''}{''.join(self.ascii)}{spelled(self.ranges)}]"
        return ClassProgram(text, 2 * (len(self.ranges) + len(self.ascii)))

    def _every_code_point(self, *, fold: bool) -> ClassProgram:
        ranges = union(self.ranges)
        whole = union(
            (
                *(folded(ranges) if fold else ranges),
                *(each for text in self.ascii for each in _ascii_class(text, fold=fold)),
                *(each for part in self.properties for each in part.ranges(fold=fold)),
            )
        )
        return _exactly(complement(whole) if self.negated else whole)


def _has_other_case(within: Range) -> bool:
    """Whether a range holds a letter with a case that RE2 does not know."""
    low, high = within
    return bisect_left(_LETTERS, low) < bisect_right(_LETTERS, high)


@lru_cache(maxsize=128)
def _ascii_class(text: str, *, fold: bool) -> Ranges:
    r"""The code points of `\d` or `[:alpha:]`; a negated one is asked for its opposite, which is small."""
    positive = text.replace("^", "") if text[0] == "[" else text.lower()
    ranges = matched(f"(?i)[{positive}]" if fold else f"[{positive}]")
    return ranges if positive == text else complement(ranges)


def read_bracket(text: str, at: int, *, fold: bool) -> tuple[ClassProgram, int]:
    """The program of a class whose bracket stands at an offset, and the offset behind it; raises `PatternError`."""
    negated = text.startswith("^", at + 1)
    read = _Class(negated)
    first = position = at + 1 + negated
    # A closing bracket that stands first is a character like others.
    while position == first or not text.startswith("]", position):
        position = _read_item(text, position, read, at)
    return read.program(fold=fold), position + 1


def _read_item(text: str, position: int, read: _Class, opening: int) -> int:
    if found := _POSIX_CLASS.match(text, position):
        if found[2] not in _POSIX:
            raise PatternError(
                f"there is no class named `{found[2]}`", position, found.end(), _suggestion(found[2], _POSIX)
            )
        read.ascii.append(found[0])
        return found.end()
    if text.startswith(("\\p", "\\P"), position):
        part, end = read_property(text, position)
        read.properties.append(part)
        return end
    if found := _PERL_CLASS.match(text, position):
        read.ascii.append(found[0])
        return found.end()
    return _read_range(text, position, read, opening)


def _read_range(text: str, position: int, read: _Class, opening: int) -> int:
    low, end = _read_character(text, position, opening)
    high = low
    if text.startswith("-", end) and not text.startswith("-]", end) and end + 1 < len(text):
        high, end = _read_character(text, end + 1, opening)
    if high < low:
        raise PatternError(
            f"the range `{text[position:end]}` runs backwards",
            position,
            end,
            "write the lower character first, or `\\-` for a hyphen",
        )
    read.ranges.append((low, high))
    return end


def _read_character(text: str, position: int, opening: int) -> Read:
    if position == len(text):
        raise PatternError(
            "the class is never closed", opening, opening + 1, "write `]` where it ends, or `\\[` for a bracket"
        )
    if text[position] == "\\":
        return read_escape(text, position, in_class=True)
    return ord(text[position]), position + 1
