"""Semantic versions and constraints on them: `^1.2`, `~1.2.3 || >=2, <3` (package Masterminds/semver 3.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import re2
from msgspec.structs import replace

from gotemplate.limits import COST_OF_CONSTRAINT, COST_OF_VERSION, LONGEST_VERSION
from gotemplate.template.calling import STRING, Function, budgeted, function, reading, struct_of
from gotemplate.template.errors import RenderBudget
from gotemplate.template.text import MAX_UINT, runes
from gotemplate.template.values import ExecutionError, Struct, Type, Uint64

SUFFIXES = rb"(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?"
"""The suffixes of a version; RE2 matches them in linear time, whatever users send."""

_LONGEST = len(str(MAX_UINT))
_VERSION = re2.compile(rb"v?([0-9]+)(\.[0-9]+)?(\.[0-9]+)?" + SUFFIXES)


class Version(msgspec.Struct, frozen=True):
    """A version; `original` is its text, which comparisons ignore."""

    major: int
    minor: int
    patch: int
    pre: bytes = b""
    metadata: bytes = b""
    original: bytes = b""

    def __bytes__(self) -> bytes:
        text = b"%d.%d.%d" % self.numbers
        return text + (b"-" + self.pre if self.pre else b"") + (b"+" + self.metadata if self.metadata else b"")

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Major, minor and patch."""
        return self.major, self.minor, self.patch


def parse_version(text: bytes) -> Version:
    """Parses a version, which may lack minor and patch; raises `ExecutionError`."""
    match = _VERSION.fullmatch(text) if len(text) <= LONGEST_VERSION else None
    if match is None:
        raise ExecutionError(f"invalid semantic version `{runes(text)}`")
    major, minor, patch = (_number((match[number] or b".0").lstrip(b".")) for number in (1, 2, 3))
    pre, metadata = match[5] or b"", match[8] or b""
    for part in pre.split(b"."):
        if part.isdigit() and len(part) > 1 and part.startswith(b"0"):
            raise ExecutionError(f"invalid semantic version `{runes(text)}`: a number begins with zero")
    return Version(major, minor, patch, pre, metadata, text)


def _number(digits: bytes) -> int:
    significant = digits.lstrip(b"0") or b"0"
    if len(significant) > _LONGEST or int(significant) > MAX_UINT:
        raise ExecutionError("a semantic version has a number out of range")
    return int(significant)


def compare(one: Version, other: Version) -> int:
    """Returns -1, 0 or 1: by numbers, then by the text of a pre-release."""
    if one.numbers != other.numbers:
        return -1 if one.numbers < other.numbers else 1
    if not one.pre or not other.pre:
        return bool(other.pre) - bool(one.pre)
    return compare_pre(one.pre, other.pre)


def compare_pre(one: bytes, other: bytes) -> int:
    """Returns -1, 0 or 1 for two texts of pre-releases: by parts, numbers before words, fewer before more parts."""
    keys = [[_part_key(part) for part in text.split(b".")] for text in (one, other)]
    return (keys[0] > keys[1]) - (keys[0] < keys[1])


def _part_key(part: bytes) -> tuple[int, int, bytes]:
    if part.isdigit() and len(part) <= _LONGEST and int(part) <= MAX_UINT:
        return 1, int(part), b""
    return (2, 0, part) if part else (0, 0, b"")


def _charged(budget: RenderBudget, text: bytes) -> Version:
    budget.spend(COST_OF_VERSION + (len(text) >> 2))
    return parse_version(text)


def _changed(before: Version, after: Version) -> Struct:
    """Returns a version with its new text; a `v` before it stays."""
    mark = b"v" if before.original.startswith(b"v") else b""
    return Struct(CHANGED_VERSION, replace(after, original=mark + bytes(after)))


def _set_suffix(field: str, mark: bytes) -> Callable[[RenderBudget, Struct, bytes], Struct]:
    def change(budget: RenderBudget, receiver: Struct, suffix: bytes) -> Struct:
        if suffix and getattr(_charged(budget, b"0.0.0" + mark + suffix), field) != suffix:
            raise ExecutionError(f"invalid suffix `{runes(suffix)}` of a version")
        return _changed(receiver.source, replace(receiver.source, **{field: suffix}))

    return change


def _comparing(holds: Callable[[int], Any]) -> Function:
    other = struct_of("*semver.Version")
    return function(lambda receiver, version: holds(compare(receiver.source, version.source)), other)


def _next(number: int) -> int:
    if number == MAX_UINT:
        raise ExecutionError("the next version has a number out of range")
    return number + 1


_OF_VALUES: Mapping[bytes, Function] = {
    b"IncMajor": reading(lambda version: _changed(version, Version(_next(version.major), 0, 0))),
    b"IncMinor": reading(lambda version: _changed(version, Version(version.major, _next(version.minor), 0))),
    b"IncPatch": reading(
        lambda version: _changed(
            version, Version(version.major, version.minor, version.patch if version.pre else _next(version.patch))
        )
    ),
    b"Major": reading(lambda version: Uint64(version.major)),
    b"Metadata": reading(lambda version: version.metadata),
    b"Minor": reading(lambda version: Uint64(version.minor)),
    b"Patch": reading(lambda version: Uint64(version.patch)),
    b"Prerelease": reading(lambda version: version.pre),
    b"SetMetadata": budgeted(_set_suffix("metadata", b"+"), STRING),
    b"SetPrerelease": budgeted(_set_suffix("pre", b"-"), STRING),
    b"String": reading(bytes),
}


