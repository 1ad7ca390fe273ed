"""Where something is defined: a group in the source, the rewrite that takes a test's key, the blocks of a target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tornado_proxy.lang.source import Span
from tornado_proxy.lang.tree import RewriteStatement
from tornado_proxy.tools.lsp.analysis import Analysis
from tornado_proxy.tools.lsp.groups import group_of
from tornado_proxy.tools.lsp.references import GroupReference, reference_at
from tornado_proxy.tools.lsp.spots import RewriteSpot, SourceSpot, TargetSpot, TemplateSpot, TestSpot, spot_at


def definitions(analysis: Analysis, name: str, offset: int) -> Iterator[Span]:
    """The places that define what stands at a place of a file."""
    document = analysis.document(name)
    spot = spot_at(document, offset) if document else None
    match spot:
        case TemplateSpot(_, statement, at):
            yield from _group(statement, at)
        case TestSpot(_, statement):
            outcome = analysis.outcome(statement)
            if outcome and outcome.rewrite:
                yield _head(outcome.rewrite.statement)
        case TargetSpot(block):
            target = analysis.target(block)
            yield from (each.name.span for each in (target.blocks if target else ()))
        case RewriteSpot(_, statement):
            yield _head(statement)
        case SourceSpot() | None:
            pass
        case _:
            assert_never(spot)


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
