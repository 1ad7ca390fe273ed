"""Text that has no meaning where it is written, and names that refer to nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from urllib.parse import unquote

from tornado_proxy.lint.check import Category, LintFinding, check, offer, reworded
from tornado_proxy.lint.subject import UNALLOWABLE, Allowance, Subject, TargetRules, without
from tornado_proxy.rules.diagnostic import Edit, Fix, Safety, Severity, Span, did_you_mean
from tornado_proxy.rules.loading import unknown_targets
from tornado_proxy.rules.tree import Dialect, Literal, RuleKind

_ENCODED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_QUERY_IN_SOURCE = re.compile(r"(?:\\\?|\[\?\])[\w.-]+=")
_QUERY_IN_TEXT = re.compile(r"\?[\w.-]+=")
_HOLE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_GO = re.compile(r"\{\{-?\s*(?:\.|\$|end\b|else\b|(?:if|with|range|printf|template|define)\b)|\{\{[^}]*\s\.[A-Z]")


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
        if rewrite.dialect is Dialect.PLAIN and rewrite.kind is RuleKind.REWRITE:
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
        in_rewrites: list[tuple[Literal, re.Match[str]]] = []
        for rewrite in target.rewrites:
            source, template = rewrite.statement.source, rewrite.statement.template
            in_rewrites += ((source, query) for query in _QUERY_IN_SOURCE.finditer(source.value))
            if rewrite.dialect is Dialect.PLAIN and rewrite.kind is RuleKind.REWRITE:
                in_rewrites += ((template, query) for query in _QUERY_IN_TEXT.finditer(template.value))
        for literal, query in in_rewrites or in_tests:
            message = f"`{query[0]}` looks like a query, but keys have none"
            advice = "write the path alone; a `jinja` or `go` template can read the query"
            yield LintFinding(message, literal.at(*query.span()), advice)


@check(Category.MISTAKES, Severity.WARNING)
def missing_dialect(subject: Subject) -> Iterator[LintFinding]:
    """A plain template that looks like one of another dialect."""
    for rewrite, _, _ in subject.rewrites:
        hole = _HOLE.search(rewrite.template.text) if rewrite.dialect is Dialect.PLAIN else None
        if hole is None:
            continue
        literal = rewrite.statement.template
        meant, group = ("go", ".Groups.name") if _GO.search(rewrite.template.text) else ("jinja", "groups.name")
        advice, fixes = f"write `{meant}` before the template", tuple[Fix, ...]()
        if rewrite.template.group_references:
            advice += f", and `{group}` for a group"
        else:
            here = Span(literal.span.source, literal.span.start, literal.span.start)
            fixes = offer(f"write `{meant}`", (Edit(here, f"{meant} "),))
        message = f"`{hole[0]}` is plain text here, and becomes part of the result"
        yield LintFinding(message, literal.at(*hole.span()), advice, fixes=fixes)


@check(Category.MISTAKES, Severity.ERROR, needs_configuration=True)
def unknown_target(subject: Subject) -> Iterator[LintFinding]:
    """A block of a target that the configuration does not name."""
    if subject.settings is not None:
        for each in unknown_targets(subject.documents, [target.name for target in subject.settings.targets]):
            yield LintFinding(each.message, each.span, each.help or "", fixes=each.fixes)


@check(Category.UPKEEP, Severity.WARNING)
def unused_allowance(subject: Subject) -> Iterator[LintFinding]:
    """An allowance that silences nothing, or that names no check."""
    check_names = subject.allowances.check_names
    for each in subject.allowances.unknown():
        meant = did_you_mean(each.name, check_names)
        advice = f"did you mean `{meant}`?" if meant else "`tornado-proxy lint --list` shows all checks"
        fixes = offer(f"write `{meant}`", (Edit(each.span, meant),)) if meant else ()
        yield LintFinding(f"unknown check `{each.name}`", each.span, advice, fixes=fixes)
    for comment in subject.allowances.empty:
        advice = "name the checks that are allowed: `# allow: a-check (reason)`"
        yield LintFinding("this allowance names no check", comment.span, advice)
    if subject.whole:
        for comment, allowances in groupby(subject.allowances.unused(), key=lambda each: each.comment):
            unused = tuple(allowances)
            # The text is empty where the tree was not read from a file.
            edits = (without(comment, unused),) if comment.span.text else ()
            # Edits of single names would touch one another, so that one run could apply only one of them.
            title = "remove it" if len(unused) == 1 else "remove all names that are not needed here"
            fixes = offer(title, edits, Safety.SAFE)
            yield from (LintFinding(_why_unused(each), each.span, "remove it", fixes=fixes) for each in unused)


def _why_unused(allowance: Allowance) -> str:
    if allowance.name == UNALLOWABLE:
        return f"`{allowance.name}` cannot be allowed"
    if allowance.covers is None:
        return f"this allows `{allowance.name}` for nothing: no statement or block follows"
    return f"this allows `{allowance.name}`, which finds nothing here"
