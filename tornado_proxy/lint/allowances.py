"""What comments allow: `# allow: a-check, another (reason)` at a statement or block, `# allow-file: a-check` anywhere.

The reason may also stand behind a dash: `# allow: a-check - reason`.
A comment counts for the statement or block that it stands above, or at whose end it stands; one behind the `{` of a
block counts for the block. Mistakes that parser and compiler find cannot be allowed, nor can findings about allowances.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tornado_proxy.lang.diagnostic import Diagnostic, Edit, SourceFile, Span
from tornado_proxy.lang.tree import Comment, Document, TargetBlock
from tornado_proxy.lint.findings import whole_lines

UNALLOWABLE = "unused-allowance"
"""The check of allowances, whose findings cannot be allowed."""

MISTAKES = frozenset(
    (
        *("bad-escape", "bad-source", "bad-template", "bad-test", "control-character", "duplicate-name"),
        *("not-utf-8", "outside-block", "repeated-clause", "syntax-error", "too-many-mistakes"),
        *("unclosed-block", "unterminated-string"),
    )
)
"""What parser and compiler may find wrong with a rule file."""

# What follows the names is the reason: in parentheses, or behind a dash that is not part of a name.
_ALLOWANCE = re.compile(r"#\s*allow(?P<file>-file)?\s*:(?P<names>.*?)(?:\(.*|(?<=\s)-+(?:\s.*)?|[\u2013\u2014].*)?$")
_NAME = re.compile(r"[^\s,]+")


@dataclass(frozen=True, slots=True)
class Allowance:
    """One name in a comment; `covers` is where it counts: a stretch of the file, or None where nothing stands."""

    name: str
    span: Span
    comment: Comment
    covers: Span | None

    def allows(self, diagnostic: Diagnostic) -> bool:
        """Whether it silences a finding."""
        return (
            self.name == diagnostic.code != UNALLOWABLE
            and self.covers is not None
            and diagnostic.span is not None
            and diagnostic.span.source is self.covers.source
            and self.covers.start <= diagnostic.span.start <= self.covers.end
        )


@dataclass(frozen=True, slots=True)
class Allowances:
    """All allowances of some files, and, as the checks run, which of them have silenced something.

    `judged` names the checks that run: of others nobody can say whether an allowance is of use. `known` names all.
    """

    all: tuple[Allowance, ...] = ()
    empty: tuple[Comment, ...] = ()  # those that name no check
    judged: frozenset[str] = frozenset()
    known: tuple[str, ...] = ()
    _by_name: dict[str, list[Allowance]] = field(default_factory=dict)
    _used: set[int] = field(default_factory=set)  # by identity; the only state that changes

    def __post_init__(self) -> None:
        for each in self.all:
            self._by_name.setdefault(each.name, []).append(each)

    def silence(self, diagnostic: Diagnostic) -> bool:
        """Whether a finding is allowed; all that allow it are then of use."""
        allowing = [each for each in self._by_name.get(diagnostic.code, ()) if each.allows(diagnostic)]
        self._used.update(map(id, allowing))
        return bool(allowing)

    def unused(self) -> Iterator[Allowance]:
        """Returns the allowances that silenced nothing although their check ran."""
        return (each for each in self.all if each.name in self.judged and id(each) not in self._used)

    def unknown(self) -> Iterator[Allowance]:
        """Returns the allowances that name no check."""
        return (each for each in self.all if each.name not in self.known)


def find_allowances(documents: Iterable[Document], judged: frozenset[str], known: tuple[str, ...]) -> Allowances:
    """The allowances that stand in some files."""
    found: list[Allowance] = []
    empty: list[Comment] = []
    for document in documents:
        for comment, covers in _comments(document):
            match = _ALLOWANCE.match(comment.text)
            if match is None:
                continue
            extent = _file(document.source) if match["file"] else covers
            names = list(_NAME.finditer(match["names"]))
            start = match.start("names")
            found.extend(_allowance(name, start, comment, extent) for name in names)
            if not names:
                empty.append(comment)
    return Allowances(tuple(found), tuple(empty), judged, known)


def without(allowance: Allowance) -> Edit:
    """The edit that takes a name out of its comment, or the comment out of the file where it is the only one."""
    comment = allowance.comment
    match = _ALLOWANCE.match(comment.text)
    if match and len(_NAME.findall(match["names"])) > 1:
        start, end = allowance.span.start, allowance.span.end
        text = comment.span.source.text
        while text[end : end + 1] in (",", " ") and end < comment.span.end:
            end += 1
        if end >= comment.span.start + match.start("names") + len(match["names"].rstrip()):
            start -= len(text[comment.span.start : start]) - len(text[comment.span.start : start].rstrip(", "))
            end = allowance.span.end
        return Edit(Span(comment.span.source, start, end), "")
    lines = whole_lines(comment.span)
    if lines != comment.span:
        return Edit(lines, "")
    before = comment.span.source.text[: comment.span.start]
    return Edit(Span(comment.span.source, len(before.rstrip(" \t")), comment.span.end), "")


def _allowance(name: re.Match[str], start: int, comment: Comment, covers: Span | None) -> Allowance:
    return Allowance(name[0], comment.span.part(start + name.start(), start + name.end()), comment, covers)


def _file(source: SourceFile) -> Span:
    return Span(source, 0, len(source.text))


def _comments(document: Document) -> Iterator[tuple[Comment, Span | None]]:
    """Every comment with the stretch that it speaks of."""
    for block in document.blocks:
        yield from _block_comments(block)
    yield from ((comment, None) for comment in document.closing)


def _block_comments(block: TargetBlock) -> Iterator[tuple[Comment, Span | None]]:
    around = (*block.comments, block.opening, block.trailing)
    yield from ((comment, block.span) for comment in around if comment)
    for statement in block.statements:
        beside = (*statement.comments, statement.trailing)
        yield from ((comment, statement.span) for comment in beside if comment)
    yield from ((comment, None) for comment in block.closing)
