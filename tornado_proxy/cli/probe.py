"""The command that checks whether each bucket of a configuration can be used."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Sequence

from tornado_proxy.cli.arguments import add_file, add_flag, add_format, add_timeout
from tornado_proxy.cli.inputs import raise_errors, require_target
from tornado_proxy.cli.output import CommandError, ExitStatus, activity, not_a_file
from tornado_proxy.service.reload.probing import probe_buckets
from tornado_proxy.service.reload.snapshot import read_to_check
from tornado_proxy.storage.limits import PROBE_WITHIN
from tornado_proxy.storage.probe import ProbeResult
from tornado_proxy.telemetry.log import probe_fields


def probe_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="the targets to probe (default: all)")
    add_file(parser, "--config", "the configuration, in YAML", required=True)
    add_flag(
        parser, "--write", "also store an empty object and remove it, where a target takes uploads or removes objects"
    )
    add_timeout(parser, PROBE_WITHIN, "each bucket may take")
    add_format(parser, "text", "json")


def run_probe(arguments: argparse.Namespace) -> int:
    """Probes; returns 1 if a bucket cannot be used or the configuration has mistakes."""
    if not arguments.config.is_file():
        raise CommandError(not_a_file(arguments.config))
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
