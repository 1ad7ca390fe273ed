"""The frozen syntax tree of one rule file, with its comments.

Spans, the form of strings and blank lines are fields of the nodes that are never compared: two documents are equal if
they have the same meaning. `blank_before` is whether a blank line is directly above; comments are above their node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import msgspec

from tornado_proxy.rules.diagnostic import SourceFile, Span


class Dialect(Enum):
    """The language of a template."""

    PLAIN = "plain"
    JINJA = "jinja"
    GO = "go"


class Verdict(Enum):
    """An expectation of a test other than a key."""

    UNCHANGED = "unchanged"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment: its text from `#` to the end of the line, without trailing space."""

    text: str
    span: Span = field(compare=False, repr=False)
    blank_before: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Literal:
    """A name or a string as written and as meant; `offsets` has the place of each code point, and of the end."""

    value: str
    span: Span = field(compare=False, repr=False)
    raw: bool = field(default=False, compare=False)  # written between backticks
    offsets: Sequence[int] = field(default=(), compare=False, repr=False)

    def at(self, start: int, end: int | None = None) -> Span:
        """The span in the file of a part of the value, by code-point offsets within it."""
        if not self.offsets:
            return self.span
        last = len(self.offsets) - 1
        first = self.offsets[min(start, last)]
        return Span(self.span.source, first, max(first, self.offsets[min(start if end is None else end, last)]))


@dataclass(frozen=True, slots=True)
class RewriteStatement:
    """`rewrite [NAME] SOURCE -> [jinja|go] TEMPLATE`."""

    name: Literal | None
    source: Literal
    dialect: Dialect
    template: Literal
    span: Span = field(compare=False, repr=False)
    comments: tuple[Comment, ...] = ()  # on lines of their own, above
    trailing: Comment | None = None  # at the end of the last line
    blank_before: bool = field(default=False, compare=False, repr=False)


class RequestClauses(msgspec.Struct, frozen=True):
    """The clauses of a test about its request: `as`, `method`, `host`, `header` (repeated), `user-groups`, `email`."""

    user: Literal | None = None
    method: Literal | None = None
    host: Literal | None = None
    headers: tuple[tuple[Literal, Literal], ...] = ()
    user_groups: Literal | None = None
    email: Literal | None = None


@dataclass(frozen=True, slots=True)
class TestStatement:
    """`test KEY [clauses] -> KEY | unchanged | error`."""

    __test__ = False  # the name is the language's, not pytest's

    key: Literal
    clauses: RequestClauses
    expected: Literal | Verdict
    span: Span = field(compare=False, repr=False)
    comments: tuple[Comment, ...] = ()
    trailing: Comment | None = None
    blank_before: bool = field(default=False, compare=False, repr=False)


Statement = RewriteStatement | TestStatement


@dataclass(frozen=True, slots=True)
class TargetBlock:
    """`target NAME { … }`."""

    name: Literal
    statements: tuple[Statement, ...]
    span: Span = field(compare=False, repr=False)
    comments: tuple[Comment, ...] = ()  # above the block
    opening: Comment | None = None  # behind `{`
    closing: tuple[Comment, ...] = ()  # on lines of their own, above `}`
    trailing: Comment | None = None  # behind `}`
    blank_before: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Document:
    """One rule file: its blocks in order, and the comments after the last."""

    source: SourceFile = field(compare=False)
    blocks: tuple[TargetBlock, ...] = ()
    closing: tuple[Comment, ...] = ()
