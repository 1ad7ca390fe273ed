"""Runs the rule tests of an edit before it is put in force."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from tornado_proxy.config.model import Target
from tornado_proxy.routing.mounts import target_data
from tornado_proxy.rules.diagnostic import Diagnostic, Severity
from tornado_proxy.rules.model import RuleSet, evaluate
from tornado_proxy.rules.testing import FAILING_TEST, failure
from tornado_proxy.service.limits import MOST_FAILING_SHOWN
from tornado_proxy.service.reload.snapshot import Configuration


def run_rule_tests(configuration: Configuration, in_force: Configuration | None = None) -> Configuration:
    """Runs the rule tests of targets that differ from those in force; adds a diagnostic for each failure.

    If any in force fail, the tests of the other targets run as well; their failures are warnings.
    """
    if not configuration.usable or configuration.settings.reload.tests == "off":
        return configuration
    severity = Severity.ERROR if configuration.settings.reload.tests == "refuse" else Severity.WARNING
    changed = [*_untested(configuration, in_force)]
    failures = [replace(each, severity=severity) for each in _failures(configuration, changed)]
    if in_force and in_force.failing_tests:
        others = [each for each in _untested(configuration, None) if each not in changed]
        failures += [replace(each, severity=Severity.WARNING) for each in _failures(configuration, others)]
    return replace(configuration, diagnostics=(*configuration.diagnostics, *failures)) if failures else configuration


def _failures(configuration: Configuration, tested: Iterable[tuple[Target, RuleSet]]) -> Iterator[Diagnostic]:
    timeout, failed = configuration.settings.reload.test_timeout, 0
    end = time.monotonic() + timeout
    for target, rules in tested:
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
                if failed <= MOST_FAILING_SHOWN:
                    yield failure(outcome)
    if failed > MOST_FAILING_SHOWN:
        more = f"{failed - MOST_FAILING_SHOWN} more rule tests fail"
        yield Diagnostic(FAILING_TEST, more, help="`tornado-proxy test` shows them all")


def _untested(configuration: Configuration, in_force: Configuration | None) -> Iterator[tuple[Target, RuleSet]]:
    """Yields the targets with tests whose rules, tests, or data that templates read differ from those in force."""
    targets = in_force.settings.targets if in_force else ()
    old = {each.name: (target_data(each), in_force and in_force.rule_sets.get(each.name)) for each in targets}
    for target in configuration.settings.targets:
        rules = configuration.rule_sets.get(target.name)
        if rules and rules.tests and old.get(target.name) != (target_data(target), rules):
            yield target, rules
