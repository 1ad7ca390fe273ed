"""Text that has no meaning where it is written: percent-encoding, queries, and templates without their dialect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from tornado_proxy.lang.diagnostic import Edit, Severity, Span
from tornado_proxy.lang.tree import Dialect, Literal
from tornado_proxy.lint.check import Category, Check, LintFinding, offer, reworded
from tornado_proxy.lint.subject import Subject, TargetRules
from tornado_proxy.rules.model import Rewrite

_ENCODED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_QUERY_IN_SOURCE = re.compile(r"(?:\\\?|\[\?\])[\w.-]+=")
_QUERY_IN_TEXT = re.compile(r"\?[\w.-]+=")
_HOLE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_GO = re.compile(r"\{\{-?\s*(?:\.|\$|end\b|else\b|(?:if|with|range|printf|template|define)\b)|\{\{[^}]*\s\.[A-Z]")

_Query = tuple[Literal, re.Match[str]]


class PercentEncoding(Check):
    """Percent-encoding in a rule: keys are decoded before the rules see them.

    The path `/my%20files/` is the key `/my files/` in sources, templates and tests. A source with `%20` matches
    only what a client has encoded twice, and a template with `%20` makes a key with a percent sign.

    ### Avoid

    ```rules
    target site {
        rewrite `^/my%20files/(?P<rest>.*)$` -> "/files/$rest"

        test "/my%20files/a.txt" -> "/files/a.txt"  # allow: percent-encoding (the same, again)
    }
    ```

    ### Prefer

    ```rules
    target site {
        rewrite `^/my files/(?P<rest>.*)$` -> "/files/$rest"

        test "/my files/a.txt" -> "/files/a.txt"
    }
    ```

    ### Fix

    Decodes it. Unsafe: keys are rewritten differently.
    """

    category = Category.MISTAKES
    severity = Severity.WARNING

    def find(self, subject: Subject) -> Iterator[LintFinding]:
        """Yields what is percent-encoded in sources, plain templates and tests."""
        for target in subject.targets:
            for literal, is_source in _literals(target):
                for found in _ENCODED.finditer(literal.value) if "%" in literal.value else ():
                    decoded = unquote(found[0])
                    readable = decoded.isprintable() and "\N{REPLACEMENT CHARACTER}" not in decoded
                    meant = re.escape(decoded) if is_source and not decoded.isspace() else decoded
                    fixes = offer("decode it", reworded(literal, *found.span(), meant)) if readable else ()
                    written = "a space" if decoded == " " else f"`{meant}`"
                    advice = f"write {written}" if readable else "remove it: no key contains such a character"
                    message = f"`{found[0]}` is literal text here: keys are already decoded"
                    yield LintFinding(message, literal.at(*found.span()), advice, fixes=fixes)


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


class QueryInRule(Check):
    r"""A query in a rule: keys have none.

    A source is matched with the key alone, so `\?page=1` matches only a question mark that the client has
    percent-encoded, and a template with `?page=1` makes a key with that name. `jinja` and `go` templates can read
    the query.

    ### Avoid

    ```rules
    target site {
        rewrite `^/show\?page=(?P<page>\w+)$` -> "/pages/$page.html"

        test "/show?page=2" -> "/pages/2.html"
    }
    ```

    ### Prefer

    ```rules
    target site {
        rewrite `^/show$` -> jinja `/pages/{{ request.query.page | replace("/", "") }}.html`

        test "/show" -> error
    }
    ```
    """

    category = Category.MISTAKES
    severity = Severity.WARNING

    def find(self, subject: Subject) -> Iterator[LintFinding]:
        """Yields a question mark, a name and an equals sign."""
        for target in subject.targets:
            for literal, found in [*_queries_in_rewrites(target)] or _queries_in_tests(target):
                message = f"`{found[0]}` looks like a query, but keys have none"
                advice = "write the path alone; a `jinja` or `go` template can read the query"
                yield LintFinding(message, literal.at(*found.span()), advice)


def _queries_in_rewrites(target: TargetRules) -> Iterator[_Query]:
    for rewrite in target.rewrites:
        source, template = rewrite.statement.source, rewrite.statement.template
        yield from ((source, found) for found in _QUERY_IN_SOURCE.finditer(source.value))
        if rewrite.dialect is Dialect.PLAIN:
            yield from ((template, found) for found in _QUERY_IN_TEXT.finditer(template.value))


def _queries_in_tests(target: TargetRules) -> Iterator[_Query]:
    keys = (test.statement.key for test in target.rule_set.tests)
    return ((key, found) for key in keys for found in _QUERY_IN_TEXT.finditer(key.value))


class MissingDialect(Check):
    """A plain template that looks like one of another dialect.

    Without `jinja` or `go` before it a template is plain: only `$` has a meaning, and `{{ user.username }}` becomes
    part of the key.

    ### Avoid

    ```rules
    target team {
        rewrite `^/home/(?P<rest>.*)$` -> "/users/{{ user.username }}/{{ groups.rest }}"

        test "/home/a.txt" as "ann" -> "/users/{{ user.username }}/{{ groups.rest }}"
    }
    ```

    ### Prefer

    ```rules
    target team {
        rewrite `^/home/(?P<rest>.*)$` -> jinja "/users/{{ user.username }}/{{ groups.rest }}"

        test "/home/a.txt" as "ann" -> "/users/ann/a.txt"
    }
    ```

    ### Fix

    Writes the dialect, unless a `$` would lose its meaning. Unsafe: keys are rewritten differently.
    """

    category = Category.MISTAKES
    severity = Severity.WARNING

    def find(self, subject: Subject) -> Iterator[LintFinding]:
        """Yields plain templates with holes of other dialects."""
        for target in subject.targets:
            for rewrite in target.rewrites:
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
