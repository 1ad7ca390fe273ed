"""What is wrong with an expression."""

from __future__ import annotations


class PatternError(Exception):
    """A text that is no expression in Go's syntax; `offset` and `end` are code points in it."""

    def __init__(self, message: str, offset: int = 0, end: int | None = None, help: str | None = None) -> None:
        super().__init__(message)
        self.offset = offset
        self.end = end
        self.help = help
