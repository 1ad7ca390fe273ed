"""What stands above each target and rewrite: how many tests it has, and what they come to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tornado_proxy.lang.source import Span
from tornado_proxy.lang.tree import RewriteStatement, TargetBlock
from tornado_proxy.lint.findings import counted
from tornado_proxy.rules.testing import TestOutcome
from tornado_proxy.tools.lsp.analysis import Analysis


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
