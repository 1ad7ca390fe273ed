"""The command that checks whether each bucket of a configuration can be used."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tornado_proxy.cli.inputs import add_format, add_timeout, raise_errors, require_target
from tornado_proxy.cli.output import CommandError, ExitStatus, activity
from tornado_proxy.config.model import Target
from tornado_proxy.config.server import S3Pool
from tornado_proxy.s3.store import S3Store
from tornado_proxy.service.reload.snapshot import read_to_check
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.probe import PROBE_WITHIN, BucketProblem, ProbeResult, probe_all
from tornado_proxy.telemetry.log import probe_fields

_POOL = S3Pool(threads=2, queue=10, connections=2)
_SERVICE_ONLY = BucketProblem(
    "no-credentials",
    "the credentials are systemd credentials, which only the service has",
    "run this command as systemd would: docs/operations.md shows how",
)


def probe_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="the targets to probe (default: all)")
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="the configuration, in YAML")
    parser.add_argument(
        "--write",
        action="store_true",
        help="also store an empty object and remove it, where a target takes uploads or removes objects",
    )
    add_timeout(parser, PROBE_WITHIN, "each bucket may take")
    add_format(parser, "text", "json")


def run_probe(arguments: argparse.Namespace) -> int:
    """Probes; returns 1 if a bucket cannot be used or the configuration has mistakes."""
    if not arguments.config.is_file():
        raise CommandError(f"there is no file `{arguments.config}`")
    snapshot = read_to_check(arguments.config, dict(os.environ))
    raise_errors(snapshot.diagnostics)
    assert snapshot.settings is not None, "a configuration without errors has settings"
    targets = {target.name: target for target in snapshot.settings.targets}
    for name in arguments.targets:
        require_target(name, list(targets))
    chosen = [target for name, target in targets.items() if not arguments.targets or name in arguments.targets]
    with activity("asking S3"):
        results = asyncio.run(probe_buckets(chosen, arguments.timeout, write=arguments.write))
    if arguments.format == "json":
        shown = [{"target": each.target, "bucket": each.bucket, **probe_fields(each)} for each in results]
        print(json.dumps({"version": 1, "targets": shown}, indent=2))
    else:
        print(to_text(results), end="")
    return ExitStatus.CLEAN if all(result.is_up for result in results) else ExitStatus.FINDINGS


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


def to_text(results: Sequence[ProbeResult]) -> str:
    """Returns a line for each target, with the help below it."""
    names = max((len(result.target) for result in results), default=0)
    buckets = max((len(result.bucket) for result in results), default=0)
    lines = []
    for result in results:
        word = "OK    " if result.is_up else "FAILED"
        words = result.problem.message if result.problem else f"{', '.join(result.granted)} ({result.seconds:.2f} s)"
        lines.append(f"{word}  {result.target:<{names}}  {result.bucket:<{buckets}}  {words}\n")
        if result.problem:
            lines.append(f"{'':{len(word) + names + buckets + 6}}help: {result.problem.help}\n")
    return "".join(lines)
