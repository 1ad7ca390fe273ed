"""Probes of buckets with connections of their own: for a command, and for a reload before it puts a bucket in force."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from msgspec.structs import replace

from tornado_proxy.config.model import Target
from tornado_proxy.config.server import S3Pool
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.rules.diagnostic import Diagnostic, Severity
from tornado_proxy.s3.store import S3Store
from tornado_proxy.service.limits import PROBED_WITHIN
from tornado_proxy.service.reload.snapshot import Configuration
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.probe import BucketProblem, ProbeResult, find_object, probe_all

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
    failed = {each.name: _failed(each, problems[each.name]) for each in targets if each.name in problems}
    return [failed.get(target.name) or results[target.name] for target in targets]


async def find_objects(
    targets: Sequence[Target], keys: Sequence[tuple[str, ObjectKey]], within: float, progress: Callable[[float], None]
) -> Sequence[bool | BucketProblem]:
    """Whether each key of a target has an object, asked by HEAD, each within a number of seconds.

    A bucket that cannot be used is not asked again. `progress` is called with the part that is done, from 0 to 1.
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
            progress(len(answers) / len(keys))

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


def _failed(target: Target, problem: BucketProblem) -> ProbeResult:
    return ProbeResult(target.name, target.bucket.name, time.time(), 0.0, (), problem)
