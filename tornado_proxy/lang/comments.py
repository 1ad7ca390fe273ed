"""The comments of one file, handed out in order to the nodes that they belong to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lark import Token

from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.lang.tree import Comment


@dataclass(slots=True)
class Comments:
    """What is left of a file's comments while its nodes are built from first to last."""

    source: SourceFile
    tokens: list[Token]
    _next: int = 0  # the first comment that has found no place yet
    _end: int = 0  # where the last comment or node ended

    def before(self, offset: int) -> tuple[Comment, ...]:
        """All that are left and begin before an offset."""
        return tuple(self._until(offset))

    def behind(self, end: int) -> Comment | None:
        """The one at the end of the line on which a node ends, if nothing else stands between; the node is done."""
        self._end = end
        if self._next == len(self.tokens):
            return None
        start = self.tokens[self._next].start_pos or 0
        gap = self.source.text[end:start]
        return None if gap.strip(" \t") else next(self._until(start + 1))

    def blank_above(self, start: int) -> bool:
        """Whether a blank line separates an offset from the comment or node that ended last."""
        gap = self.source.text[self._end : start]
        return gap.isspace() and gap.count("\n") > 1

    def _until(self, offset: int) -> Iterator[Comment]:
        while self._next < len(self.tokens):
            token = self.tokens[self._next]
            start = token.start_pos or 0
            if start >= offset:
                return
            text = token.rstrip()
            span = Span(self.source, start, start + len(text))
            comment = Comment(text, span, self.blank_above(start))
            self._next, self._end = self._next + 1, span.end
            yield comment
