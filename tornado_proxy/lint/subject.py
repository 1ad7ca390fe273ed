"""What a check looks at: the rules of each target with what is proved of them, and the comments that allow findings.

`# allow: a-check, another (reason)` is for the statement or block below the comment or on its line,
`# allow-file: a-check` for the whole file. A reason may also follow a dash. Mistakes that the parser or the compiler
finds cannot be allowed, nor can findings about allowances.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from gotemplate.regexp.automaton import Budget, Language, language
from gotemplate.regexp.proofs import Covered, Example, NoKey, Reach, Unknown, difference, reachability, shortest_key
from gotemplate.regexp.syntax import Node
from tornado_proxy.config.model import Settings, Target
from tornado_proxy.lint.limits import MOST_LISTED, REACH_STEPS
from tornado_proxy.routing.mounts import target_data
from tornado_proxy.rules import model
from tornado_proxy.rules.diagnostic import Diagnostic, Edit, Span, errors
from tornado_proxy.rules.expectations import TestOutcome, evaluate
from tornado_proxy.rules.tree import Comment, Document, RedirectLocation, RewriteStatement, TargetBlock
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

    def allows(self, code: str, span: Span) -> bool:
        """Returns whether it silences a finding at a place in a rule file."""
        return (
            self.name == code != UNALLOWABLE
            and self.covers is not None
            and span.source is self.covers.source
            and self.covers.start <= span.start <= self.covers.end
        )


class Allowances:
    """The allowances in files, and comments that name no check; it knows which have silenced a finding.

    One that is for the statement of a list of addresses is for all lines of the list.
    """

    def __init__(
        self,
        documents: Iterable[Document] = (),
        judged: frozenset[str] = frozenset(),
        check_names: tuple[str, ...] = (),
        lists: Iterable[model.AddressList] = (),
    ) -> None:
        self.all: list[Allowance] = []
        self.empty: list[Comment] = []
        self.check_names = check_names
        self._judged = judged
        self._by_name: defaultdict[str, list[Allowance]] = defaultdict(list)
        self._used: set[int] = set()  # by identity
        self._statements = {id(each.source): each.span for each in lists}
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
        span = diagnostic.span
        if span is None:
            return False
        place = self._statements.get(id(span.source), span)
        allowing = [each for each in self._by_name[diagnostic.code] if each.allows(diagnostic.code, place)]
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


Identity = tuple[int, int]
"""The number of a rule, and its line in a list."""


def identity(rule: model.Rule) -> Identity:
    """Returns what tells a rule from all others of its target."""
    return rule.number, rule.line if isinstance(rule, model.ListedAddress) else 0


def place_of(rule: model.Rule) -> Span:
    """Returns where a rule says what it takes."""
    return column(rule, 0) if isinstance(rule, model.ListedAddress) else rule.statement.source.span


def place_of_result(rule: model.Rule) -> Span:
    """Returns where a rule says what it leads to."""
    return column(rule, 1) if isinstance(rule, model.ListedAddress) else rule.statement.template.span


def column(line: model.ListedAddress, number: int) -> Span:
    """Returns the place of a column of a line, from 0."""
    columns = [*re.finditer(r"\S+", line.span.text)]
    return line.span.part(*columns[number].span())


class Hop(NamedTuple):
    """An address that rules redirect or call gone, and the key that is asked for then; None if that is elsewhere."""

    key: str
    rule: model.Rule
    moved: model.Moved
    following: str | None


class TargetRules(msgspec.Struct, frozen=True, dict=True):  # for the cached properties
    """The rules of one target; those with the marks of a merge conflict, and so of both sides, are `disputed`.

    Keys that begin with one of `elsewhere` belong to other targets.
    """

    blocks: tuple[TargetBlock, ...]
    rule_set: model.RuleSet
    configured: Target | None = None
    disputed: bool = False
    elsewhere: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the target."""
        return self.rule_set.target

    @property
    def rewrites(self) -> tuple[model.Rewrite, ...]:
        """The rewrites of all kinds without a mistake, in order."""
        return self.rule_set.rewrites

    @cached_property
    def languages(self) -> Sequence[Language]:
        """The set of keys that each source matches."""
        return [language(rewrite.pattern.text) for rewrite in self.rewrites]

    @cached_property
    def reaches(self) -> Sequence[Reach | model.ListedAddress]:
        """The proof for each rewrite: a key that reaches it, what covers it, or that no key matches.

        Where lists before a rewrite have every key that it matches, it is one of their lines.
        """

        def first(key: str) -> int | None:
            match = self.rule_set.first_match.find(key)
            return None if match is None else match[0]

        budget = Budget(REACH_STEPS)
        reaches = reachability(self.languages, first, budget)
        return [self._beside_lists(*each, budget) for each in enumerate(reaches)] if self.rule_set.lists else reaches

    def _beside_lists(self, index: int, reach: Reach, budget: Budget) -> Reach | model.ListedAddress:
        """Returns the proof for a rewrite where lists may take the keys of the sources' proof."""
        covered = reach if isinstance(reach, Covered) else None
        listed: list[str] = []
        if covered:
            reach = shortest_key(self.languages[index], budget.portion())
        while isinstance(reach, Example):
            line = self.rule_set.taker(reach.key)
            if not isinstance(line, model.ListedAddress):
                unproved = Unknown("an earlier source takes the key")
                return covered or (reach if line is self.rewrites[index] else unproved)
            if len(listed) == MOST_LISTED:
                return covered or Unknown("lists have the keys that were tried")
            case = "(?i)" if line.within.statement.any_case else ""
            listed.append(f"(?:{case}{re.escape(reach.key)})")
            others = language(f"^(?:{'|'.join(listed)})$")
            reach = difference(self.languages[index], others, budget.portion())
            if isinstance(reach, NoKey):
                return line
        return covered or reach

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
        return self.configured is not None and model.TRIED_PATH in self.configured.actions.get.try_files

    def source(self, rewrite: model.Rewrite) -> Language:
        """Returns the set of keys that the source of a rewrite matches."""
        return self.languages[self._indices[rewrite.number]]

    def reach(self, rewrite: model.Rewrite) -> Reach | model.ListedAddress:
        """Returns the proof for a rewrite."""
        return self.reaches[self._indices[rewrite.number]]

    def example(self, of: model.Counted) -> str | None:
        """Returns a key that reaches a rewrite or a list; None if none was found."""
        if isinstance(of, model.Rewrite):
            reach = self.reach(of)
            return reach.key if isinstance(reach, Example) else None
        takers = ((address, self.rule_set.taker(address)) for address, _ in of)
        return next((address for address, taker in takers if taker and taker.number == of.number), None)

    def is_dead(self, one: model.Counted) -> bool:
        """Whether it is certain that no key reaches a rewrite or a list."""
        if isinstance(one, model.Rewrite):
            return isinstance(self.reach(one), Covered | NoKey | model.ListedAddress)
        return self.example(one) is None

    @cached_property
    def _indices(self) -> Mapping[int, int]:
        return {rewrite.number: index for index, rewrite in enumerate(self.rewrites)}

    def applied(self, key: str, request: Request | None = None, user: User | None = None) -> model.Rewritten | None:
        """Returns what the rules make of a key, by default without a user; None if that fails."""
        try:
            data = TargetKeyRewriteData(key, user, request or Request(path=RequestPath(key)), self.data)
            return self.rule_set.apply(data)
        except model.RewriteError:
            return None

    def result(self, key: str, request: Request | None = None, user: User | None = None) -> model.Key | None:
        """Returns the rewritten key, by default without a user; None if that fails."""
        rewritten = self.applied(key, request, user)
        return rewritten.key if rewritten else None

    def hop(self, key: str, query: str = "") -> Hop | None:
        """Returns the redirect of an address, or that it is gone; None if its key is served, or that is not known.

        Where users are isolated, rules see other keys than the addresses.
        """
        if (key, query) not in self._hops:
            request = Request(path=RequestPath(key), raw_query=query, query=tuple(parse_qsl(query)))
            isolated = self.configured is not None and self.configured.actions.get.user_isolation
            rewritten = None if isolated else self.applied(key, request)
            hop = None
            if rewritten and rewritten.rewrite and (moved := rewritten.moved):
                following = self._following(moved.location) if moved.location else None
                hop = Hop(key, rewritten.rewrite, moved, following)
            self._hops[key, query] = hop
        return self._hops[key, query]

    @cached_property
    def _hops(self) -> dict[tuple[str, str], Hop | None]:
        return {}

    def _following(self, location: RedirectLocation) -> str | None:
        """Returns the key of a location; None if it belongs to another host or target."""
        path = location.path
        if location.is_url:
            if self.configured is None or urlsplit(path).netloc.lower() != self.configured.mount.host:
                return None
            mount = next((each.removesuffix("/") for each in self.configured.mount.paths), "")
            path = urlsplit(path).path
            if not path.startswith(f"{mount}/"):
                return None
            path = path[len(mount) :]
        key = unquote(path)
        return None if self.elsewhere and f"{key}/".startswith(self.elsewhere) else key


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
    def lists(self) -> Iterator[model.AddressList]:
        """The lists of addresses of all targets."""
        return (each for target in self.targets for each in target.rule_set.lists)

    @property
    def rewrites(self) -> Iterator[tuple[model.Rewrite, TargetRules]]:
        """The rewrites of all kinds without a mistake, each with its target."""
        return ((each, target) for target in self.targets for each in target.rewrites)

    @property
    def sources(self) -> Iterator[tuple[model.Rewrite, Node]]:
        """The rewrites whose sources have a tree, each with it."""
        trees = ((rewrite, target.source(rewrite).tree) for rewrite, target in self.rewrites)
        return ((rewrite, tree) for rewrite, tree in trees if tree is not None)

    @property
    def address_count(self) -> int:
        """The number of addresses in lists."""
        return sum(len(each.lines) for each in self.lists)

    @property
    def rewrite_count(self) -> int:
        """The number of rewrites of all kinds, with or without a mistake."""
        blocks = (block for document in self.documents for block in document.blocks)
        return sum(isinstance(each, RewriteStatement) for block in blocks for each in block.statements)


