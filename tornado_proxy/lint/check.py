"""What a check is, its findings, and the edits that fix them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from importlib.resources import files

import msgspec

from tornado_proxy.lint.limits import LONGEST_QUOTED
from tornado_proxy.lint.subject import Subject
from tornado_proxy.rules.diagnostic import Diagnostic, Edit, Fix, Note, Safety, Severity, Span, shortened
from tornado_proxy.rules.model import AddressList, Rule
from tornado_proxy.rules.tree import Comment, Literal, Statement

_MANUAL = files("tornado_proxy.lint") / "manual"


class Category(Enum):
    """The common property of the findings of some checks; the name of a category selects all its checks."""

    MISTAKES = "mistakes"  # certainly a mistake
    DOUBTS = "doubts"  # possibly meant, and often a mistake
    SECURITY = "security"  # gives clients more, or less, than the author expects
    TESTS = "tests"  # failing or missing tests of the rules
    UPKEEP = "upkeep"  # no longer of use


class LintFinding(msgspec.Struct, frozen=True):
    """A finding of a check: a fact about a place, and advice; `severity` is the check's unless it is given."""

    message: str
    span: Span | None
    help: str
    notes: tuple[Note, ...] = ()
    fixes: tuple[Fix, ...] = ()
    severity: Severity | None = None


class Check(msgspec.Struct, frozen=True):
    """A kind of problem that the linter reports; `manual/NAME.md` explains it.

    `find` yields the findings, `summary` is the first sentence of the manual page. A check that needs a configuration
    finds nothing without one, and its allowances are then not reported as unused.
    """

    name: str
    category: Category
    severity: Severity
    summary: str
    find: Callable[[Subject], Iterator[LintFinding]]
    needs_configuration: bool = False

    @property
    def manual(self) -> str:
        """The manual page, in Markdown."""
        page = (_MANUAL / f"{self.name}.md").read_text(encoding="utf-8")
        return f"{self.summary}\n\n{page.rstrip()}"

    def diagnostic(self, finding: LintFinding) -> Diagnostic:
        """Returns a finding as a diagnostic with the name of this check, and its severity if it has none of its own."""
        message, span, advice, severity = finding.message, finding.span, finding.help, finding.severity or self.severity
        return Diagnostic(self.name, message, span, advice, finding.notes, severity, finding.fixes)


def check(
    category: Category, severity: Severity, *, needs_configuration: bool = False
) -> Callable[[Callable[[Subject], Iterator[LintFinding]]], Check]:
    """Returns a decorator that makes a check of the function that finds its problems.

    `unescaped_dot` becomes `unescaped-dot`; the name should read well after "allow". The docstring is the summary.
    """

    def made(find: Callable[[Subject], Iterator[LintFinding]]) -> Check:
        return Check(find.__name__.replace("_", "-"), category, severity, find.__doc__ or "", find, needs_configuration)

    return made


def offer(title: str, edits: tuple[Edit, ...], safety: Safety = Safety.UNSAFE) -> tuple[Fix, ...]:
    """Returns a fix for a finding; empty if there are no edits, because they cannot be written."""
    return (Fix(title, edits, safety),) if edits else ()


def named(rule: Rule | AddressList) -> str:
    """Returns the name or the number of a rewrite in backticks, or the name of a list."""
    return f"`{rule.label}`"


def shown(key: str) -> str:
    """Returns a key in backticks, cut to a readable length."""
    return f"`{shortened(key, LONGEST_QUOTED)}`"


def listed(words: Iterable[str]) -> str:
    """Returns words as a sentence lists them: `a`, `b` and `c`."""
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last


def reworded(literal: Literal, start: int, end: int, text: str) -> tuple[Edit, ...]:
    """Returns the edit that replaces a part of a string's value; empty if the string cannot contain the text."""
    fits = not any(character in text for character in "`\r") if literal.raw else text.isprintable()
    written = text if literal.raw else text.replace("\\", "\\\\").replace('"', '\\"')
    return (Edit(literal.at(start, end), written),) if literal.offsets and fits else ()


def inserted(literal: Literal, at: int, text: str) -> tuple[Edit, ...]:
    """Returns the edit that inserts a text before a code point of a string's value; empty if that is impossible."""
    return reworded(literal, at, at, text)


def removed(statement: Statement) -> tuple[Edit, ...]:
    """Returns the edit that removes a statement with its comments, and with its lines if nothing else is on them."""
    return (Edit(_with_comments(statement).whole_lines(), ""),) if statement.span.text else ()


def moved(statement: Statement, above: Statement) -> tuple[Edit, ...]:
    """Returns the edits that move a statement with its comments above another; none if one shares a line."""
    lines, there = _with_comments(statement).whole_lines(), _with_comments(above).whole_lines()
    if lines.source is not there.source or not (lines.text.endswith("\n") and there.text.endswith("\n")):
        return ()
    return Edit(Span(there.source, there.start, there.start), lines.text), Edit(lines, "")


def _with_comments(statement: Statement) -> Span:
    spans = [statement.span, *(comment.span for comment in comments_of(statement))]
    start, end = min(span.start for span in spans), max(span.end for span in spans)
    return Span(statement.span.source, start, end)


def comments_of(statement: Statement) -> tuple[Comment, ...]:
    """Returns the comments above a statement, and the one at its end."""
    return (*statement.comments, *((statement.trailing,) if statement.trailing else ()))
