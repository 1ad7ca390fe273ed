"""What an edit is tried by before it is in force: its rule tests, and the buckets that it changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager

from msgspec.structs import replace

from tornado_proxy.config.model import Target
from tornado_proxy.config.server import S3Pool
from tornado_proxy.routing.mounts import target_data
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.rules.diagnostic import Diagnostic, Severity
from tornado_proxy.rules.expectations import FAILING_TEST, evaluate, failure
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.s3.store import S3Store
from tornado_proxy.service.limits import MOST_FAILING_SHOWN, PROBED_WITHIN
from tornado_proxy.service.snapshot import Configuration
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.probe import BucketProblem, ProbeResult, find_object, probe_all


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


BUCKET_DOWN = "bucket-down"  # the code of a bucket that cannot be used
_POOL = S3Pool(threads=2, queue=10, connections=4)
_OF_ONE_KEY = ("access-denied", "busy", "failed")  # the codes of problems that another key may not have
_SERVICE_ONLY = BucketProblem(
    "no-credentials",
    "the credentials are systemd credentials, which only the service has",
    "run this command as systemd would: docs/operations.md shows how",
)


async def probed(configuration: Configuration, in_force: Configuration) -> Configuration:
    """Probes the buckets that an edit adds or changes; adds a diagnostic for each that cannot be used."""
    choice = configuration.settings.reload.probe
    if choice == "off":
        return configuration
    unchanged = {(target.name, target.bucket) for target in in_force.settings.targets}
    changed = [target for target in configuration.settings.targets if (target.name, target.bucket) not in unchanged]
    results = await probe_buckets(changed, PROBED_WITHIN, write=False)
    severity = Severity.ERROR if choice == "refuse" else Severity.WARNING
    down = [
        Diagnostic(
            BUCKET_DOWN,
            f"the bucket of target `{target.name}` cannot be used: {result.problem.message}",
            target.bucket.place.key("name"),
            result.problem.help,
            severity=severity,
        )
        for target, result in zip(changed, results, strict=True)
        if result.problem
    ]
    return replace(configuration, diagnostics=(*configuration.diagnostics, *down)) if down else configuration


async def probe_buckets(targets: Sequence[Target], within: float, *, write: bool) -> Sequence[ProbeResult]:
    """Probes the buckets of targets side by side, each with a new connection and one attempt."""
    async with _opened(targets, within) as (stores, problems):
        asked = [(each, stores[each.name]) for each in targets if each.name in stores]
        results = {result.target: result for result in await probe_all(asked, within, write=write)}
    for each in targets:
        if each.name in problems:
            results[each.name] = ProbeResult(each.name, each.bucket.name, time.time(), 0.0, (), problems[each.name])
    return [results[target.name] for target in targets]


async def find_objects(
    targets: Sequence[Target], keys: Sequence[tuple[str, ObjectKey]], within: float
) -> Sequence[bool | BucketProblem]:
    """Whether each key of a target has an object, asked by HEAD, each within a number of seconds.

    A bucket that cannot be used is not asked again.
    """
    buckets = {target.name: target.bucket for target in targets}
    answers: dict[tuple[str, ObjectKey], bool | BucketProblem] = {}
    waiting = iter(keys)

    async def ask() -> None:
        for target, key in waiting:
            answer = problems.get(target) or await find_object(buckets[target], stores[target], key, within)
            if isinstance(answer, BucketProblem) and answer.code not in _OF_ONE_KEY:
                problems[target] = answer
            answers[target, key] = answer

    async with _opened(targets, within) as (stores, problems):
        await asyncio.gather(*(ask() for _ in range(_POOL.connections)))
    return [answers[each] for each in keys]


@asynccontextmanager
async def _opened(
    targets: Sequence[Target], within: float
) -> AsyncIterator[tuple[dict[str, S3Store], dict[str, BucketProblem]]]:
    stores: dict[str, S3Store] = {}
    problems: dict[str, BucketProblem] = {}
    for target in targets:
        bucket, pair = target.bucket, target.bucket.credentials
        if pair is not None and not (pair.access_key.reveal() and pair.secret_key.reveal()):
            problems[target.name] = _SERVICE_ONLY
            continue
        limits = {name: min(getattr(bucket, name), within) for name in ("connect_timeout", "read_timeout")}
        try:
            stores[target.name] = S3Store(replace(bucket, max_attempts=1, **limits), _POOL)
        except StorageError as error:
            problems[target.name] = BucketProblem("failed", str(error), "correct the target's `bucket`")
    try:
        yield stores, problems
    finally:
        for store in stores.values():
            await store.close()
