"""What a check is, its findings, the edits that fix them, and what is known of a rule without running it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from importlib.resources import files

import msgspec

from gotemplate.regexp import syntax
from tornado_proxy.lint.limits import LONGEST_QUOTED
from tornado_proxy.lint.subject import Subject
from tornado_proxy.rules.diagnostic import (
    Diagnostic,
    Edit,
    Fix,
    Note,
    Safety,
    Severity,
    Span,
    shortened,
)
from tornado_proxy.rules.model import (
    AddressList,
    Rewrite,
    Rule,
)
from tornado_proxy.rules.tree import Comment, Literal, Statement
from tornado_proxy.templates.template import PlainTemplate, trimmed

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


def starts_anchored(tree: syntax.Node) -> bool:
    """Returns whether every match begins where the key begins."""
    return _anchored(tree, syntax.STARTS, last=False)


def ends_anchored(tree: syntax.Node) -> bool:
    """Returns whether every match ends where the key ends."""
    return _anchored(tree, syntax.ENDS, last=True)


def _anchored(tree: syntax.Node, kinds: frozenset[syntax.AssertionKind], *, last: bool) -> bool:
    return any(
        (isinstance(node, syntax.Assertion) and node.kind in kinds)
        or (isinstance(node, syntax.Alternation) and all(_anchored(each, kinds, last=last) for each in node.branches))
        or (isinstance(node, syntax.Repeat) and node.least > 0 and _anchored(node.body, kinds, last=last))
        for node in _edge(tree, last=last)
    )


def _edge(tree: syntax.Node, *, last: bool) -> list[syntax.Node]:
    """Returns the first parts, within groups, or the last in reverse order, up to the one that reads a character."""
    edge: list[syntax.Node] = []
    nodes = [node for node, _ in syntax.atoms(tree)]
    for node in reversed(nodes) if last else nodes:
        edge.append(node)
        if not isinstance(node, _READING_NOTHING):
            break
    return edge


_READING_NOTHING = syntax.Assertion | syntax.FlagChange | syntax.Sequence  # a sequence that is not opened is empty


def edge_part(tree: syntax.Node, *, last: bool) -> syntax.Node | None:
    """Returns the part, within groups, that reads a source's first or last character; None if no part does."""
    part = _edge(tree, last=last)[-1]
    return None if isinstance(part, _READING_NOTHING) else part


def certain(node: syntax.Node) -> Iterator[syntax.Node]:
    """Yields the parts that take part in every match."""
    yield node
    if isinstance(node, syntax.Group) or (isinstance(node, syntax.Repeat) and node.least > 0):
        yield from certain(node.body)
    elif isinstance(node, syntax.Sequence):
        for part in node.pieces:
            yield from certain(part)


def open_start(tree: syntax.Node) -> bool:
    """Returns whether a source matches at any depth, probably by mistake."""
    first = edge_part(tree, last=False)
    of_a_name = isinstance(first, syntax.Text) and first.characters.startswith(".") and ends_anchored(tree)
    return not (starts_anchored(tree) or takes_anything(first) or of_a_name)


def open_end(tree: syntax.Node) -> bool:
    """Returns whether a source matches keys that continue after it, probably by mistake."""
    return not ends_anchored(tree) and _goes_on(edge_part(tree, last=True))


def _goes_on(last: syntax.Node | None) -> bool:
    if isinstance(last, syntax.Alternation):
        return any(_goes_on(edge_part(branch, last=True)) for branch in last.branches)
    below = isinstance(last, syntax.Text) and last.characters.endswith("/")
    return not (last is None or below or takes_anything(last))


def takes_anything(node: syntax.Node | None) -> bool:
    """Returns whether a part is `.*` or the like, which may match any rest of a key."""
    return isinstance(node, syntax.Repeat) and node.most is None and isinstance(bare(node.body), syntax.AnyCharacter)


def bare(node: syntax.Node) -> syntax.Node:
    """Returns a part without the parentheses around it."""
    first, *others = (each for each, _ in syntax.atoms(node))
    return node if others else first


_ADDRESS = re.compile(r"(?i)[a-z][a-z0-9+.-]*://")
_OPENING = re.compile(r"\{\{|\{%|\{#")
_CLOSING = re.compile(r".*(?:\}\}|%\}|#\})", re.DOTALL)


def head(rewrite: Rewrite) -> str:
    """Returns the text that every result begins with; empty if a hole comes first."""
    template = rewrite.template
    if isinstance(template, PlainTemplate):
        return template.opening
    return _OPENING.split(trimmed(template.text), maxsplit=1)[0]


def tail(rewrite: Rewrite) -> str:
    """Returns the text that every result ends with; empty if a hole comes last."""
    template = rewrite.template
    if isinstance(template, PlainTemplate):
        return template.holes[-1][1] if template.holes else template.opening
    return _CLOSING.sub("", trimmed(template.text), count=1)


def constant(rewrite: Rewrite) -> str | None:
    """Returns the result if it is always the same; None if it has holes."""
    template = rewrite.template
    if isinstance(template, PlainTemplate):
        return None if template.holes else template.opening
    return None if _OPENING.search(template.text) else trimmed(template.text)


def is_address(text: str) -> bool:
    """Returns whether a text begins like the address of a page, and not like a key."""
    return _ADDRESS.match(text) is not None
