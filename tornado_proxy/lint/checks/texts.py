"""Text that has no meaning where it is written: percent-encoding, queries, and templates without their dialect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from tornado_proxy.lint.check import Category, LintFinding, check, offer, reworded
from tornado_proxy.lint.subject import Subject, TargetRules
from tornado_proxy.rules.diagnostic import Edit, Severity, Span
from tornado_proxy.rules.model import Rewrite
from tornado_proxy.rules.tree import Dialect, Literal

_ENCODED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_QUERY_IN_SOURCE = re.compile(r"(?:\\\?|\[\?\])[\w.-]+=")
_QUERY_IN_TEXT = re.compile(r"\?[\w.-]+=")
_HOLE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_GO = re.compile(r"\{\{-?\s*(?:\.|\$|end\b|else\b|(?:if|with|range|printf|template|define)\b)|\{\{[^}]*\s\.[A-Z]")

_Query = tuple[Literal, re.Match[str]]


@check(Category.MISTAKES, Severity.WARNING)
def percent_encoding(subject: Subject) -> Iterator[LintFinding]:
    """Percent-encoding in a rule: keys are decoded before the rules see them."""
    for target in subject.targets:
        for literal, is_source in _literals(target):
            for escape in _ENCODED.finditer(literal.value) if "%" in literal.value else ():
                decoded = unquote(escape[0])
                readable = decoded.isprintable() and "\N{REPLACEMENT CHARACTER}" not in decoded
                meant = re.escape(decoded) if is_source and not decoded.isspace() else decoded
                fixes = offer("decode it", reworded(literal, *escape.span(), meant)) if readable else ()
                written = "a space" if decoded == " " else f"`{meant}`"
                advice = f"write {written}" if readable else "remove it: no key contains such a character"
                message = f"`{escape[0]}` is literal text here: keys are already decoded"
                yield LintFinding(message, literal.at(*escape.span()), advice, fixes=fixes)


def _literals(target: TargetRules) -> Iterator[tuple[Literal, bool]]:
    """Yields strings, each with whether it is a source."""
    for rewrite in target.rewrites:
        yield rewrite.statement.source, True
        if rewrite.dialect is Dialect.PLAIN:
            yield rewrite.statement.template, False
    for test in target.rule_set.tests:
        yield test.statement.key, False
        if isinstance(test.statement.expected, Literal):
            yield test.statement.expected, False


@check(Category.MISTAKES, Severity.WARNING)
def query_in_rule(subject: Subject) -> Iterator[LintFinding]:
    """A query in a rule: keys have none."""
    for target in subject.targets:
        keys = (test.statement.key for test in target.rule_set.tests)
        in_tests = ((key, query) for key in keys for query in _QUERY_IN_TEXT.finditer(key.value))
        for literal, query in [*_queries_in_rewrites(target)] or in_tests:
            message = f"`{query[0]}` looks like a query, but keys have none"
            advice = "write the path alone; a `jinja` or `go` template can read the query"
            yield LintFinding(message, literal.at(*query.span()), advice)


def _queries_in_rewrites(target: TargetRules) -> Iterator[_Query]:
    for rewrite in target.rewrites:
        source, template = rewrite.statement.source, rewrite.statement.template
        yield from ((source, query) for query in _QUERY_IN_SOURCE.finditer(source.value))
        if rewrite.dialect is Dialect.PLAIN:
            yield from ((template, query) for query in _QUERY_IN_TEXT.finditer(template.value))


@check(Category.MISTAKES, Severity.WARNING)
def missing_dialect(subject: Subject) -> Iterator[LintFinding]:
    """A plain template that looks like one of another dialect."""
    for rewrite, _, _ in subject.rewrites:
        hole = _HOLE.search(rewrite.template.text) if rewrite.dialect is Dialect.PLAIN else None
        if hole:
            yield _undeclared(rewrite, hole)


def _undeclared(rewrite: Rewrite, hole: re.Match[str]) -> LintFinding:
    literal = rewrite.statement.template
    meant, group = ("go", ".Groups.name") if _GO.search(rewrite.template.text) else ("jinja", "groups.name")
    advice = f"write `{meant}` before the template"
    if rewrite.template.group_references:
        return LintFinding(_plain(hole), literal.at(*hole.span()), f"{advice}, and `{group}` for a group")
    here = Span(literal.span.source, literal.span.start, literal.span.start)
    fixes = offer(f"write `{meant}`", (Edit(here, f"{meant} "),))
    return LintFinding(_plain(hole), literal.at(*hole.span()), advice, fixes=fixes)


def _plain(hole: re.Match[str]) -> str:
    return f"`{hole[0]}` is plain text here, and becomes part of the key"
