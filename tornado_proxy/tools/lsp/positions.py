"""Places as clients count them: lines from 0, and in a line the code units of an encoding (LSP 3.17, Position).

Lines are the protocol's, not the language's: a CR alone ends one too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

_LINE_END = re.compile(r"\r\n|\n|\r")


class Encoding(Enum):
    """What a client counts in a line; UTF-16 unless client and server agree on another."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"

    def units(self, text: str) -> int:
        """The code units of a text; half of a surrogate pair counts as a character of its own."""
        if text.isascii() or self is Encoding.UTF32:
            return len(text)
        if self is Encoding.UTF8:
            return len(text.encode(errors="surrogatepass"))
        return len(text) + sum(character > "\uffff" for character in text)


class ClientPosition(NamedTuple):
    """A line, and the code units before the place in it; both from 0."""

    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Lines:
    """A text as clients count it; wherever they point, there is an offset."""

    text: str = field(repr=False)
    encoding: Encoding = Encoding.UTF16
    _bounds: tuple[tuple[int, int], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ends = [end.span() for end in _LINE_END.finditer(self.text)]
        starts = (0, *(end for _, end in ends))
        stops = (*(start for start, _ in ends), len(self.text))
        object.__setattr__(self, "_bounds", tuple(zip(starts, stops, strict=True)))

    def position(self, offset: int) -> ClientPosition:
        """The place of a code-point offset."""
        line = bisect_right(self._bounds, offset, key=lambda bounds: bounds[0]) - 1
        return ClientPosition(line, self.encoding.units(self.text[self._bounds[line][0] : offset]))

    def offset(self, position: ClientPosition) -> int:
        """The code-point offset of a place; beyond the end of a line it is that end (LSP 3.17, Position)."""
        if position.line >= len(self._bounds):
            return len(self.text)
        start, stop = self._bounds[max(position.line, 0)]
        line = self.text[start:stop]
        if line.isascii():
            return start + min(max(position.character, 0), len(line))
        left = position.character
        for index, character in enumerate(line):
            left -= self.encoding.units(character)
            if left < 0:  # within a character: before it
                return start + index
        return stop
