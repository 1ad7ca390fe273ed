"""Commands for the author of rules: `fmt`, `test`, and `lsp` for editors."""

from __future__ import annotations

import argparse
import json
import logging
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from gotemplate.regexp.matching import Pattern, compile_pattern
from gotemplate.regexp.syntax import PatternError
from tornado_proxy.cli.inputs import (
    add_file,
    add_flag,
    add_format,
    add_paths,
    configured_sites,
    default_places,
    load_rules,
    load_settings,
    number,
)
from tornado_proxy.cli.output import CommandError, ExitStatus, print_bytes, print_diff, show
from tornado_proxy.lint.engine import difference, formatted, replace_file
from tornado_proxy.rules.diagnostic import visible
from tornado_proxy.rules.loading import RuleFile, read_rule_files
from tornado_proxy.templates.template import TargetData
from tornado_proxy.tools.rule_tests import run_tests, summary, to_json, to_junit, to_text


def fmt_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_paths(
        parser,
        "rule files and directories of them (default: `rules/`, else the current directory); `-` reads standard input "
        "and writes standard output",
    )
    instead = parser.add_mutually_exclusive_group()
    add_flag(instead, "--check", "write nothing; list the files that would change")
    add_flag(instead, "--diff", "write nothing; show what would change")
    parser.add_argument(
        "--stdin-filename", default="<stdin>", metavar="NAME", help="the name of standard input in messages"
    )


def run_fmt(arguments: argparse.Namespace) -> int:
    """Formats; returns 1 if a file has mistakes, or would change with `--check` or `--diff`."""
    if Path("-") in arguments.paths:
        if len(arguments.paths) > 1:
            raise CommandError("`-` cannot be combined with other paths")
        return _format(RuleFile(arguments.stdin_filename, sys.stdin.buffer.read()), arguments)
    read = read_rule_files(arguments.paths or default_places())
    show(read.diagnostics)
    status = max((_format(file, arguments) for file in read.files), default=ExitStatus.CLEAN)
    return ExitStatus.FAILED if read.diagnostics else status


def _format(file: RuleFile, arguments: argparse.Namespace) -> ExitStatus:
    """Formats a file, or shows what would change; standard input is printed, changed or not."""
    after, diagnostics = formatted(file)
    show(diagnostics)
    if diagnostics:
        return ExitStatus.FINDINGS
    is_changed, is_dry = after != file.data, arguments.check or arguments.diff
    if Path("-") in arguments.paths and not is_dry:
        print_bytes(after)
    elif is_changed and arguments.check:
        print(f"would format {visible(file.name)}")
    elif is_changed and arguments.diff:
        print_diff(difference(file, after))
    elif is_changed:
        try:
            replace_file(Path(file.name), after)
        except OSError as error:
            return CommandError(f"`{file.name}` cannot be written: {error.strerror}").report("fmt")
        print(f"formatted {visible(file.name)}")
    return ExitStatus.FINDINGS if is_changed and is_dry else ExitStatus.CLEAN


def test_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_paths(
        parser,
        "rule files and directories of them, the whole set (default: those of `--config`, else `rules/`, else the "
        "current directory)",
    )
    add_file(parser, "--config", "a configuration; templates see its targets' buckets and mounts")
    parser.add_argument(
        "--run",
        type=_pattern,
        metavar="PATTERN",
        help="run only tests whose target, key or place (FILE:LINE:COLUMN) matches a pattern in Go's syntax",
    )
    add_flag(parser, "--coverage", "show which rewrites no test reaches")
    parser.add_argument(
        "--fail-under", type=number(float, 0, 100), metavar="PERCENT", help="fail if tests reach fewer of the rewrites"
    )
    add_format(parser, "text", "json", "junit")


def run_test(arguments: argparse.Namespace) -> int:
    """Runs tests; returns 1 if a test fails or tests reach too few rewrites."""
    data: Mapping[str, TargetData] = {}
    if arguments.config is None:
        loaded = load_rules(arguments.paths or default_places())
    else:
        settings = load_settings(arguments.config)
        loaded = load_rules(arguments.paths or settings.rules, settings)
        data = {each.target.name: each.data for each in configured_sites(settings, loaded)}
    result = run_tests(loaded.rule_sets.values(), data, arguments.run)
    if arguments.run is not None and not result.outcomes:
        raise CommandError(f"no test matches `{arguments.run.text}`")
    coverage = arguments.coverage or arguments.fail_under is not None
    if arguments.format == "text":
        print(to_text(result, coverage=coverage), end="")
    else:
        is_json = arguments.format == "json"
        print(json.dumps(to_json(result, coverage=coverage), indent=2) if is_json else to_junit(result))
        print(summary(result), file=sys.stderr)
    percent, least = result.coverage, arguments.fail_under or 0
    if percent < least and not result.failed:
        print(f"tests reach {percent:.1f} % of the rewrites, but {least:g} % are required", file=sys.stderr)
    return ExitStatus.FINDINGS if result.failed or percent < least else ExitStatus.CLEAN


def _pattern(text: str) -> Pattern:
    try:
        return compile_pattern(text)
    except PatternError as error:
        raise argparse.ArgumentTypeError(f"`{text}`: {error}") from None


def lsp_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_paths(
        parser,
        "rule files and directories of them that are read together (default: those of `--config`, else the directory "
        "that an open file stands in)",
    )
    add_file(parser, "--config", "a configuration, which allows more checks")
    add_flag(parser, "--stdio", "the default and only transport; many editors add this option")


def run_lsp(arguments: argparse.Namespace) -> int:
    """Serves until the editor ends it; raises `CommandError` if the extra `lsp` is missing."""
    from importlib.metadata import version  # noqa: PLC0415 - the other commands start faster

    from tornado_proxy.service.runtime import end_process  # noqa: PLC0415 - the same

    try:
        from tornado_proxy.tools.lsp.server import RulesServer  # noqa: PLC0415 - pygls is an extra
    except ModuleNotFoundError as error:
        advice = "install it with `pip install '.[lsp]'` in a checkout"
        raise CommandError(f"the extra `lsp` is missing ({error.name}); {advice}") from error
    settings = load_settings(arguments.config) if arguments.config else None
    # Editors show standard error, where pygls would log every message.
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    # A thread of pygls waits for the editor, so that `KeyboardInterrupt` could not end the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    places = arguments.paths or list(settings.rules if settings else ())
    RulesServer(version("tornado-proxy"), places, settings).start_io()
    return end_process(ExitStatus.CLEAN)
