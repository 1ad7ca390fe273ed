"""Reads the comments that allow findings: `# allow: a-check, another (reason)`, and `# allow-file: a-check`.

A reason may also follow a dash: `# allow: a-check - reason`.

The first form is for the statement or block below the comment or on its line, the second for the whole file. Mistakes
that the parser or the compiler finds cannot be allowed, nor can findings about allowances.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from tornado_proxy.rules.diagnostic import Diagnostic, Edit, Span
from tornado_proxy.rules.tree import Comment, Document

UNALLOWABLE = "unused-allowance"  # the check whose findings cannot be allowed

# The reason follows the names, in parentheses or after a dash that is not part of a name.
_ALLOWANCE = re.compile(r"#\s*allow(?P<file>-file)?\s*:(?P<names>.*?)(?:\(.*|(?<=\s)-+(?:\s.*)?|[\u2013\u2014].*)?$")
_NAME = re.compile(r"[^\s,]+")


class Allowance(msgspec.Struct, frozen=True):
    """A name in a comment; `covers` is the span in which it applies, None if no statement or block follows."""

    name: str
    span: Span
    comment: Comment
    covers: Span | None

    def allows(self, diagnostic: Diagnostic) -> bool:
        """Returns whether it silences a finding."""
        return (
            self.name == diagnostic.code != UNALLOWABLE
            and self.covers is not None
            and diagnostic.span is not None
            and diagnostic.span.source is self.covers.source
            and self.covers.start <= diagnostic.span.start <= self.covers.end
        )


class Allowances:
    """The allowances in files, and comments that name no check; it knows which have silenced a finding."""

    def __init__(
        self,
        documents: Iterable[Document] = (),
        judged: frozenset[str] = frozenset(),
        check_names: tuple[str, ...] = (),
    ) -> None:
        self.all: list[Allowance] = []
        self.empty: list[Comment] = []
        self.check_names = check_names
        self._judged = judged
        self._by_name: defaultdict[str, list[Allowance]] = defaultdict(list)
        self._used: set[int] = set()  # by identity
        for comment, covers in (each for document in documents for each in _comments(document)):
            if match := _ALLOWANCE.match(comment.text):
                self._add(comment, match, covers)

    def _add(self, comment: Comment, match: re.Match[str], covers: Span | None) -> None:
        source = comment.span.source
        covers = Span(source, 0, len(source.text)) if match["file"] else covers
        names = list(_NAME.finditer(comment.text, *match.span("names")))
        for name in names:
            allowance = Allowance(name[0], comment.span.part(*name.span()), comment, covers)
            self.all.append(allowance)
            self._by_name[allowance.name].append(allowance)
        if not names:
            self.empty.append(comment)

    def silence(self, diagnostic: Diagnostic) -> bool:
        """Returns whether a finding is allowed, and marks the allowances that allow it as used."""
        allowing = [each for each in self._by_name[diagnostic.code] if each.allows(diagnostic)]
        self._used.update(map(id, allowing))
        return bool(allowing)

    def unused(self) -> Iterator[Allowance]:
        """Returns the allowances that silenced nothing although their check ran."""
        return (each for each in self.all if each.name in self._judged and id(each) not in self._used)

    def unknown(self) -> Iterator[Allowance]:
        """Returns the allowances that name no check."""
        return (each for each in self.all if each.name not in self.check_names)


def without(comment: Comment, allowances: Iterable[Allowance]) -> Edit:
    """Returns the edit that removes names from their comment, or the comment if it has no other name."""
    removed = {each.span.start - comment.span.start for each in allowances}
    match = _ALLOWANCE.match(comment.text)
    names = list(_NAME.finditer(comment.text, *match.span("names"))) if match else []
    kept, end = "", 0
    for name in names:
        if name.start() not in removed:
            kept += comment.text[end : name.end()] if kept else name[0]
        end = name.end()
    if kept:
        return Edit(comment.span.part(names[0].start(), end), kept)
    lines = comment.span.whole_lines()
    if lines != comment.span:
        return Edit(lines, "")
    before = comment.span.source.text[: comment.span.start]
    return Edit(Span(comment.span.source, len(before.rstrip(" \t")), comment.span.end), "")


def _comments(document: Document) -> Iterator[tuple[Comment, Span | None]]:
    """Yields every comment with the span to which it applies."""
    for block in document.blocks:
        around = (*block.comments, block.opening, block.trailing)
        yield from ((comment, block.span) for comment in around if comment)
        for statement in block.statements:
            beside = (*statement.comments, statement.trailing)
            yield from ((comment, statement.span) for comment in beside if comment)
        yield from ((comment, None) for comment in block.closing)
    yield from ((comment, None) for comment in document.closing)
