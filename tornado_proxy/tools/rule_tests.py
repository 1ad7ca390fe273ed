"""Runs rule tests, and prints their outcomes as text, JSON or JUnit's XML, with rules and groups like `explain`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import msgspec

from gotemplate.regexp.matching import Captures, Pattern
from tornado_proxy.rules.diagnostic import visible, width
from tornado_proxy.rules.expectations import TestOutcome, evaluate
from tornado_proxy.rules.model import Counted, Rewrite, RewriteError, Rule, RuleSet, RuleTest
from tornado_proxy.rules.tree import Verdict, group_lines
from tornado_proxy.templates.template import TargetData

JSON_VERSION = 1
"""The version of each JSON form; additions do not change it."""

Rows = Sequence[Sequence[str]]

# A longer cell does not widen its column.
_WIDEST = 60

GUTTER = 12  # characters: the longest title and two spaces


def section(title: str, rows: Rows) -> Iterator[str]:
    """Yields the lines of a titled section in columns; the last cell of a row widens no column."""
    cells = [[visible(cell) for cell in row] for row in rows]
    widths: dict[int, int] = {}
    for row in cells:
        for column, cell in enumerate(row[:-1]):
            widths[column] = max(widths.get(column, 0), len(cell) if len(cell) <= _WIDEST else 0)
    for number, row in enumerate(cells):
        padded = [f"{cell:<{widths[column]}}" for column, cell in enumerate(row[:-1])]
        yield f"{title if number == 0 else '':<{GUTTER}}{'  '.join([*padded, row[-1]])}".rstrip()


def group_rows(captures: Captures) -> Rows:
    """Returns the groups of a match with their texts as rows."""
    stand_ins = {None: "(not matched)", "": "(empty)"}
    return [(f"${each['name']}", stand_ins.get(each["text"], each["text"])) for each in groups_json(captures)]


def groups_json(captures: Captures) -> list[dict[str, Any]]:
    """Returns the groups of a match for programs, each by its name, or by its number if it has no name."""
    names = {number: name for name, number in captures.names.items()}
    return [{"name": names.get(number, str(number)), "text": text} for number, text in enumerate(captures.groups)]


def rewrite_json(rewrite: Rule | Counted) -> dict[str, Any]:
    """Returns a rule with its place for programs."""
    return {
        "number": rewrite.number,
        "name": rewrite.name,
        "kind": rewrite.kind.value,
        "source": rewrite.source_text,
        "dialect": rewrite.dialect.value,
        "template": rewrite.result_text,
        "place": {"file": rewrite.span.source.name, **rewrite.span.first._asdict()},
    }


class TestRun(msgspec.Struct, frozen=True):
    """The outcomes of tests in order, and the rewrites that they may reach; of all `targets`, or of one."""

    __test__ = False  # the name is the language's, not pytest's

    name: str
    rewrites: tuple[Rewrite, ...]
    outcomes: tuple[TestOutcome, ...]
    targets: tuple[TestRun, ...] = ()

    @property
    def failed(self) -> int:
        """The number of tests that failed."""
        return sum(not each.passed for each in self.outcomes)

    @property
    def missed(self) -> tuple[Rewrite, ...]:
        """The rewrites that took the key of no test, whether or not it passed."""
        reached = {id(each.rewrite) for each in self.outcomes}
        return tuple(each for each in self.rewrites if id(each) not in reached)

    @property
    def coverage(self) -> float:
        """The part of the rewrites that is reached, in percent; 100 if there are none."""
        return 100 * (len(self.rewrites) - len(self.missed)) / len(self.rewrites) if self.rewrites else 100.0


def run_tests(rule_sets: Iterable[RuleSet], data: Mapping[str, TargetData], chosen: Pattern | None = None) -> TestRun:
    """Runs the tests of rule sets; `data` is the data of the targets from a configuration.

    With `chosen`, it runs only the tests whose target, key or place the pattern matches.
    """

    def is_chosen(rule_set: RuleSet, test: RuleTest) -> bool:
        texts = (rule_set.target, test.key, test.statement.span.place)
        return chosen is None or any(map(chosen.search, texts))

    targets = []
    for rule_set in rule_sets:
        tests = (test for test in rule_set.tests if is_chosen(rule_set, test))
        ran = tuple(evaluate(rule_set, test, data.get(rule_set.target)) for test in tests)
        targets.append(TestRun(rule_set.target, rule_set.rewrites, ran))
    rewrites = (each for target in targets for each in target.rewrites)
    outcomes = (each for target in targets for each in target.outcomes)
    return TestRun("total", tuple(rewrites), tuple(outcomes), tuple(targets))


def to_text(run: TestRun, *, coverage: bool) -> str:
    """Returns text for people: each failure in full, the coverage on request, and a summary."""
    blocks = [failure(each, target) for target in run.targets for each in target.outcomes if not each.passed]
    if coverage:
        rows = [_coverage_row(each) for each in run.targets]
        lines = [*section("coverage", [*rows, _coverage_row(run)] if len(rows) > 1 else rows)]
        for target in run.targets:
            if missed := [(each.label, each.pattern.text, each.span.place) for each in target.missed]:
                lines += ["", f"not reached by the tests of {visible(target.name)}", *section("", missed)]
        blocks.append("\n".join(lines))
    return "\n\n".join([*blocks, summary(run)]) + "\n"


def summary(run: TestRun) -> str:
    """Returns the numbers of failed and passed tests as a line."""
    if not run.outcomes:
        return "there are no tests"
    passed = len(run.outcomes) - run.failed
    return f"{run.failed} failed, {passed} passed" if run.failed else f"{passed} passed"


def statement(test: RuleTest) -> str:
    """Returns a test in its canonical layout, on one line."""
    return visible(group_lines([test.statement])[0])


def failure(outcome: TestOutcome, target: TestRun) -> str:
    """Returns a failed test in full: the expected and the actual key, the rewrite that took the key, and its groups."""
    test, rewrite, captures = outcome.test, outcome.rewrite, _captures(outcome)
    expected, got = _expected(test), _got(outcome)
    lines = [f"FAILED {visible(target.name)}: {statement(test)}", *section("at", [(test.statement.span.place,)])]
    lines += [*section("expected", [(expected,)]), *section("got", [(got,)])]
    if not isinstance(test.expected, Verdict) and not isinstance(outcome.got, RewriteError):
        alike = visible(os.path.commonprefix([expected, got]))  # noqa: RUF071 - keys are compared, not paths
        lines.append(" " * (GUTTER + width(alike)) + "^")
    if rewrite is None:
        return "\n".join([*lines, *section("by", [("no rewrite matched",)])])
    taker = section("by", [(rewrite.label, rewrite.source_text, rewrite.span.place)])
    return "\n".join([*lines, *taker, *(section("groups", group_rows(captures)) if captures else ())])


def message(outcome: TestOutcome) -> str:
    """Returns a failed test as a line."""
    return visible(f"expected {_expected(outcome.test)}, got {_got(outcome)}")


def _expected(test: RuleTest) -> str:
    return test.expected.value if isinstance(test.expected, Verdict) else str(test.expected)


def _got(outcome: TestOutcome) -> str:
    if isinstance(outcome.got, RewriteError):
        return f"error: {outcome.got}"
    if outcome.got.moved:
        return str(outcome.got.moved)
    return outcome.got.key if outcome.got.rewrite else f"{outcome.got.key} (unchanged)"


def _captures(outcome: TestOutcome) -> Captures | None:
    rewrite = outcome.rewrite
    return rewrite.pattern.search(outcome.test.key) if isinstance(rewrite, Rewrite) else None


def _coverage_row(run: TestRun) -> Sequence[str]:
    reached = len(run.rewrites) - len(run.missed)
    return run.name, f"{run.coverage:5.1f} %", f"{reached} of {len(run.rewrites)} rewrites"


def to_json(run: TestRun, *, coverage: bool) -> dict[str, Any]:
    """Returns every test with its outcome for programs; a version only adds fields."""
    return {
        "version": JSON_VERSION,
        "summary": {"tests": len(run.outcomes), "failed": run.failed},
        "targets": [
            {
                "name": target.name,
                "tests": [_outcome(each) for each in target.outcomes],
                "coverage": _coverage_json(target) if coverage else None,
            }
            for target in run.targets
        ],
        "coverage": _coverage_json(run) if coverage else None,
    }


def _outcome(outcome: TestOutcome) -> dict[str, Any]:
    test, rewrite, captures = outcome.test, outcome.rewrite, _captures(outcome)
    place = test.statement.span
    key, verdict = (None, test.expected.value) if isinstance(test.expected, Verdict) else (test.expected, None)
    got, error = (None, str(outcome.got)) if isinstance(outcome.got, RewriteError) else (outcome.got.key, None)
    return {
        "statement": statement(test),
        "place": {"file": place.source.name, **place.first._asdict()},
        "passed": outcome.passed,
        "key": test.key,
        "expected": {"key": key, "verdict": verdict},
        "got": {"key": got, "error": error},
        "rewrite": rewrite_json(rewrite) if rewrite else None,
        "groups": groups_json(captures) if captures else None,
    }


def _coverage_json(run: TestRun) -> dict[str, Any]:
    return {
        "percent": round(run.coverage, 2),
        "rewrites": len(run.rewrites),
        "missed": [rewrite_json(each) for each in run.missed],
    }


def to_junit(run: TestRun) -> str:
    """Returns JUnit's XML: a suite for each target, a case for each test."""
    root = Element("testsuites", name="tornado-proxy test", tests=str(len(run.outcomes)), failures=str(run.failed))
    for target in (each for each in run.targets if each.outcomes):
        name, count = visible(target.name), len(target.outcomes)
        suite = SubElement(root, "testsuite", name=name, tests=str(count), failures=str(target.failed), errors="0")
        for outcome in target.outcomes:
            span = outcome.test.statement.span
            case = SubElement(suite, "testcase", classname=name, name=statement(outcome.test))
            case.attrib |= {"file": visible(span.source.name), "line": str(span.first.line)}
            if not outcome.passed:
                failed = SubElement(case, "failure", type="failed", message=message(outcome))
                failed.text = failure(outcome, target)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}'
