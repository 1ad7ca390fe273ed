"""The subject of checks: all rule files, their compiled rules, and the configuration if there is one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from gotemplate.regexp.alphabet import Budget
from gotemplate.regexp.automaton import Language, language
from gotemplate.regexp.proofs import Example, Reach, reachability
from gotemplate.regexp.syntax import Node
from tornado_proxy.lint.allowances import Allowances
from tornado_proxy.routing.mounts import target_data
from tornado_proxy.rules.diagnostic import Diagnostic, errors
from tornado_proxy.rules.model import Key, LoadedRules, Rewrite, RewriteError, RuleSet, TestOutcome, evaluate
from tornado_proxy.rules.tree import Document, RewriteStatement, TargetBlock
from tornado_proxy.semantics.request import RequestData, User
from tornado_proxy.templates.data import TargetData, TargetKeyRewriteData

if TYPE_CHECKING:
    from tornado_proxy.config.model import Settings, Target

_REACH_STEPS = 1_000_000  # for each target

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
        return reachability(self.languages, self.taker, Budget(_REACH_STEPS))

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

    def taker(self, key: str) -> int | None:
        """Returns the index of the rewrite that takes a key."""
        match = self.rule_set.first_match.find(key)
        return None if match is None else match[0]

    def example(self, index: int) -> str | None:
        """Returns a key that reaches a rewrite; None if none was found."""
        reach = self.reaches[index]
        return reach.key if isinstance(reach, Example) else None

    def result(self, key: str, request: RequestData | None = None, user: User | None = None) -> Key | None:
        """Returns the rewritten key, by default without a user; None if that fails."""
        try:
            data = TargetKeyRewriteData(key, user, request or RequestData(path=key), self.data)
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
