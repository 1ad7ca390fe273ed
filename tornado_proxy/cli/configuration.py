"""Commands for configurations: `config show`, `probe` for its buckets, and `convert` for another proxy's."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import yaml

from tornado_proxy.cli.inputs import load_settings, raise_errors, require_target
from tornado_proxy.cli.output import CommandError, ExitStatus, activity, not_a_file, save
from tornado_proxy.cli.output import show as show_diagnostics
from tornado_proxy.config.loading import load
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.config.show import show
from tornado_proxy.pages.loading import read_templates
from tornado_proxy.rules.diagnostic import Diagnostic, errors
from tornado_proxy.rules.loading import read_rule_files
from tornado_proxy.service.snapshot import Snapshot, compile_snapshot, read_to_check
from tornado_proxy.service.trials import probe_buckets
from tornado_proxy.storage.probe import ProbeResult
from tornado_proxy.telemetry.log import probe_fields
from tornado_proxy.tools.convert import conversion, hosting
from tornado_proxy.tools.convert.options import Unreadable, read, read_source
from tornado_proxy.tools.convert.rewrites import KeysAs


def run_config(arguments: argparse.Namespace) -> int:
    """Shows a configuration; returns 1 if it has mistakes."""
    # JSON first: YAML would write the types of Python.
    shown = json.dumps(show(load_settings(arguments.config)), indent=2, ensure_ascii=False)
    if arguments.format == "json":
        print(shown)
    else:
        print(yaml.safe_dump(json.loads(shown), sort_keys=False, allow_unicode=True, width=120), end="")
    return ExitStatus.CLEAN


def _template(places: Sequence[Path], path: str) -> str | None:
    """Returns the text of a template file, searched where s3-proxy may have run; None if it is not found."""
    folders = [Path(), *(folder for each in places for folder in (each, each.parent))]
    for folder in folders:
        with suppress(OSError, UnicodeDecodeError):
            return (folder / path).read_text(encoding="utf-8")
    return None


def run_convert(arguments: argparse.Namespace) -> int:
    """Converts; returns 1 if something needs a look or cannot be loaded, 2 if nothing was written."""
    is_redirects = arguments.what == "redirects"
    for option, value, is_here in (
        ("--keys-as", arguments.keys_as, not is_redirects),
        ("--from", arguments.origin, is_redirects),
        ("--target", arguments.target, is_redirects),
    ):
        if value and not is_here:
            raise CommandError(f"`{option}` has no meaning for `convert {arguments.what}`")
    if not arguments.out and (not is_redirects or arguments.format == "json"):
        raise CommandError("`--out DIR` is missing: where the files are written")
    try:
        if is_redirects:
            sources = [read_source(each) for each in arguments.files]
            origin, target = arguments.origin or hosting.origin_of(sources[0]), arguments.target or "site"
            done = hosting.convert_redirects(sources, origin, target, lists=arguments.out is not None)
        else:
            keys_as, templates = KeysAs(arguments.keys_as or KeysAs.ACTUAL.value), partial(_template, arguments.files)
            done = conversion.convert(read(arguments.files), keys_as, read_file=templates)
        files = {**done.files, conversion.REPORT: conversion.to_markdown(done.report)}
        if arguments.out:
            save(files, arguments.out, force=arguments.force)
    except Unreadable as error:
        raise CommandError(diagnostics=error.diagnostics) from error
    refused = _objections(arguments.out / conversion.CONFIGURATION) if not is_redirects else ()
    written = [str(arguments.out / name) for name in files] if arguments.out else []
    if arguments.format == "json":
        print(json.dumps(conversion.to_json(done.report, written, usable=not refused), indent=2, ensure_ascii=False))
    else:
        stream = sys.stdout if arguments.out else sys.stderr
        print(conversion.to_text(done.report, written, usable=not refused), end="", file=stream)
        print("" if arguments.out else "".join(done.files.values()), end="")
    show_diagnostics(refused)
    return ExitStatus.CLEAN if done.report.complete and not refused else ExitStatus.FINDINGS


def _objections(config: Path) -> Sequence[Diagnostic]:
    """Returns why `serve --check` refuses what was written; secrets and certificates may be elsewhere."""
    loaded = load(config, os.environ, unresolved)
    if loaded.settings is None:
        return errors(loaded.diagnostics)
    rules = read_rule_files(loaded.settings.rules, loaded.settings.rule_spans)
    templates = read_templates(loaded.settings)
    snapshot = Snapshot(loaded.settings, loaded.diagnostics, rules, "", (), templates=templates)
    return errors(compile_snapshot(snapshot).diagnostics)


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
        print(probe_text(results), end="")
    return ExitStatus.CLEAN if all(result.is_up for result in results) else ExitStatus.FINDINGS


def probe_text(results: Sequence[ProbeResult]) -> str:
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
        lines += [f"{'':{len(word) + names + buckets + 6}}note: {note}\n" for note in result.notes]
    return "".join(lines)
