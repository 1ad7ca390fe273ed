"""Regular expressions in Go's syntax, matched by RE2 in linear time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import re2  # type: ignore[import-untyped]  # google-re2 ships no annotations

from tornado_proxy.templating.data import Captures

_SURROGATE = re.compile("[\ud800-\udfff]")

_MEMORY = (8 << 20, 256 << 20, 4 << 30)
"""Bytes for one pattern, the next where the one before is too small; only a large pattern takes what it may."""


class PatternError(Exception):
    """A text that is no expression in Go's syntax; `offset` and `end` are code points in it."""

    def __init__(self, message: str, offset: int = 0, end: int | None = None, help: str | None = None) -> None:
        super().__init__(message)
        self.offset = offset
        self.end = end
        self.help = help


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled expression; `names` maps group names to numbers, `group_count` leaves out the whole match."""

    text: str
    names: Mapping[str, int] = field(compare=False, repr=False)
    group_count: int = field(compare=False, repr=False)
    program: bytes = field(compare=False, repr=False)
    _expression: Any = field(compare=False, repr=False)

    @property
    def program_size(self) -> int:
        """The number of RE2's instructions."""
        size: int = self._expression.programsize
        return size

    def search(self, key: str) -> Captures | None:
        """The captures of the leftmost match, as Go's `FindStringSubmatch`; None where there is none."""
        found = self._expression.search(encoded(key))
        if found is None:
            return None
        groups = tuple(each if each is None else each.decode() for each in (found.group(), *found.groups()))
        return Captures(groups, self.names)


def encoded(key: str) -> bytes:
    """The UTF-8 of a text, U+FFFD for what is not valid Unicode, as Go reads it."""
    try:
        return key.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", key).encode()


def options(memory: int) -> re2.Options:
    """RE2's options: silent, and with so many bytes of memory."""
    chosen = re2.Options()
    chosen.log_errors = False
    chosen.max_mem = memory
    return chosen


def compile_pattern(text: str) -> Pattern:
    """The pattern of an expression; raises `PatternError` where Go's regexp.Compile refuses it."""
    program = text.encode()
    try:
        expression = re2.compile(program, options(_MEMORY[0]))
    except re2.error as error:
        raise PatternError(error.args[0].decode()) from error
    names = {name.decode(): number for name, number in expression.groupindex.items()}
    return Pattern(text, MappingProxyType(names), expression.groups, program, expression)
