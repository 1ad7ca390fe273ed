"""Runs the rule tests of an edit before it is put in force."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from tornado_proxy.config.model import Target
from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.routing.mounts import target_data
from tornado_proxy.rules.model import RuleSet, evaluate
from tornado_proxy.service.reload.snapshot import CompiledSnapshot

FAILING_TEST = "failing-test"
"""The code of a failing rule test, as in the linter."""

_MOST_FAILING = 20  # failing tests that are reported one by one


def run_rule_tests(loaded: CompiledSnapshot, before: CompiledSnapshot | None = None) -> CompiledSnapshot:
    """Runs the rule tests of targets that changed since `before`; adds a diagnostic for each failure."""
    if not loaded.usable or loaded.settings.reload.tests == "off":
        return loaded
    severity = Severity.ERROR if loaded.settings.reload.tests == "refuse" else Severity.WARNING
    found = [replace(each, severity=severity) for each in _failures(loaded, before)]
    return replace(loaded, diagnostics=(*loaded.diagnostics, *found)) if found else loaded


def tolerated(loaded: CompiledSnapshot) -> CompiledSnapshot:
    """Returns the snapshot with failing rule tests as warnings."""
    milder = (
        replace(each, severity=Severity.WARNING) if each.code == FAILING_TEST else each for each in loaded.diagnostics
    )
    return replace(loaded, diagnostics=tuple(milder))


def _failures(loaded: CompiledSnapshot, before: CompiledSnapshot | None) -> Iterator[Diagnostic]:
    timeout, failed = loaded.settings.reload.test_timeout, 0
    end = time.monotonic() + timeout
    for target, rules in _untested(loaded, before):
        data = target_data(target)
        for number, test in enumerate(rules.tests):
            if time.monotonic() > end:
                text = f"{number} of {len(rules.tests)} rule tests of target `{target.name}` ran within {timeout:g} s"
                advice = "raise `reload.testTimeout`, or make the tests fewer or cheaper"
                yield Diagnostic(FAILING_TEST, text, help=advice)
                return
            outcome = evaluate(rules, test, data)
            if not outcome.passed:
                failed += 1
                if failed <= _MOST_FAILING:
                    # Imports the whole linter, which is only needed if a test fails.
                    from tornado_proxy.lint.checks.tests import failing_test  # noqa: PLC0415

                    yield failing_test(outcome)
    if failed > _MOST_FAILING:
        more = f"{failed - _MOST_FAILING} more rule tests fail"
        yield Diagnostic(FAILING_TEST, more, help="`tornado-proxy test` shows them all")


def _untested(loaded: CompiledSnapshot, before: CompiledSnapshot | None) -> Iterator[tuple[Target, RuleSet]]:
    """Yields the targets with tests whose rules, tests, or data that templates read differ from before."""
    known = before.settings.targets if before else ()
    old = {each.name: (target_data(each), before and before.rule_sets.get(each.name)) for each in known}
    for target in loaded.settings.targets:
        rules = loaded.rule_sets.get(target.name)
        if rules and rules.tests and old.get(target.name) != (target_data(target), rules):
            yield target, rules
