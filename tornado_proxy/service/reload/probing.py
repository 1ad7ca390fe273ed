"""Probes of buckets with connections of their own: for a command, and for a reload before it puts a bucket in force."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from tornado_proxy.config.model import Target
from tornado_proxy.config.server import S3Pool
from tornado_proxy.lang.diagnostic import Diagnostic, Severity, errors
from tornado_proxy.s3.store import S3Store
from tornado_proxy.service.reload.snapshot import Configuration
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.probe import BucketProblem, ProbeResult, probe_all

BUCKET_DOWN = "bucket-down"
"""The code of a bucket that cannot be used."""

_WITHIN = 5.0  # seconds that a reload waits for a bucket
_POOL = S3Pool(threads=2, queue=10, connections=2)
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
    results = await probe_buckets(changed, _WITHIN, write=False)
    severity = Severity.ERROR if choice == "refuse" else Severity.WARNING
    down = [
        Diagnostic(
            BUCKET_DOWN,
            f"the bucket of target `{target.name}` cannot be used: {result.problem.message}",
            target.bucket.span,
            result.problem.help,
            severity=severity,
        )
        for target, result in zip(changed, results, strict=True)
        if result.problem
    ]
    return replace(configuration, diagnostics=(*configuration.diagnostics, *down)) if down else configuration


def may_pass(diagnostics: Sequence[Diagnostic]) -> bool:
    """Whether errors may go without an edit, since they are those of buckets alone."""
    return all(each.code == BUCKET_DOWN for each in errors(diagnostics))


async def probe_buckets(targets: Sequence[Target], within: float, *, write: bool) -> Sequence[ProbeResult]:
    """Probes the buckets of targets side by side, each with a new connection and one attempt."""
    stores: dict[str, S3Store] = {}
    failed: dict[str, ProbeResult] = {}
    for target in targets:
        pair = target.bucket.credentials
        if pair is not None and not (pair.access_key.reveal() and pair.secret_key.reveal()):
            failed[target.name] = _failed(target, _SERVICE_ONLY)
            continue
        bucket = target.bucket
        limits = {name: min(getattr(bucket, name), within) for name in ("connect_timeout", "read_timeout")}
        try:
            stores[target.name] = S3Store(replace(bucket, max_attempts=1, **limits), _POOL)
        except StorageError as error:
            failed[target.name] = _failed(target, BucketProblem("failed", str(error), "correct the target's `bucket`"))
    try:
        asked = [(each, stores[each.name]) for each in targets if each.name in stores]
        results = {result.target: result for result in await probe_all(asked, within, write=write)}
    finally:
        for store in stores.values():
            await store.close()
    return [failed.get(target.name) or results[target.name] for target in targets]


def _failed(target: Target, problem: BucketProblem) -> ProbeResult:
    return ProbeResult(target.name, target.bucket.name, time.time(), 0.0, (), problem)
