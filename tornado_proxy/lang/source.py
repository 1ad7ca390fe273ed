"""The text of a rule or configuration file, and places in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

_LINE_END = re.compile("\n")


class Position(NamedTuple):
    """A place as people count it: line and column from 1, columns in code points."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A named text; only LF ends a line."""

    name: str
    text: str = field(repr=False)
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = (0, *(end.end() for end in _LINE_END.finditer(self.text)))
        object.__setattr__(self, "_starts", starts)

    @property
    def line_count(self) -> int:
        """The number of lines; a text without LF has one."""
        return len(self._starts)

    def position(self, offset: int) -> Position:
        """The line and column of a code-point offset."""
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)

    def offset(self, line: int, column: int) -> int:
        """The code-point offset of a line and column, both from 1."""
        return self._starts[line - 1] + column - 1

    def line(self, number: int) -> str:
        """The text of a line, from 1, without its end."""
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[self._starts[number - 1] : end].removesuffix("\r")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a source file: code-point offsets, the end excluded; empty at a point."""

    source: SourceFile
    start: int
    end: int

    @property
    def text(self) -> str:
        """The text that it covers."""
        return self.source.text[self.start : self.end]

    @property
    def first(self) -> Position:
        """Where it begins."""
        return self.source.position(self.start)

    @property
    def last(self) -> Position:
        """Where it ends, the position after its last character."""
        return self.source.position(self.end)

    @property
    def place(self) -> str:
        """The place as `file:line:column`."""
        line, column = self.first
        return f"{self.source.name}:{line}:{column}"

    def part(self, start: int, end: int) -> Span:
        """The span of a part, by offsets within this one."""
        return Span(self.source, self.start + start, self.start + end)
