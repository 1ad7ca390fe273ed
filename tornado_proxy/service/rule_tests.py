"""Runs the rule tests of changed targets before an edit is put in force."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from tornado_proxy.config.model import Settings, Target
from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.routing.mounts import target_data
from tornado_proxy.rules.model import RuleSet, TestOutcome, evaluate
from tornado_proxy.service.snapshot import CompiledSnapshot

FAILING_TEST = "failing-test"
"""The code of what is reported here; the linter's check of that name says the same of the same test."""

_MOST = 20  # failing tests that are reported one by one


def run_rule_tests(loaded: CompiledSnapshot, before: CompiledSnapshot | None = None) -> CompiledSnapshot:
    """The snapshot with a diagnostic for each rule test that fails in a target changed since `before`."""
    settings = loaded.settings
    if settings is None or settings.reload.tests == "off" or not loaded.usable:
        return loaded
    severity = Severity.ERROR if settings.reload.tests == "refuse" else Severity.WARNING
    found = [replace(each, severity=severity) for each in _failures(loaded, settings, before)]
    return replace(loaded, diagnostics=(*loaded.diagnostics, *found)) if found else loaded


def tolerated(loaded: CompiledSnapshot) -> CompiledSnapshot:
    """The same snapshot with failing tests as warnings."""
    milder = (
        replace(each, severity=Severity.WARNING) if each.code == FAILING_TEST else each for each in loaded.diagnostics
    )
    return replace(loaded, diagnostics=tuple(milder))


def _failures(loaded: CompiledSnapshot, settings: Settings, before: CompiledSnapshot | None) -> Iterator[Diagnostic]:
    end = time.monotonic() + settings.reload.test_timeout
    failed = 0
    for target, rules in _changed(loaded, settings, before):
        data = target_data(target)
        for number, test in enumerate(rules.tests):
            if time.monotonic() > end:
                yield _out_of_time(target, number, len(rules.tests), settings.reload.test_timeout)
                return
            outcome = evaluate(rules, test, data)
            if not outcome.passed:
                failed += 1
                if failed <= _MOST:
                    yield _reported(outcome)
    if failed > _MOST:
        yield Diagnostic(
            FAILING_TEST, f"{failed - _MOST} more rule tests fail", help="`tornado-proxy test` shows them all"
        )


def _changed(
    loaded: CompiledSnapshot, settings: Settings, before: CompiledSnapshot | None
) -> Iterator[tuple[Target, RuleSet]]:
    """The targets with tests whose rules, tests, or data that templates read differ from before."""
    known: dict[str, tuple[object, ...]] = {}
    if before is not None and before.settings is not None:
        known = {each.name: _tested_parts(each, before) for each in before.settings.targets}
    for target in settings.targets:
        rules = loaded.rule_sets.get(target.name)
        if rules is not None and rules.tests and known.get(target.name) != _tested_parts(target, loaded):
            yield target, rules


def _tested_parts(target: Target, loaded: CompiledSnapshot) -> tuple[object, ...]:
    rules = loaded.rule_sets.get(target.name)
    return (target_data(target), rules and rules.rewrites, rules and rules.tests)


def _reported(outcome: TestOutcome) -> Diagnostic:
    # The whole linter comes along, which nobody needs whose tests pass.
    from tornado_proxy.lint.checks.tests import failing_test  # noqa: PLC0415

    return failing_test(outcome)


def _out_of_time(target: Target, done: int, all_: int, seconds: float) -> Diagnostic:
    message = f"{done} of {all_} rule tests of target `{target.name}` ran within {seconds:g} s"
    return Diagnostic(FAILING_TEST, message, help="raise `reload.testTimeout`, or make the tests fewer or cheaper")
