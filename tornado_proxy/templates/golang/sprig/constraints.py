"""Constraints on semantic versions: `^1.2`, `~1.2.3 || >=2, <3`, `1.2 - 1.4` (package Masterminds/semver 3.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import re2  # type: ignore[import-untyped]  # google-re2 ships no annotations

from tornado_proxy.templates.golang.calling import STRING, Function, budgeted
from tornado_proxy.templates.golang.failures import ExecutionError
from tornado_proxy.templates.golang.limits import Budget
from tornado_proxy.templates.golang.sprig.versions import SUFFIXES, Version, compare, compare_pre, parse_version
from tornado_proxy.templates.golang.text import runes

_CONSTRAINT_COST = 50  # reading a constraint is more work than other functions are
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


@dataclass(frozen=True, slots=True)
class _Constraint:
    """An operator and a version; `dirty` if a number of it is left open, and if so which."""

    operator: bytes
    version: Version
    dirty: bool
    minor_dirty: bool
    patch_dirty: bool

    def admits(self, version: Version) -> bool:
        """Whether a version fulfils it; one before a release only if the constraint speaks of such."""
        if version.pre and not self.version.pre and (self.operator != b"!=" or self.dirty):
            return False
        return _OPERATORS[self.operator](self, version)


def _read(match: Any) -> _Constraint:
    """The constraint that was found in a text."""
    text = match[0]
    major, minor, patch = match[3], match[4] or b"", match[5] or b""
    pre = match[6] or b""
    if major in _WILD:
        return _Constraint(match[1], parse_version(b"0.0.0" + pre), True, False, False)
    if minor[1:] in _WILD:
        return _Constraint(match[1], _parsed(major + b".0.0" + pre, text), True, True, False)
    if patch[1:] in _WILD:
        return _Constraint(match[1], _parsed(major + minor + b".0" + pre, text), True, False, True)
    return _Constraint(match[1], _parsed(match[2], text), False, False, False)


def _parsed(version: bytes, text: bytes) -> Version:
    try:
        return parse_version(version)
    except ExecutionError:
        raise ExecutionError(f"`{runes(text)}` is no constraint on versions") from None


def _same(constraint: _Constraint, version: Version) -> bool:
    if constraint.dirty:
        return _tilde(constraint, version)
    return compare(version, constraint.version) == 0


def _different(constraint: _Constraint, version: Version) -> bool:
    wanted = constraint.version
    if not constraint.dirty:
        return compare(version, wanted) != 0
    if wanted.major != version.major:
        return True
    if constraint.minor_dirty:
        return False
    if wanted.minor != version.minor:
        return True
    if constraint.patch_dirty:
        return compare_pre(version.pre, wanted.pre) != 0
    return compare(version, wanted) != 0


def _greater(constraint: _Constraint, version: Version) -> bool:
    wanted = constraint.version
    if not constraint.dirty:
        return compare(version, wanted) > 0
    if version.major != wanted.major:
        return version.major > wanted.major
    if constraint.minor_dirty:
        return False
    if constraint.patch_dirty:
        return version.minor > wanted.minor
    return compare(version, wanted) > 0


def _not_greater(constraint: _Constraint, version: Version) -> bool:
    wanted = constraint.version
    if not constraint.dirty:
        return compare(version, wanted) <= 0
    if version.major != wanted.major:
        return version.major < wanted.major
    return constraint.minor_dirty or version.minor <= wanted.minor


def _tilde(constraint: _Constraint, version: Version) -> bool:
    wanted = constraint.version
    if compare(version, wanted) < 0:
        return False
    if wanted.numbers == (0, 0, 0) and not constraint.minor_dirty and not constraint.patch_dirty:
        return True
    return version.major == wanted.major and (version.minor == wanted.minor or constraint.minor_dirty)


def _caret(constraint: _Constraint, version: Version) -> bool:
    wanted = constraint.version
    if compare(version, wanted) < 0:
        return False
    if wanted.major or constraint.minor_dirty:
        return version.major == wanted.major
    if version.major:
        return False
    if wanted.minor or constraint.patch_dirty:
        return version.minor == wanted.minor
    return not version.minor and version.patch == wanted.patch


_OPERATORS: Mapping[bytes, Callable[[_Constraint, Version], bool]] = {
    b"": _same,
    b"=": _same,
    b"!=": _different,
    b">": _greater,
    b"<": lambda constraint, version: compare(version, constraint.version) < 0,
    b">=": lambda constraint, version: compare(version, constraint.version) >= 0,
    b"=>": lambda constraint, version: compare(version, constraint.version) >= 0,
    b"<=": _not_greater,
    b"=<": _not_greater,
    b"~": _tilde,
    b"~>": _tilde,
    b"^": _caret,
}


def _without_ranges(text: bytes) -> bytes:
    """`a - b` written with two operators."""
    rewritten = text
    for match in _RANGE.finditer(text):
        rewritten = rewritten.replace(match[0], b">= %b, <= %b " % (match[1], match[11]), 1)
    return rewritten


def _semver_compare(budget: Budget, constraint: bytes, version: bytes) -> bool:
    budget.spend(_CONSTRAINT_COST + len(constraint))
    alternatives = []
    for alternative in _without_ranges(constraint).split(b"||"):
        if not _ALL_OF.fullmatch(alternative):
            raise ExecutionError(f"`{runes(alternative)}` is no constraint on versions")
        alternatives.append([_read(match) for match in _CONSTRAINT.finditer(alternative)])
    parsed = parse_version(version)
    return any(all(each.admits(parsed) for each in alternative) for alternative in alternatives)


FUNCTIONS: Mapping[str, Function] = MappingProxyType({"semverCompare": budgeted(_semver_compare, STRING, STRING)})
