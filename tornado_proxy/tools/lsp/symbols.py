"""The outline of a file: its targets, and the rewrites of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tornado_proxy.lang.source import Span
from tornado_proxy.lang.tree import Document, RewriteStatement, TargetBlock

_UNNAMED = "(no name)"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A target, or a rewrite below it: `span` is all of it, `name_span` what to go to."""

    name: str
    detail: str
    span: Span
    name_span: Span
    children: tuple[Symbol, ...] = ()


def symbols(document: Document) -> Iterator[Symbol]:
    """The targets of a file, in order."""
    for block in document.blocks:
        yield Symbol(block.name.value or _UNNAMED, "", block.span, block.name.span, tuple(_rewrites(block)))


def _rewrites(block: TargetBlock) -> Iterator[Symbol]:
    for statement in block.statements:
        if isinstance(statement, RewriteStatement):
            shown, where = (statement.name, "source") if statement.name else (statement.source, "")
            detail = f"{statement.source.value} → {statement.template.value}" if where else statement.template.value
            yield Symbol(shown.value or _UNNAMED, detail, statement.span, shown.span)
