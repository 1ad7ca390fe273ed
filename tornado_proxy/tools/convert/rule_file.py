"""The rule file of a target: its rewrites with where each came from, and in comments what could not be carried over."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import assert_never

from tornado_proxy.lang.printer import print_document
from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.lang.tree import Comment, Document, Literal, RewriteStatement, TargetBlock
from tornado_proxy.tools.convert.rewrites import Entry, LeftOut, Never, Written

_SOURCE = SourceFile("", "")
_NOWHERE = Span(_SOURCE, 0, 0)
# What a comment may not hold, since a reader of the file would not see it.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")


def rule_text(target: str, entries: Sequence[Entry]) -> str:
    """The text of a rule file, in its canonical layout."""
    statements: list[RewriteStatement] = []
    waiting: list[Comment] = []
    for entry in entries:
        waiting += _comments(entry, first=not statements and not waiting)
        if isinstance(entry.result, Written):
            statements.append(_statement(entry.result, waiting))
            waiting = []
    block = TargetBlock(_literal(target), tuple(statements), _NOWHERE, closing=tuple(waiting))
    return print_document(Document(_SOURCE, (block,)))


def _statement(written: Written, comments: Sequence[Comment]) -> RewriteStatement:
    source, template = _literal(written.source, raw=True), _literal(written.template)
    return RewriteStatement(None, source, written.dialect, template, _NOWHERE, tuple(comments))


def _literal(text: str, *, raw: bool = False) -> Literal:
    return Literal(text, _NOWHERE, raw)


def _comments(entry: Entry, *, first: bool) -> Iterator[Comment]:
    for number, line in enumerate(_lines(entry)):
        yield Comment(f"# {_UNSEEN.sub(' ', line).rstrip()}", _NOWHERE, blank_before=not number and not first)


def _lines(entry: Entry) -> Iterator[str]:
    given = entry.given
    place = f"{given.place.source.name}:{given.place.first.line}"
    match entry.result:
        case Written():
            yield f"From {place}."
            if (entry.result.source, entry.result.template) != (given.source, given.target):
                yield f"It was: {given.source} -> {given.target}"
        case LeftOut(reason, help, _):
            yield f"LEFT OUT, {place}: {reason}" + (f" ({help})" if help else "")
            yield f"It was: {given.source} -> {given.target}"
        case Never(reason):
            yield f"Not needed, {place}: {reason}"
            yield f"It was: {given.source} -> {given.target}"
        case _:
            assert_never(entry.result)
