"""What a check looks at, what it is, its findings, and the comments that allow them.

`# allow: a-check, another (reason)` is for the statement or block below the comment or on its line,
`# allow-file: a-check` for the whole file. A reason may also follow a dash. Mistakes that the parser or the compiler
finds cannot be allowed, nor can findings about allowances.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from importlib.resources import files

import msgspec

from gotemplate.regexp.automaton import Budget, Language, language
from gotemplate.regexp.proofs import Example, Reach, reachability
from gotemplate.regexp.syntax import Node
from tornado_proxy.config.model import Settings, Target
from tornado_proxy.lint.limits import LONGEST_QUOTED, REACH_STEPS
from tornado_proxy.routing.mounts import target_data
from tornado_proxy.rules.diagnostic import Diagnostic, Edit, Fix, Note, Safety, Severity, Span, errors, shortened
from tornado_proxy.rules.expectations import TestOutcome, evaluate
from tornado_proxy.rules.model import TRIED_PATH, Key, LoadedRules, Rewrite, RewriteError, RuleSet
from tornado_proxy.rules.tree import Comment, Document, Literal, RewriteStatement, Statement, TargetBlock
from tornado_proxy.semantics.request import Request, RequestPath, User
from tornado_proxy.templates.template import TargetData, TargetKeyRewriteData

UNALLOWABLE = "unused-allowance"  # the check whose findings cannot be allowed

# The reason follows the names, in parentheses or after a dash that is not part of a name.
_ALLOWANCE = re.compile(r"#\s*allow(?P<file>-file)?\s*:(?P<names>.*?)(?:\(.*|(?<=\s)-+(?:\s.*)?|[\u2013\u2014].*)?$")
_NAME = re.compile(r"[^\s,]+")


class Allowance(msgspec.Struct, frozen=True):
    """A name in a comment; `covers` is the span in which it applies, None if no statement or block follows."""

    name: str
    span: Span
    comment: Comment
    covers: Span | None

    def allows(self, diagnostic: Diagnostic) -> bool:
        """Returns whether it silences a finding."""
        return (
            self.name == diagnostic.code != UNALLOWABLE
            and self.covers is not None
            and diagnostic.span is not None
            and diagnostic.span.source is self.covers.source
            and self.covers.start <= diagnostic.span.start <= self.covers.end
        )


class Allowances:
    """The allowances in files, and comments that name no check; it knows which have silenced a finding."""

    def __init__(
        self,
        documents: Iterable[Document] = (),
        judged: frozenset[str] = frozenset(),
        check_names: tuple[str, ...] = (),
    ) -> None:
        self.all: list[Allowance] = []
        self.empty: list[Comment] = []
        self.check_names = check_names
        self._judged = judged
        self._by_name: defaultdict[str, list[Allowance]] = defaultdict(list)
        self._used: set[int] = set()  # by identity
        for comment, covers in (each for document in documents for each in _comments(document)):
            if (match := _ALLOWANCE.match(comment.text)) is None:
                continue
            source = comment.span.source
            where = Span(source, 0, len(source.text)) if match["file"] else covers
            names = list(_NAME.finditer(comment.text, *match.span("names")))
            for name in names:
                allowance = Allowance(name[0], comment.span.part(*name.span()), comment, where)
                self.all.append(allowance)
                self._by_name[allowance.name].append(allowance)
            if not names:
                self.empty.append(comment)

    def silence(self, diagnostic: Diagnostic) -> bool:
        """Returns whether a finding is allowed, and marks the allowances that allow it as used."""
        allowing = [each for each in self._by_name[diagnostic.code] if each.allows(diagnostic)]
        self._used.update(map(id, allowing))
        return bool(allowing)

    def unused(self) -> Iterator[Allowance]:
        """Returns the allowances that silenced nothing although their check ran."""
        return (each for each in self.all if each.name in self._judged and id(each) not in self._used)

    def unknown(self) -> Iterator[Allowance]:
        """Returns the allowances that name no check."""
        return (each for each in self.all if each.name not in self.check_names)


def without(comment: Comment, allowances: Iterable[Allowance]) -> Edit:
    """Returns the edit that removes names from their comment, or the comment if it has no other name."""
    removed = {each.span.start - comment.span.start for each in allowances}
    match = _ALLOWANCE.match(comment.text)
    names = list(_NAME.finditer(comment.text, *match.span("names"))) if match else []
    kept, end = "", 0
    for name in names:
        if name.start() not in removed:
            kept += comment.text[end : name.end()] if kept else name[0]
        end = name.end()
    if kept:
        return Edit(comment.span.part(names[0].start(), end), kept)
    lines = comment.span.whole_lines()
    if lines != comment.span:
        return Edit(lines, "")
    before = comment.span.source.text[: comment.span.start]
    return Edit(Span(comment.span.source, len(before.rstrip(" \t")), comment.span.end), "")


def _comments(document: Document) -> Iterator[tuple[Comment, Span | None]]:
    """Yields every comment with the span to which it applies."""
    for block in document.blocks:
        around = (*block.comments, block.opening, block.trailing)
        yield from ((comment, block.span) for comment in around if comment)
        for statement in block.statements:
            beside = (*statement.comments, statement.trailing)
            yield from ((comment, statement.span) for comment in beside if comment)
        yield from ((comment, None) for comment in block.closing)
    yield from ((comment, None) for comment in document.closing)


_CONFLICT = frozenset(mark * 7 for mark in "<|=>")


class TargetRules(msgspec.Struct, frozen=True, dict=True):  # for the cached properties
    """The rules of one target; those with the marks of a merge conflict, and so of both sides, are `disputed`."""

    blocks: tuple[TargetBlock, ...]
    rule_set: RuleSet
    configured: Target | None = None
    disputed: bool = False

    @property
    def name(self) -> str:
        """The name of the target."""
        return self.rule_set.target

    @property
    def rewrites(self) -> tuple[Rewrite, ...]:
        """The rewrites without a mistake, in order."""
        return self.rule_set.rewrites

    @cached_property
    def languages(self) -> Sequence[Language]:
        """The set of keys that each source matches."""
        return [language(rewrite.pattern.text) for rewrite in self.rewrites]

    @cached_property
    def reaches(self) -> Sequence[Reach]:
        """The proof for each rewrite: a key that reaches it, the rewrites that cover it, or that no key matches."""
        return reachability(self.languages, self.taker, Budget(REACH_STEPS))

    @cached_property
    def outcomes(self) -> Sequence[TestOutcome]:
        """The outcome of each test."""
        return [evaluate(self.rule_set, test, self.data) for test in self.rule_set.tests]

    @cached_property
    def tested(self) -> Mapping[int, Sequence[TestOutcome]]:
        """The outcomes of tests, by the number of the rewrite that takes their key."""
        outcomes: dict[int, list[TestOutcome]] = {}
        for outcome in self.outcomes:
            if outcome.rewrite:
                outcomes.setdefault(outcome.rewrite.number, []).append(outcome)
        return outcomes

    @cached_property
    def data(self) -> TargetData:
        """The data of the target for templates."""
        if self.configured is None:
            return TargetData(name=self.name)
        return target_data(self.configured)

    @property
    def tries_paths(self) -> bool:
        """Whether the path of a directory is also tried without its slash."""
        return self.configured is not None and TRIED_PATH in self.configured.actions.get.try_files

    def taker(self, key: str) -> int | None:
        """Returns the index of the rewrite that takes a key."""
        match = self.rule_set.first_match.find(key)
        return None if match is None else match[0]

    def example(self, index: int) -> str | None:
        """Returns a key that reaches a rewrite; None if none was found."""
        reach = self.reaches[index]
        return reach.key if isinstance(reach, Example) else None

    def result(self, key: str, request: Request | None = None, user: User | None = None) -> Key | None:
        """Returns the rewritten key, by default without a user; None if that fails."""
        try:
            data = TargetKeyRewriteData(key, user, request or Request(path=RequestPath(key)), self.data)
            return self.rule_set.apply(data).key
        except RewriteError:
            return None


@dataclass(frozen=True, slots=True)
class Subject:
    """All that is linted together; `mistakes` were found before, `allowances` are those of comments in the files."""

    documents: tuple[Document, ...]
    targets: tuple[TargetRules, ...]
    mistakes: tuple[Diagnostic, ...] = ()
    settings: Settings | None = field(default=None, repr=False)
    allowances: Allowances = field(default_factory=Allowances, repr=False)

    @property
    def whole(self) -> bool:
        """Whether the rules are complete: nothing was left out because of a mistake."""
        return not errors(self.mistakes)

    @property
    def comparable(self) -> tuple[TargetRules, ...]:
        """The targets whose rewrites can be compared: a file that is being merged has the rewrites of both sides."""
        return tuple(target for target in self.targets if not target.disputed)

    @property
    def rewrites(self) -> Iterator[tuple[Rewrite, TargetRules, int]]:
        """The rewrites without a mistake, each with its target and its index there."""
        return ((each, target, index) for target in self.targets for index, each in enumerate(target.rewrites))

    @property
    def sources(self) -> Iterator[tuple[Rewrite, Node]]:
        """The rewrites whose sources have a tree, each with it."""
        trees = ((rewrite, target.languages[index].tree) for rewrite, target, index in self.rewrites)
        return ((rewrite, tree) for rewrite, tree in trees if tree is not None)

    @property
    def rewrite_count(self) -> int:
        """The number of rewrites, with or without a mistake."""
        blocks = (block for document in self.documents for block in document.blocks)
        return sum(isinstance(each, RewriteStatement) for block in blocks for each in block.statements)


def subject_of(loaded: LoadedRules, settings: Settings | None = None, mistakes: Sequence[Diagnostic] = ()) -> Subject:
    """Returns the subject of loaded rule files; the configuration has `settings` and `mistakes`."""
    configured = {each.name: each for each in settings.targets} if settings else {}
    blocks: dict[str, list[TargetBlock]] = {}
    for block in (block for document in loaded.documents for block in document.blocks):
        blocks.setdefault(block.name.value, []).append(block)
    disputed = {each.span.source.name for each in loaded.diagnostics if each.span and each.span.text in _CONFLICT}
    targets = []
    for name, rule_set in loaded.rule_sets.items():
        is_disputed = any(block.span.source.name in disputed for block in blocks[name])
        targets.append(TargetRules(tuple(blocks[name]), rule_set, configured.get(name), is_disputed))
    return Subject(loaded.documents, tuple(targets), (*mistakes, *loaded.diagnostics), settings)


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


def named(rewrite: Rewrite) -> str:
    """Returns the name or the number of a rewrite in backticks."""
    return f"`{rewrite.label}`"


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
