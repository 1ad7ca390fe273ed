"""Write rule files in their one canonical layout."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tornado_proxy.cli.inputs import default_places
from tornado_proxy.cli.output import ExitStatus, colored_diff, show, wants_color
from tornado_proxy.lang.excerpt import visible
from tornado_proxy.rules.loading import RuleFile, read_rule_files
from tornado_proxy.tools.formatting import Formatted, difference, formatted, replace_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "paths",
        type=Path,
        nargs="*",
        metavar="PATH",
        help="rule files and directories of them (default: `rules/`, else the current directory); `-` reads standard "
        "input and writes standard output",
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--check", action="store_true", help="write nothing; list the files that would change")
    instead.add_argument("--diff", action="store_true", help="write nothing; show what would change")
    parser.add_argument(
        "--stdin-filename", default="<stdin>", metavar="NAME", help="what mistakes in standard input are shown with"
    )


def run(arguments: argparse.Namespace) -> int:
    """Format; 1 where a file has mistakes, or would change and is not to be written; 2 where one cannot be used."""
    act = _act(arguments)
    if Path("-") in arguments.paths:
        if len(arguments.paths) > 1:
            print("tornado-proxy fmt: `-` stands alone", file=sys.stderr)
            return ExitStatus.FAILED
        data = sys.stdin.buffer.read()
        return _do([RuleFile(arguments.stdin_filename, data)], act or _pass_on)
    read = read_rule_files(arguments.paths or default_places())
    show(read.diagnostics)
    status = _do(read.files, act or _write)
    return ExitStatus.FAILED if read.diagnostics else status


_Act = Callable[[Formatted], ExitStatus]


def _act(arguments: argparse.Namespace) -> _Act | None:
    """What is done with a file instead of writing it."""
    if arguments.check:
        return _list
    return _show_difference if arguments.diff else None


def _do(files: Sequence[RuleFile], act: _Act) -> ExitStatus:
    worst = ExitStatus.CLEAN
    for file in files:
        result = formatted(file)
        show(result.diagnostics)
        worst = max(worst, ExitStatus.FINDINGS if result.diagnostics else act(result))
    return worst


def _write(result: Formatted) -> ExitStatus:
    if not result.changed:
        return ExitStatus.CLEAN
    try:
        replace_file(Path(result.file.name), result.after)
    except OSError as error:
        print(f"tornado-proxy fmt: `{result.file.name}` cannot be written: {error.strerror}", file=sys.stderr)
        return ExitStatus.FAILED
    print(f"formatted {visible(result.file.name)}")
    return ExitStatus.CLEAN


def _pass_on(result: Formatted) -> ExitStatus:
    # Bytes: a terminal's encoding must not decide what a file holds.
    sys.stdout.flush()
    sys.stdout.buffer.write(result.after)
    return ExitStatus.CLEAN


def _list(result: Formatted) -> ExitStatus:
    if not result.changed:
        return ExitStatus.CLEAN
    print(f"would format {visible(result.file.name)}")
    return ExitStatus.FINDINGS


def _show_difference(result: Formatted) -> ExitStatus:
    if not result.changed:
        return ExitStatus.CLEAN
    lines = difference(result)
    for line in colored_diff(lines) if wants_color(sys.stdout) else lines:
        print(line)
    return ExitStatus.FINDINGS
