"""What stands at an offset of a rule file."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from tornado_proxy.lang.source import Span
from tornado_proxy.lang.tree import Document, Literal, RewriteStatement, Statement, TargetBlock, TestStatement


@dataclass(frozen=True, slots=True)
class TargetSpot:
    """The first line of a block."""

    block: TargetBlock


@dataclass(frozen=True, slots=True)
class RewriteSpot:
    """A rewrite, outside its strings."""

    block: TargetBlock
    statement: RewriteStatement


@dataclass(frozen=True, slots=True)
class SourceSpot:
    """A rewrite's source, before a code point of its value."""

    block: TargetBlock
    statement: RewriteStatement
    at: int


@dataclass(frozen=True, slots=True)
class TemplateSpot:
    """A rewrite's template, before a code point of its value."""

    block: TargetBlock
    statement: RewriteStatement
    at: int


@dataclass(frozen=True, slots=True)
class TestSpot:
    """A test."""

    __test__ = False  # the name is the language's, not pytest's

    block: TargetBlock
    statement: TestStatement


Spot = TargetSpot | RewriteSpot | SourceSpot | TemplateSpot | TestSpot


def spot_at(document: Document, offset: int) -> Spot | None:
    """What stands at an offset; None between blocks and statements."""
    for block in document.blocks:
        if _covers(block.span, offset):
            return _spot_in(block, offset)
    return None


def _spot_in(block: TargetBlock, offset: int) -> Spot | None:
    if offset <= block.name.span.end:
        return TargetSpot(block)
    for statement in block.statements:
        if _covers(statement.span, offset):
            return _spot_on(block, statement, offset)
    return None


def _spot_on(block: TargetBlock, statement: Statement, offset: int) -> Spot:
    if isinstance(statement, TestStatement):
        return TestSpot(block, statement)
    if _covers(statement.source.span, offset):
        return SourceSpot(block, statement, _index(statement.source, offset))
    if _covers(statement.template.span, offset):
        return TemplateSpot(block, statement, _index(statement.template, offset))
    return RewriteSpot(block, statement)


def _covers(span: Span, offset: int) -> bool:
    return span.start <= offset <= span.end


def _index(literal: Literal, offset: int) -> int:
    """The index in a string's value of the code point that is written at an offset of the file."""
    return max(0, min(bisect_right(literal.offsets, offset) - 1, len(literal.value)))
