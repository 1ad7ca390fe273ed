"""Regular expressions in Go's syntax, matched by RE2 in linear time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tornado_proxy.rules.engine import MEMORY, ProgramRefused, compile_program
from tornado_proxy.rules.expressions.errors import PatternError
from tornado_proxy.rules.expressions.reader import read_expression
from tornado_proxy.templates.data import Captures
from tornado_proxy.templates.searching import leftmost

__all__ = ["Pattern", "PatternError", "compile_pattern", "encoded"]

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled expression; `names` maps group names to numbers, `group_count` leaves out the whole match.

    `program` is what RE2 reads instead of the text. Threads may share a pattern.
    """

    text: str
    names: Mapping[str, int] = field(compare=False, repr=False)
    group_count: int = field(compare=False, repr=False)
    program: bytes = field(compare=False, repr=False)
    _compiled: Any = field(compare=False, repr=False)
    _namesakes: tuple[tuple[str, tuple[int, ...]], ...] = field(compare=False, repr=False)
    _sees_within: bool = field(compare=False, repr=False)
    _numbers: range = field(compare=False, repr=False)

    @property
    def program_size(self) -> int:
        """The number of RE2's instructions."""
        size: int = self._compiled.programsize
        return size

    def search(self, key: str) -> Captures | None:
        """The captures of the leftmost match, as Go's `FindStringSubmatch`; None where there is none."""
        try:
            found = leftmost(self._compiled, key.encode(), sees_within=self._sees_within)
        except UnicodeEncodeError:
            return self._search_ill_formed(key)
        if found is None:
            return None
        groups = tuple([text if text is None else text.decode() for text in map(found.__getitem__, self._numbers)])
        return Captures(groups, self._names_of(groups))

    def _search_ill_formed(self, key: str) -> Captures | None:
        """As Go reads what is not valid UTF-8: as U+FFFD, which the captures still show as it was."""
        read = encoded(key)
        found = leftmost(self._compiled, read, sees_within=self._sees_within)
        if found is None:
            return None
        spans = map(found.span, self._numbers)
        groups = tuple(
            None if start < 0 else key[len(read[:start].decode()) : len(read[:end].decode())] for start, end in spans
        )
        return Captures(groups, self._names_of(groups))

    def _names_of(self, groups: tuple[str | None, ...]) -> Mapping[str, int]:
        """The numbers of the names; of namesakes, that which took part first (Go's Regexp.Expand)."""
        if not self._namesakes:
            return self.names
        taking_part = {
            name: next((number for number in numbers if groups[number] is not None), numbers[0])
            for name, numbers in self._namesakes
        }
        return {**self.names, **taking_part}


def encoded(key: str) -> bytes:
    """The UTF-8 of a text, U+FFFD for what is not valid Unicode."""
    try:
        return key.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", key).encode()


def compile_pattern(text: str, memory: Sequence[int] = MEMORY) -> Pattern:
    """The pattern of an expression; raises `PatternError` where Go's regexp.Compile refuses it."""
    expression = read_expression(text)
    program = expression.program.encode()
    try:
        compiled = compile_program(program, memory)
    except ProgramRefused as error:
        cure = "count less, or split it into several rewrites"
        raise PatternError(f"RE2 cannot match this: {error}", 0, len(text), cure) from error
    numbers: dict[str, tuple[int, ...]] = {}
    for number, name in enumerate(expression.names, start=1):
        if name:
            numbers[name] = (*numbers.get(name, ()), number)
    names = MappingProxyType({name: each[0] for name, each in numbers.items()})
    namesakes = tuple((name, each) for name, each in numbers.items() if len(each) > 1)
    return Pattern(
        text=text,
        names=names,
        group_count=len(expression.names),
        program=program,
        _compiled=compiled,
        _namesakes=namesakes,
        _sees_within=rb"\B" in program,
        _numbers=range(len(expression.names) + 1),
    )
