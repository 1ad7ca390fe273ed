"""Hover texts, definitions, the outline of a file, and the results of its tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from tornado_proxy.goregex.language import language
from tornado_proxy.goregex.syntax import Node
from tornado_proxy.lang.diagnostic import Span, counted
from tornado_proxy.lang.tree import Dialect, Document, RewriteStatement, TargetBlock
from tornado_proxy.lint.allowances import find_allowances
from tornado_proxy.lint.check import Check
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.shapes import ends_anchored, starts_anchored
from tornado_proxy.rules.model import Rewrite, RewriteError, TestOutcome
from tornado_proxy.tools.lsp.completion import BY_DIALECT
from tornado_proxy.tools.lsp.explanation import code, outline, paragraphs, phrase, prose
from tornado_proxy.tools.lsp.nodes import (
    GroupReference,
    RewriteNode,
    SourceNode,
    SyntaxNode,
    TargetNode,
    TemplateNode,
    TestNode,
    VariableReference,
    group_of,
    node_at,
    reference_at,
    tree_of,
)
from tornado_proxy.tools.lsp.workspace import Analysis

_CHECKS = {check.name: check for check in CHECKS}
_MOST_PARTS = 60  # of an expression that are shown


@dataclass(frozen=True, slots=True)
class Hover:
    """A text in Markdown, and what it is about."""

    text: str
    span: Span


def hover_at(analysis: Analysis, name: str, offset: int) -> Hover | None:
    """Returns what to show for a place of a file; None where there is nothing."""
    document = analysis.document(name)
    if document is None:
        return None
    allowed = _allowed_at(document, offset)
    if allowed is not None:
        return allowed
    node = node_at(document, offset)
    described = _describe(analysis, node) if node else None
    findings = paragraphs(_findings(analysis, name, offset))
    if described is None:
        return Hover(findings, Span(document.source, offset, offset)) if findings else None
    return Hover("\n\n---\n\n".join(filter(None, (described.text, findings))), described.span)


def _allowed_at(document: Document, offset: int) -> Hover | None:
    """Returns the manual page of a check that a comment names."""
    allowances = find_allowances([document], frozenset(), ())
    for each in allowances.all:
        if each.span.start <= offset <= each.span.end and each.name in _CHECKS:
            return Hover(page(_CHECKS[each.name]), each.span)
    return None


def page(check: Check) -> str:
    """Returns the manual page of a check, with its heading."""
    return f"## {check.name}\n\n{check.category.value}, {check.severity.value}\n\n{check.manual}"


def _findings(analysis: Analysis, name: str, offset: int) -> Iterator[str]:
    """Yields the manual pages, without examples, of the checks with findings at a place."""
    found = (each for each in analysis.diagnostics_of(name) if each.span and _covers(each.span, offset))
    for check_name in dict.fromkeys(each.code for each in found if each.code in _CHECKS):
        manual = _CHECKS[check_name].manual
        yield f"**{check_name}**: {manual.partition('### Avoid')[0].strip()}"


def _covers(span: Span, offset: int) -> bool:
    return span.start <= offset <= span.end


def _describe(analysis: Analysis, node: SyntaxNode) -> Hover | None:
    match node:
        case SourceNode(_, statement, at):
            return _pattern(analysis.rewrite(statement), statement, at)
        case TemplateNode(_, statement, at):
            return _reference(statement, at)
        case TestNode(_, statement):
            outcome = analysis.outcome(statement)
            return Hover(_describe_outcome(outcome), statement.span) if outcome else None
        case RewriteNode(_, statement):
            rewrite = analysis.rewrite(statement)
            return Hover(_rewrite(analysis, node, rewrite), statement.span) if rewrite else None
        case TargetNode(block):
            target = analysis.target(block)
            count = len(target.rewrites) if target else 0
            text = f"target {code(block.name.value)}: {count} rewrite{'' if count == 1 else 's'}"
            tests = verdict_on(target.outcomes) if target and analysis.subject.whole else ""
            return Hover(f"{text}, {tests}" if tests else text, block.name.span)


def _pattern(rewrite: Rewrite | None, statement: RewriteStatement, at: int) -> Hover | None:
    tree, literal = tree_of(statement), statement.source
    if tree is None:
        return None
    lines = list(_lines(tree, literal.value, at))
    if len(lines) > _MOST_PARTS:
        lines = [*lines[:_MOST_PARTS], "- …"]
    return Hover(paragraphs((_reach(tree), "\n".join(lines), _example(rewrite))), literal.span)


def _lines(tree: Node, text: str, at: int) -> Iterator[str]:
    """Yields a line for each part of an expression, with the part under the pointer in bold."""
    parts = list(outline(tree))
    under = [part for part in parts if part.extent.start <= at < part.extent.end]
    for part in parts:
        written = text[part.extent.start : part.extent.end]
        meaning = "this text" if part.meaning == code(written) else part.meaning
        shown = f"{code(written)} {meaning}" if written else meaning
        yield f"{'  ' * part.depth}- " + (f"**{shown}**" if under and part is under[-1] else shown)


def _reach(tree: Node) -> str:
    match starts_anchored(tree), ends_anchored(tree):
        case True, True:
            return "Matches the whole key:"
        case True, False:
            return "Matches the beginning of the key:"
        case False, True:
            return "Matches the end of the key:"
        case _:
            return "Matches anywhere in the key:"


def _example(rewrite: Rewrite | None) -> str:
    key = language(rewrite.pattern.text).guess if rewrite else None
    if rewrite is None or key is None or rewrite.pattern.search(key) is None:
        return ""
    return f"For example {code(key)}"


def _reference(statement: RewriteStatement, at: int) -> Hover | None:
    literal, dialect = statement.template, statement.dialect
    found = reference_at(dialect, literal.value, at)
    match found:
        case GroupReference(name, start, end):
            text = _group(statement, name)
        case VariableReference(path, start, end):
            words = BY_DIALECT[dialect].get(path)
            text = f"{code(path if dialect is Dialect.JINJA else f'.{path}')}: {words}" if words else ""
        case None:
            return None
    return Hover(text, literal.at(start, end)) if text else None


def _group(statement: RewriteStatement, name: str) -> str:
    if name == "0":
        return "`0`: all that the source matches"
    group = group_of(statement, name)
    if group is None:
        return ""
    written = statement.source.value[group.extent.start : group.extent.end]
    return paragraphs((f"group {group.number} of the source, {code(written)}", f"It matches {phrase(group.body)}"))


def _describe_outcome(outcome: TestOutcome) -> str:
    mark = "✓" if outcome.passed else "✗"
    took = f"{code(outcome.rewrite.label)} takes the key" if outcome.rewrite else "No rewrite matches the key"
    if isinstance(outcome.got, RewriteError):
        return f"{mark} {took}: {prose(str(outcome.got))}"
    return f"{mark} {took}, it becomes {code(outcome.got.key)}" if outcome.rewrite else f"{mark} {took}"


def _rewrite(analysis: Analysis, node: RewriteNode, rewrite: Rewrite) -> str:
    name = f" {code(rewrite.name)}" if rewrite.name else ""
    text = f"rewrite {rewrite.number} of {code(node.block.name.value)}{name}"
    target = analysis.target(node.block)
    if target is None or not analysis.subject.whole:
        return text
    return f"{text}: {verdict_on([each for each in target.outcomes if each.rewrite is rewrite])}"


def definitions(analysis: Analysis, name: str, offset: int) -> Iterator[Span]:
    """Yields the places that define the node at a place of a file."""
    document = analysis.document(name)
    node = node_at(document, offset) if document else None
    match node:
        case TemplateNode(_, statement, at):
            yield from _group_places(statement, at)
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


def _group_places(statement: RewriteStatement, at: int) -> Iterator[Span]:
    found = reference_at(statement.dialect, statement.template.value, at)
    if not isinstance(found, GroupReference):
        return
    group = group_of(statement, found.name)
    if group is not None:
        yield statement.source.at(*group.extent)
    elif found.name == "0":
        yield statement.source.span


def _head(statement: RewriteStatement) -> Span:
    """Returns the place of a rewrite's name, or of its source if it has none."""
    return statement.name.span if statement.name else statement.source.span


_UNNAMED = "(no name)"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A target, or a rewrite below it; `name_span` is the place to go to."""

    name: str
    detail: str
    span: Span
    name_span: Span
    children: tuple[Symbol, ...] = ()


def symbols(document: Document) -> Iterator[Symbol]:
    """Yields the targets of a file."""
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
    """A line above a span; it leads to the first failing `test`, or else the first."""

    title: str
    span: Span
    test: Span | None = None


def lenses(analysis: Analysis, name: str) -> Iterator[Lens]:
    """Yields the lenses of a file; none while the rules have a mistake."""
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
    """Returns the result of some tests in a few words."""
    if not outcomes:
        return "no tests"
    failed = sum(not each.passed for each in outcomes)
    if failed:
        return f"{failed} of {counted(len(outcomes), 'test')} {'fails' if failed == 1 else 'fail'}"
    return f"{counted(len(outcomes), 'test')} {'passes' if len(outcomes) == 1 else 'pass'}"
