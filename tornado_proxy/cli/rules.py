"""Commands for the author of rules: `lint`, `fmt`, `test`, and `lsp` for editors."""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from msgspec.structs import replace

from tornado_proxy.cli.inputs import CONFIGURATIONS, configured_sites, default_places, load_rules, load_settings
from tornado_proxy.cli.output import CommandError, ExitStatus, activity, print_bytes, print_diff, show, wants_color
from tornado_proxy.config.loading import load
from tornado_proxy.config.model import Settings
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.lint import engine
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.reporters import FORMATS, render_full
from tornado_proxy.lint.subject import subject_of
from tornado_proxy.rules.diagnostic import Diagnostic, Safety, Severity, Span, counted, errors, visible
from tornado_proxy.rules.lists import from_disk
from tornado_proxy.rules.loading import HelperTexts, RuleFile, compile_rule_files, no_helpers, read_rule_files
from tornado_proxy.templates.template import TargetData
from tornado_proxy.tools.rule_tests import run_tests, summary, to_json, to_junit, to_text

_STANDARD_INPUT = "-"


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
        (word,) = engine.read_words([arguments.explain], CHECKS)
        heads = {check: f"{check.name} ({check.category.value}, {check.severity.value})" for check in CHECKS}
        chosen = (each for each in CHECKS if word in (engine.ALL, each.name, each.category.value))
        print("\n\n".join(f"{heads[each]}\n\n{each.manual}\n" for each in chosen), end="")
    except (engine.SettingsMistake, engine.UnknownWord) as error:
        raise CommandError(str(error)) from error
    finally:
        gc.enable()
    return ExitStatus.CLEAN


def _linted(arguments: argparse.Namespace) -> ExitStatus:
    read, look = _files_to_lint(arguments)
    fixes = {Safety.SAFE} if arguments.fix or arguments.diff or arguments.unsafe_fixes else set()
    if not fixes:
        return _print_report(look(read), arguments.format, sys.stdout)
    fixed = engine.fix_all(read, look, fixes | ({Safety.UNSAFE} if arguments.unsafe_fixes else set()))
    files = engine.changed(read, fixed.files)
    if arguments.diff:
        for before, after in files.items():
            print_diff(engine.difference(before, after.data))
        return ExitStatus.FINDINGS if files else ExitStatus.CLEAN
    if _STANDARD_INPUT in arguments.paths:
        print_bytes(*(file.data for file in fixed.files))
        return _print_report(fixed.report, arguments.format, sys.stderr)
    for file in files.values():
        try:
            engine.replace_file(Path(file.name), file.data)
        except OSError as error:
            raise CommandError(f"`{file.name}` cannot be written: {error.strerror}") from error
    if fixed.count:
        done = f"{counted(fixed.count, 'fix', 'fixes')} applied in {counted(len(files), 'file')}"
        print(done, file=sys.stderr)
    return _print_report(fixed.report, arguments.format, sys.stdout)


def _files_to_lint(arguments: argparse.Namespace) -> tuple[tuple[RuleFile, ...], engine.Look]:
    """Returns the files, and the function that lints them, before or after fixes; raises `CommandError`."""
    if len(arguments.paths) > 1 and _STANDARD_INPUT in arguments.paths and (arguments.fix or arguments.unsafe_fixes):
        raise CommandError("`-` cannot be combined with other paths if it is to be fixed")
    first = next((path for path in arguments.paths if path != _STANDARD_INPUT), arguments.stdin_filename)
    linting = engine.find_settings(Path(first) if arguments.paths else Path(), CHECKS)
    among = [path for path in arguments.paths if path.endswith(CONFIGURATIONS)]
    configurations = [*([arguments.config] if arguments.config else []), *map(Path, among)]
    if len(configurations) > 1:
        raise CommandError(f"several configurations: {', '.join(f'`{each}`' for each in configurations)}: give one")
    config = next(iter(configurations), None)
    paths = [path for path in arguments.paths if path not in among]
    settings, helpers, mistakes = _configuration(config)
    usual: Sequence[Path] = settings.rules if settings else default_places()
    if config is not None and settings is None:
        usual = ()  # which files it names is not known while it has mistakes
    files, listed = _files(paths or usual, arguments.stdin_filename, settings.rule_spans if settings else {})
    linting = _overridden(linting, arguments)
    if engine.ALL not in linting.select - linting.ignore:
        mistakes = errors(mistakes)  # the warnings of a configuration have no names, and belong to `all`

    rules = {file.name for file in files}

    def look(files: Sequence[RuleFile]) -> engine.LintReport:
        lists = {file.name: file.data for file in files if file.name not in rules}

        def list_file(path: str) -> bytes:
            return lists[path] if path in lists else from_disk(path)

        with activity(f"linting {counted(len(files), 'file')}"):
            loaded = compile_rule_files((each for each in files if each.name in rules), None, helpers, list_file)
            return engine.lint(subject_of(loaded, settings, mistakes), CHECKS, linting)

    return (*files, *(file for file in listed if file.name not in rules)), look