def subject_of(
    loaded: model.LoadedRules, settings: Settings | None = None, mistakes: Sequence[Diagnostic] = ()
) -> Subject:
    """Returns the subject of loaded rule files; the configuration has `settings` and `mistakes`."""
    configured = {each.name: each for each in settings.targets} if settings else {}
    blocks: dict[str, list[TargetBlock]] = {}
    for block in (block for document in loaded.documents for block in document.blocks):
        blocks.setdefault(block.name.value, []).append(block)
    disputed = {each.span.source.name for each in loaded.diagnostics if each.span and each.span.text in _CONFLICT}
    targets = []
    for name, rule_set in loaded.rule_sets.items():
        is_disputed = any(block.span.source.name in disputed for block in blocks[name])
        own = configured.get(name)
        others = (each for other in configured.values() if other is not own for each in other.mount.paths)
        mounts = [mount.removesuffix("/") for mount in own.mount.paths] if own else []
        inside = ((path, mount) for path in others for mount in mounts if path.startswith(f"{mount}/"))
        below = tuple(path[len(mount) :] for path, mount in inside if path != f"{mount}/")
        targets.append(TargetRules(tuple(blocks[name]), rule_set, own, is_disputed, below))
    return Subject(loaded.documents, tuple(targets), (*mistakes, *loaded.diagnostics), settings)