def _version_type(name: str, kind: str, methods: Mapping[bytes, Function]) -> Type:
    def text(value: Struct) -> bytes:
        return bytes(value.source)

    return Type(name, kind, opaque=True, stringer=text, json=text, methods=methods)


CHANGED_VERSION = _version_type("semver.Version", "struct", _OF_VALUES)
"""The type of a changed version: a value, which lacks the methods that need a pointer."""

VERSION = _version_type(
    "*semver.Version",
    "ptr",
    {
        **_OF_VALUES,
        b"Compare": _comparing(int),
        b"Equal": _comparing(lambda order: order == 0),
        b"GreaterThan": _comparing(lambda order: order > 0),
        b"GreaterThanEqual": _comparing(lambda order: order >= 0),
        b"LessThan": _comparing(lambda order: order < 0),
        b"LessThanEqual": _comparing(lambda order: order <= 0),
        b"Original": reading(lambda version: version.original),
    },
)


_LONGEST_CONSTRAINT, _MOST_ALTERNATIVES = 512, 32  # semver's MaxConstraintLen and MaxConstraintGroups
_OPERATOR = rb"(=||!=|>|<|>=|=>|<=|=<|~|~>|\^)"
_SPACE = rb"[\t\n\f\r ]"
_NUMBERS = rb"v?([0-9|x|X|\*]+)(\.[0-9|x|X|\*]+)?(\.[0-9|x|X|\*]+)?" + SUFFIXES
_ONE = _OPERATOR + _SPACE + rb"*(" + _NUMBERS + rb")"
_CONSTRAINT = re2.compile(_ONE)
_ALL_OF = re2.compile(
    rb"(" + _SPACE + rb"*" + _ONE + _SPACE + rb"*)((?:" + _SPACE + rb"+|," + _SPACE + rb"*)" + _ONE + _SPACE + rb"*)*"
)
_RANGE = re2.compile(
    _SPACE + rb"*(" + _NUMBERS + rb")" + _SPACE + rb"+-" + _SPACE + rb"+(" + _NUMBERS + rb")" + _SPACE + rb"*"
)
_WILD = (b"", b"x", b"X", b"*")


class _Constraint(msgspec.Struct, frozen=True):
    """An operator and a version; the first `fixed` of its three numbers are fixed: one in `1.x`."""

    operator: bytes
    version: Version
    fixed: int

    def admits(self, version: Version) -> bool:  # noqa: PLR0911 - one case for each operator
        """Returns whether a version satisfies it."""
        bound, fixed = self.version, self.fixed
        is_exact = fixed in (0, 3)  # `1.2.3` and `*`, whose version is 0.0.0
        order = compare(version, bound)
        match self.operator:
            case b"!=" if is_exact:
                return order != 0
            case b"!=":
                begins_alike = version.numbers[:fixed] == bound.numbers[:fixed]
                return not begins_alike or (fixed == 2 and compare_pre(version.pre, bound.pre) != 0)
            case b">":
                return order > 0 if is_exact else version.numbers[:fixed] > bound.numbers[:fixed]
            case b"<":
                return order < 0
            case b">=" | b"=>":
                return order >= 0
            case b"<=" | b"=<":
                least = fixed or 2
                return order <= 0 if fixed == 3 else version.numbers[:least] <= bound.numbers[:least]
            case b"^":
                same = 1 if bound.major or fixed == 1 else 2 if bound.minor or fixed == 2 else 3
                return order >= 0 and version.numbers[:same] == bound.numbers[:same]
            case b"" | b"=" if fixed == 3:
                return order == 0
        same = 1 if fixed == 1 else 2
        is_near = version.numbers[:same] == bound.numbers[:same] or (is_exact and bound.numbers == (0, 0, 0))
        return order >= 0 and is_near


def _read(match: Any) -> _Constraint:
    """Returns the constraint of a match of `_ONE`."""
    numbers = [match[3], *((part or b"")[1:] for part in (match[4], match[5]))]
    fixed = next((index for index, part in enumerate(numbers) if part in _WILD), 3)
    text = b".".join([*numbers[:fixed], b"0", b"0", b"0"][:3]) + (match[6] or b"")
    try:
        return _Constraint(match[1], parse_version(match[2] if fixed == 3 else text), fixed)
    except ExecutionError:
        raise ExecutionError(f"invalid version constraint `{runes(match[0])}`") from None


def _semver_compare(budget: RenderBudget, constraint: bytes, version: bytes) -> bool:
    budget.spend(COST_OF_CONSTRAINT + len(constraint))
    if len(constraint) > _LONGEST_CONSTRAINT or constraint.count(b"||") >= _MOST_ALTERNATIVES:
        raise ExecutionError("a version constraint is too long")
    alternatives = []
    rewritten = constraint  # with two operators in place of `a - b`
    for match in _RANGE.finditer(constraint):
        rewritten = rewritten.replace(match[0], b">= %b, <= %b " % (match[1], match[11]), 1)
    for alternative in rewritten.split(b"||"):
        if not _ALL_OF.fullmatch(alternative):
            raise ExecutionError(f"invalid version constraint `{runes(alternative)}`")
        alternatives.append([_read(match) for match in _CONSTRAINT.finditer(alternative)])
    parsed = parse_version(version)
    return any(
        all(each.admits(parsed) for each in alternative)
        for alternative in alternatives
        if not parsed.pre or any(each.version.pre for each in alternative)  # who wants a pre-release names one
    )


FUNCTIONS: Mapping[str, Function] = {
    "semver": budgeted(lambda budget, text: Struct(VERSION, _charged(budget, text)), STRING),
    "semverCompare": budgeted(_semver_compare, STRING, STRING),
}