def _overridden(linting: engine.LintSettings, arguments: argparse.Namespace) -> engine.LintSettings:
    """Returns the settings of a file with those of the arguments in their place."""
    if arguments.select == []:
        raise CommandError(f"`--select` names no check; leave it out, or give `{engine.ALL}`")
    if arguments.select is not None:
        linting = replace(linting, select=engine.read_words(arguments.select, CHECKS), ignore=frozenset())
    if arguments.fail_level or arguments.exit_zero:
        linting = replace(linting, fail_level=None if arguments.exit_zero else Severity(arguments.fail_level))
    return replace(linting, ignore=linting.ignore | engine.read_words(arguments.ignore, CHECKS))


def _configuration(path: Path | None) -> tuple[Settings | None, HelperTexts, tuple[Diagnostic, ...]]:
    """Returns the settings of a file, its helper templates, and the diagnostics of it and its pages."""
    if path is None:
        return None, no_helpers, ()
    from tornado_proxy.pages.loading import compile_pages, read_templates  # noqa: PLC0415 - with a configuration only

    loaded = load(path, os.environ, unresolved)
    if loaded.source is None:
        raise CommandError("\n".join(each.message for each in loaded.diagnostics))
    if loaded.settings is None:
        return None, no_helpers, loaded.diagnostics
    pages = compile_pages(loaded.settings, read_templates(loaded.settings))
    return loaded.settings, pages.helpers, (*loaded.diagnostics, *pages.diagnostics)


def _files(
    places: Sequence[str | Path], stdin_filename: str, spans: Mapping[Path, Span | None]
) -> tuple[tuple[RuleFile, ...], tuple[RuleFile, ...]]:
    """Returns the rule files of some places and the lists that they name; raises `CommandError`.

    One may be from standard input; lists are then read, but not among the files.
    """
    roots = (Path(place) for place in places if place != _STANDARD_INPUT)
    read = read_rule_files(roots, spans)
    if read.diagnostics:
        raise CommandError(diagnostics=read.diagnostics)
    if _STANDARD_INPUT not in places:
        return read.files, read.list_files
    from_input = RuleFile(stdin_filename, sys.stdin.buffer.read())
    place = Path(stdin_filename).resolve()
    names = {file.name for file in read.files if Path(file.name).resolve() == place}
    others = tuple(RuleFile(file.name, from_input.data) if file.name in names else file for file in read.files)
    return others if names else (*others, from_input), ()


def _print_report(report: engine.LintReport, name: str, stream: TextIO) -> ExitStatus:
    text = render_full(report, color=wants_color(stream)) if name == "full" else FORMATS[name](report)
    print(text, end="", file=stream)
    if report.broken:
        return ExitStatus.FAILED
    return ExitStatus.FINDINGS if report.failing else ExitStatus.CLEAN


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
    after, diagnostics = engine.formatted(file)
    show(diagnostics)
    if diagnostics:
        return ExitStatus.FINDINGS
    is_changed, is_dry = after != file.data, arguments.check or arguments.diff
    if Path("-") in arguments.paths and not is_dry:
        print_bytes(after)
    elif is_changed and arguments.check:
        print(f"would format {visible(file.name)}")
    elif is_changed and arguments.diff:
        print_diff(engine.difference(file, after))
    elif is_changed:
        try:
            engine.replace_file(Path(file.name), after)
        except OSError as error:
            return CommandError(f"`{file.name}` cannot be written: {error.strerror}").report("fmt")
        print(f"formatted {visible(file.name)}")
    return ExitStatus.FINDINGS if is_changed and is_dry else ExitStatus.CLEAN


def run_test(arguments: argparse.Namespace) -> int:
    """Runs tests; returns 1 if a test fails or tests reach too few rewrites."""
    data: Mapping[str, TargetData] = {}
    if arguments.config is None:
        loaded = load_rules(read_rule_files(arguments.paths or default_places()))
    else:
        settings = load_settings(arguments.config)
        loaded = load_rules(read_rule_files(arguments.paths or settings.rules, settings.rule_spans), settings)
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
