"""Ways through a file: definitions, the outline, and the tests of each target and rewrite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from tornado_proxy.lang.source import Span
from tornado_proxy.lang.tree import Document, RewriteStatement, TargetBlock
from tornado_proxy.lint.findings import counted
from tornado_proxy.rules.testing import TestOutcome
from tornado_proxy.tools.lsp.nodes import (
    GroupReference,
    RewriteNode,
    SourceNode,
    TargetNode,
    TemplateNode,
    TestNode,
    group_of,
    node_at,
    reference_at,
)
from tornado_proxy.tools.lsp.workspace import Analysis


def definitions(analysis: Analysis, name: str, offset: int) -> Iterator[Span]:
    """The places that define what stands at a place of a file."""
    document = analysis.document(name)
    node = node_at(document, offset) if document else None
    match node:
        case TemplateNode(_, statement, at):
            yield from _group(statement, at)
        case TestNode(_, statement):
            outcome = analysis.outcome(statement)
            if outcome and outcome.rewrite:
                yield _head(outcome.rewrite.statement)
        case TargetNode(block):
            target = analysis.target(block)
            yield from (each.name.span for each in (target.blocks if target else ()))
        case RewriteNode(_, statement):
            yield _head(statement)
        case SourceNode() | None:
            pass
        case _:
            assert_never(node)


def _group(statement: RewriteStatement, at: int) -> Iterator[Span]:
    found = reference_at(statement.dialect, statement.template.value, at)
    if not isinstance(found, GroupReference):
        return
    group = group_of(statement, found.name)
    if group is not None:
        yield statement.source.at(*group.extent)
    elif found.name == "0":
        yield statement.source.span


def _head(statement: RewriteStatement) -> Span:
    """The name of a rewrite; its source where it has none."""
    return statement.name.span if statement.name else statement.source.span


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


@dataclass(frozen=True, slots=True)
class Lens:
    """A line above a span; `test` is the test that it leads to: the first that fails, else the first."""

    title: str
    span: Span
    test: Span | None = None


def lenses(analysis: Analysis, name: str) -> Iterator[Lens]:
    """The lenses of a file; none while a mistake leaves something out of the rules."""
    document = analysis.document(name)
    if document is None or not analysis.subject.whole:
        return
    for block in document.blocks:
        yield from _block_lenses(analysis, block)


def _block_lenses(analysis: Analysis, block: TargetBlock) -> Iterator[Lens]:
    target = analysis.target(block)
    if target is None:
        return
    yield _lens(target.outcomes, block.name.span)
    for statement in block.statements:
        rewrite = analysis.rewrite(statement) if isinstance(statement, RewriteStatement) else None
        if rewrite is not None:
            yield _lens([each for each in target.outcomes if each.rewrite is rewrite], statement.span)


def _lens(outcomes: Sequence[TestOutcome], span: Span) -> Lens:
    first = min(outcomes, key=lambda each: each.passed, default=None)
    return Lens(verdict_on(outcomes), span, first.test.statement.span if first else None)


def verdict_on(outcomes: Sequence[TestOutcome]) -> str:
    """What some tests come to, in a few words."""
    if not outcomes:
        return "no tests"
    failed = sum(not each.passed for each in outcomes)
    if failed:
        return f"{failed} of {counted(len(outcomes), 'test')} {'fails' if failed == 1 else 'fail'}"
    return f"{counted(len(outcomes), 'test')} {'passes' if len(outcomes) == 1 else 'pass'}"
