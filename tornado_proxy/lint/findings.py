"""How findings name rewrites and lists, and the edits that their fixes consist of."""

from __future__ import annotations

from collections.abc import Iterable

from tornado_proxy.lang.diagnostic import Edit, Span
from tornado_proxy.lang.tree import Comment, Literal, Statement
from tornado_proxy.rules.model import Rewrite

_LONGEST = 80


def named(rewrite: Rewrite) -> str:
    """What a message calls a rewrite: its name or its number, between backticks."""
    return f"`{rewrite.label}`"


def shown(key: str) -> str:
    """A key between backticks, as much of it as a message needs."""
    return f"`{key[:_LONGEST]}…`" if len(key) > _LONGEST else f"`{key}`"


def listed(words: Iterable[str]) -> str:
    """Words as a sentence has them: `a`, `b` and `c`."""
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last


def counted(number: int, word: str, plural: str = "") -> str:
    """A number of things: 1 file, 2 files."""
    return f"{number} {word if number == 1 else plural or word + 's'}"


def reworded(literal: Literal, start: int, end: int, text: str) -> tuple[Edit, ...]:
    """The edit that puts a text in the place of a part of a string's value; none where it cannot be written there."""
    written = _written(literal, text)
    if not literal.offsets or written is None:
        return ()
    return (Edit(literal.at(start, end), written),)


def inserted(literal: Literal, at: int, text: str) -> tuple[Edit, ...]:
    """The edit that puts a text into a string, before a code point of its value; none where that cannot be."""
    return reworded(literal, at, at, text)


def _written(literal: Literal, text: str) -> str | None:
    if literal.raw:
        return None if "`" in text or "\r" in text else text
    return text.replace("\\", "\\\\").replace('"', '\\"') if text.isprintable() else None


def removed(statement: Statement) -> tuple[Edit, ...]:
    """The edit that takes a statement and its comments out, with their lines where nothing else stands on them."""
    if not statement.span.text:
        return ()
    return (Edit(whole_lines(_with_comments(statement)), ""),)


def moved(statement: Statement, above: Statement) -> tuple[Edit, ...]:
    """The edits that put a statement, with its comments, above another one; none where both have no lines of their own.

    Both must stand in one file.
    """
    lines, there = whole_lines(_with_comments(statement)), whole_lines(_with_comments(above))
    if lines.source is not there.source or not (lines.text.endswith("\n") and there.text.endswith("\n")):
        return ()
    return Edit(Span(there.source, there.start, there.start), lines.text), Edit(lines, "")


def _with_comments(statement: Statement) -> Span:
    parts = [statement.span, *(comment.span for comment in comments_of(statement))]
    start, end = min(part.start for part in parts), max(part.end for part in parts)
    return Span(statement.span.source, start, end)


def comments_of(statement: Statement) -> tuple[Comment, ...]:
    """The comments above a statement, and the one at its end."""
    return (*statement.comments, *((statement.trailing,) if statement.trailing else ()))


def whole_lines(span: Span) -> Span:
    """A span with the spaces before it and the line end after it, if it has its lines for itself."""
    text = span.source.text
    start = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", span.end)
    end = len(text) if end < 0 else end + 1
    alone = not (text[start : span.start] + text[span.end : end]).strip()
    return Span(span.source, start, end) if alone else span
