"""Run the tests that stand beside the rules."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tornado_proxy.cli.inputs import CommandError, configured_sites, default_places, load_rules, load_settings
from tornado_proxy.cli.output import ExitStatus
from tornado_proxy.goregex.matching import Pattern, compile_pattern
from tornado_proxy.goregex.syntax import PatternError
from tornado_proxy.templates.template import TargetData
from tornado_proxy.tools.rule_tests import TestRun, run_tests, summary, to_json, to_junit, to_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "paths",
        type=Path,
        nargs="*",
        metavar="PATH",
        help="rule files and directories of them, the whole set (default: those of `--config`, else `rules/`, else "
        "the current directory)",
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="a configuration; templates see its targets' buckets and mounts"
    )
    parser.add_argument(
        "--run",
        type=_pattern,
        metavar="PATTERN",
        help="run only tests whose target, key or place (FILE:LINE:COLUMN) matches a pattern in Go's syntax",
    )
    parser.add_argument("--coverage", action="store_true", help="show which rewrites no test reaches")
    parser.add_argument(
        "--fail-under", type=_percent, metavar="PERCENT", help="fail if tests reach fewer of the rewrites"
    )
    parser.add_argument("--format", "--output-format", dest="format", choices=tuple(_FORMATS), default="text")


def run(arguments: argparse.Namespace) -> int:
    """Test; 1 if a test fails, too few rewrites are reached or the files have mistakes."""
    try:
        result = _tested(arguments)
    except CommandError as error:
        return error.report("test")
    if arguments.run is not None and not result.total:
        print(f"tornado-proxy test: no test matches `{arguments.run.text}`", file=sys.stderr)
        return ExitStatus.FAILED
    print(_FORMATS[arguments.format](result, arguments.coverage or arguments.fail_under is not None), end="")
    if arguments.format != "text":
        print(summary(result), file=sys.stderr)
    return ExitStatus.FINDINGS if result.failed or _too_few(result, arguments.fail_under) else ExitStatus.CLEAN


def _tested(arguments: argparse.Namespace) -> TestRun:
    known: Mapping[str, TargetData] = {}
    if arguments.config is None:
        loaded = load_rules(arguments.paths or default_places())
    else:
        settings = load_settings(arguments.config)
        loaded = load_rules(arguments.paths or settings.rules, settings)
        known = {each.target.name: each.data for each in configured_sites(settings, loaded)}
    return run_tests(loaded.rule_sets.values(), known, arguments.run)


def _too_few(result: TestRun, least: float | None) -> bool:
    percent = result.coverage.percent
    if least is None or percent >= least:
        return False
    print(f"tests reach {percent:.1f} % of the rewrites, but {least:g} % are required", file=sys.stderr)
    return True


def _json(result: TestRun, coverage: bool) -> str:  # noqa: FBT001 - a row of the table of formats
    return f"{json.dumps(to_json(result, coverage=coverage), indent=2)}\n"


def _junit(result: TestRun, _coverage: bool) -> str:  # noqa: FBT001 - the same
    return to_junit(result)


def _text(result: TestRun, coverage: bool) -> str:  # noqa: FBT001 - the same
    return to_text(result, coverage=coverage)


_FORMATS: Mapping[str, Callable[[TestRun, bool], str]] = {"text": _text, "json": _json, "junit": _junit}


def _pattern(text: str) -> Pattern:
    try:
        return compile_pattern(text)
    except PatternError as error:
        raise argparse.ArgumentTypeError(f"`{text}`: {error}") from None


def _percent(text: str) -> float:
    try:
        percent = float(text)
    except ValueError:
        percent = -1
    if not 0 <= percent <= 100:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number from 0 to 100")
    return percent
