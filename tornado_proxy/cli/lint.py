"""The command that lints rule files, and fixes them."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TextIO

from msgspec.structs import replace

from tornado_proxy.cli.inputs import add_file, add_flag, default_places, file_name
from tornado_proxy.cli.output import CommandError, ExitStatus, activity, print_bytes, print_diff, wants_color
from tornado_proxy.config.model import Settings
from tornado_proxy.lint.check import subject_of
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import (
    ALL,
    LintReport,
    LintSettings,
    Look,
    SettingsMistake,
    UnknownWord,
    changed,
    difference,
    find_settings,
    fix_all,
    lint,
    read_words,
    replace_file,
)
from tornado_proxy.lint.reporters import FORMATS, render_full
from tornado_proxy.rules.diagnostic import Diagnostic, Safety, Severity, counted, errors
from tornado_proxy.rules.loading import HelperTexts, RuleFile, compile_rule_files, no_helpers, read_rule_files

_STANDARD_INPUT = "-"
_CONFIGURATIONS = (".yaml", ".yml")


def lint_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument(
        "paths",
        type=file_name,
        nargs="*",
        metavar="PATH",
        help="rule files and directories of them, the whole set (default: those of `--config`, else `rules/`, else "
        "the current directory); `-` reads one of them from standard input; one that ends in `.yaml` or `.yml` is the "
        "configuration",
    )
    add_file(parser, "--config", "a configuration, which some checks need")
    parser.add_argument(
        "--stdin-filename", default="<stdin>", metavar="NAME", help="the file name to show for standard input"
    )
    checks = parser.add_argument_group("checks")
    add_words = partial(checks.add_argument, type=_words, action="extend", metavar="A,B")
    add_words("--select", help="checks and categories to run, instead of those of the settings; may be repeated")
    add_words("--ignore", default=[], help="checks and categories to skip; may be repeated")
    checks.add_argument(
        "--fail-level",
        choices=[each.value for each in Severity],
        metavar="LEVEL",
        help="`error`, `warning` or `info`: from which severity on a finding fails the run (default: warning)",
    )
    add_flag(checks, "--exit-zero", "no finding fails the run")
    fixes = parser.add_argument_group("fixes")
    add_flag(fixes, "--fix", "apply the safe fixes, which change no key")
    add_flag(fixes, "--unsafe-fixes", "also apply fixes that may change keys")
    add_flag(fixes, "--diff", "write nothing; show what fixes would change")
    output = parser.add_argument_group("output")
    output.add_argument("--format", "--output-format", choices=tuple(FORMATS), default="full", dest="format")
    output.add_argument(
        "--explain", metavar="NAME", help="print the manual pages of a check, a category or `all`, and nothing else"
    )
    add_flag(output, "--list", "list all checks, and nothing else")


def run_lint(arguments: argparse.Namespace) -> int:
    """Lints; returns 1 if a finding fails the run or `--diff` has something to show."""
    if arguments.list:
        width = max(len(check.name) for check in CHECKS)
        for check in CHECKS:
            print(f"{check.name:<{width}}  {check.category.value:<9} {check.severity.value:<8} {check.summary}")
        return ExitStatus.CLEAN
    # All trees are used to the end, and the collector's scans of thousands of them take a third of the time.
    gc.disable()
    try:
        if arguments.explain is None:
            return _linted(arguments)
        (word,) = read_words([arguments.explain], CHECKS)
        heads = {check: f"{check.name} ({check.category.value}, {check.severity.value})" for check in CHECKS}
        chosen = (each for each in CHECKS if word in (ALL, each.name, each.category.value))
        print("\n\n".join(f"{heads[each]}\n\n{each.manual}\n" for each in chosen), end="")
    except (SettingsMistake, UnknownWord) as error:
        raise CommandError(str(error)) from error
    finally:
        gc.enable()
    return ExitStatus.CLEAN


def _linted(arguments: argparse.Namespace) -> ExitStatus:
    read, look = _files_to_lint(arguments)
    fixes = {Safety.SAFE} if arguments.fix or arguments.diff or arguments.unsafe_fixes else set()
    if not fixes:
        return _print_report(look(read), arguments.format, sys.stdout)
    fixed = fix_all(read, look, fixes | ({Safety.UNSAFE} if arguments.unsafe_fixes else set()))
    files = changed(read, fixed.files)
    if arguments.diff:
        for before, after in files.items():
            print_diff(difference(before, after.data))
        return ExitStatus.FINDINGS if files else ExitStatus.CLEAN
    if _STANDARD_INPUT in arguments.paths:
        print_bytes(*(file.data for file in fixed.files))
        return _print_report(fixed.report, arguments.format, sys.stderr)
    for file in files.values():
        try:
            replace_file(Path(file.name), file.data)
        except OSError as error:
            raise CommandError(f"`{file.name}` cannot be written: {error.strerror}") from error
    if fixed.count:
        done = f"{counted(fixed.count, 'fix', 'fixes')} applied in {counted(len(files), 'file')}"
        print(done, file=sys.stderr)
    return _print_report(fixed.report, arguments.format, sys.stdout)


def _files_to_lint(arguments: argparse.Namespace) -> tuple[tuple[RuleFile, ...], Look]:
    """Returns the files, and the function that lints them, before or after fixes; raises `CommandError`."""
    if len(arguments.paths) > 1 and _STANDARD_INPUT in arguments.paths and (arguments.fix or arguments.unsafe_fixes):
        raise CommandError("`-` cannot be combined with other paths if it is to be fixed")
    first = next((path for path in arguments.paths if path != _STANDARD_INPUT), arguments.stdin_filename)
    linting = find_settings(Path(first) if arguments.paths else Path(), CHECKS)
    among = [path for path in arguments.paths if path.endswith(_CONFIGURATIONS)]
    configurations = [*([arguments.config] if arguments.config else []), *map(Path, among)]
    if len(configurations) > 1:
        raise CommandError(f"several configurations: {', '.join(f'`{each}`' for each in configurations)}: give one")
    config = next(iter(configurations), None)
    paths = [path for path in arguments.paths if path not in among]
    settings, helpers, mistakes = _configuration(config)
    usual: Sequence[Path] = settings.rules if settings else default_places()
    if config is not None and settings is None:
        usual = ()  # which files it names is not known while it has mistakes
    files = _files(paths or usual, arguments.stdin_filename)
    linting = _overridden(linting, arguments)
    if ALL not in linting.select - linting.ignore:
        mistakes = errors(mistakes)  # the warnings of a configuration have no names, and belong to `all`

    def look(files: Sequence[RuleFile]) -> LintReport:
        with activity(f"linting {counted(len(files), 'file')}"):
            subject = subject_of(compile_rule_files(files, None, helpers), settings, mistakes)
            return lint(subject, CHECKS, linting)

    return files, look


def _overridden(linting: LintSettings, arguments: argparse.Namespace) -> LintSettings:
    """Returns the settings of a file with those of the arguments in their place."""
    if arguments.select == []:
        raise CommandError(f"`--select` names no check; leave it out, or give `{ALL}`")
    if arguments.select is not None:
        linting = replace(linting, select=read_words(arguments.select, CHECKS), ignore=frozenset())
    if arguments.fail_level or arguments.exit_zero:
        linting = replace(linting, fail_level=None if arguments.exit_zero else Severity(arguments.fail_level))
    return replace(linting, ignore=linting.ignore | read_words(arguments.ignore, CHECKS))


def _configuration(path: Path | None) -> tuple[Settings | None, HelperTexts, tuple[Diagnostic, ...]]:
    """Returns the settings of a file, its helper templates, and the diagnostics of it and its pages."""
    if path is None:
        return None, no_helpers, ()
    from tornado_proxy.config.loading import load  # noqa: PLC0415 - YAML, for a configuration only
    from tornado_proxy.config.secrets import unresolved  # noqa: PLC0415 - the same
    from tornado_proxy.pages.loading import compile_pages, read_templates  # noqa: PLC0415 - the same

    loaded = load(path, os.environ, unresolved)
    if loaded.source is None:
        raise CommandError("\n".join(each.message for each in loaded.diagnostics))
    if loaded.settings is None:
        return None, no_helpers, loaded.diagnostics
    pages = compile_pages(loaded.settings, read_templates(loaded.settings))
    return loaded.settings, pages.helpers, (*loaded.diagnostics, *pages.diagnostics)


def _files(places: Sequence[str | Path], stdin_filename: str) -> tuple[RuleFile, ...]:
    """Returns the rule files of some places, one of them from standard input; raises `CommandError`."""
    roots = (Path(place) for place in places if place != _STANDARD_INPUT)
    read = read_rule_files(roots)
    if read.diagnostics:
        reasons = (each.message + (f": {each.help}" if each.help else "") for each in read.diagnostics)
        raise CommandError("\n".join(reasons))
    if _STANDARD_INPUT not in places:
        return read.files
    from_input = RuleFile(stdin_filename, sys.stdin.buffer.read())
    place = Path(stdin_filename).resolve()
    names = {file.name for file in read.files if Path(file.name).resolve() == place}
    others = tuple(RuleFile(file.name, from_input.data) if file.name in names else file for file in read.files)
    return others if names else (*others, from_input)


def _print_report(report: LintReport, name: str, stream: TextIO) -> ExitStatus:
    text = render_full(report, color=wants_color(stream)) if name == "full" else FORMATS[name](report)
    print(text, end="", file=stream)
    if report.broken:
        return ExitStatus.FAILED
    return ExitStatus.FINDINGS if report.failing else ExitStatus.CLEAN


def _words(text: str) -> list[str]:
    return [word for each in text.split(",") if (word := each.strip())]
