"""The tests of rule sets, run: what each came to, and which rewrites none of them reaches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tornado_proxy.rules.model import RuleSet, RuleTest
from tornado_proxy.rules.patterns import Pattern
from tornado_proxy.rules.rewrite import Rewrite
from tornado_proxy.rules.verdict import TestOutcome, evaluate
from tornado_proxy.templates.data import TargetData


@dataclass(frozen=True, slots=True)
class TargetRun:
    """The outcomes of one target's tests, in order."""

    rule_set: RuleSet
    outcomes: tuple[TestOutcome, ...]

    @property
    def failed(self) -> int:
        """How many tests failed."""
        return sum(not each.passed for each in self.outcomes)

    @property
    def coverage(self) -> Coverage:
        """Which of the rewrites took the key of a test, whatever came of it."""
        reached = {each.rewrite.number for each in self.outcomes if each.rewrite}
        missed = tuple(each for each in self.rule_set.rewrites if each.number not in reached)
        return Coverage(len(self.rule_set.rewrites), missed)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many rewrites there are, and which of them no test reaches."""

    rewrites: int
    missed: tuple[Rewrite, ...] = ()

    @property
    def percent(self) -> float:
        """The part that is reached; all of nothing is."""
        return 100 * (self.rewrites - len(self.missed)) / self.rewrites if self.rewrites else 100.0


@dataclass(frozen=True, slots=True)
class TestRun:
    """All targets' outcomes."""

    __test__ = False  # the name is the language's, not pytest's

    targets: tuple[TargetRun, ...]

    @property
    def total(self) -> int:
        """How many tests were run."""
        return sum(len(each.outcomes) for each in self.targets)

    @property
    def failed(self) -> int:
        """How many tests failed."""
        return sum(each.failed for each in self.targets)

    @property
    def coverage(self) -> Coverage:
        """That of all targets together."""
        parts = [each.coverage for each in self.targets]
        return Coverage(sum(each.rewrites for each in parts), tuple(missed for each in parts for missed in each.missed))


def run_tests(rule_sets: Iterable[RuleSet], known: Mapping[str, TargetData], chosen: Pattern | None = None) -> TestRun:
    """Run the tests of rule sets, or those that are chosen; `known` is what a configuration says of the targets."""
    return TestRun(
        tuple(
            TargetRun(
                rule_set,
                tuple(
                    evaluate(rule_set, test, known.get(rule_set.target))
                    for test in rule_set.tests
                    if chosen is None or is_chosen(test, rule_set.target, chosen)
                ),
            )
            for rule_set in rule_sets
        )
    )


def is_chosen(test: RuleTest, target: str, chosen: Pattern) -> bool:
    """Whether a pattern is found in the name of a test's target, in its key, or in its place."""
    return any(chosen.search(text) for text in (target, test.key, test.statement.span.place))
