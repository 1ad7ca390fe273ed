"""Runs the checks that the settings choose, drops findings that are allowed, and applies fixes until there are no more.

The name of a check takes precedence over its category, and of two equal words the one that turns off: `--select tests
--ignore failing-test` leaves one test check out, `--ignore tests --select failing-test` leaves it in.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import stat
import tempfile
import tomllib
from bisect import bisect, insort
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from tornado_proxy.lint.check import Category, Check
from tornado_proxy.lint.limits import ROUNDS_OF_FIXES
from tornado_proxy.lint.subject import Allowances, Subject
from tornado_proxy.rules.diagnostic import Diagnostic, Edit, Fix, Safety, Severity, Span, decode, did_you_mean, errors
from tornado_proxy.rules.loading import RuleFile
from tornado_proxy.rules.parser import parse
from tornado_proxy.rules.tree import print_document

ALL = "all"  # the word for every check


class UnknownWord(ValueError):
    """A word that is neither a check, nor a category, nor `all`."""

    def __init__(self, word: str, meant: str | None) -> None:
        advice = f"did you mean `{meant}`?" if meant else "`tornado-proxy lint --list` lists them"
        super().__init__(f"unknown check or category `{word}`; {advice}")


class LintSettings(msgspec.Struct, frozen=True):
    """The words that turn checks on and off, and the least severity of a finding that fails a run; None for no finding.

    `per_file` are globs relative to `directory`, with checks that are off.
    """

    select: frozenset[str] = frozenset({ALL})
    ignore: frozenset[str] = frozenset()
    per_file: Mapping[str, frozenset[str]] = {}
    directory: Path = Path()
    fail_level: Severity | None = Severity.WARNING

    def checks(self, checks: Iterable[Check]) -> list[Check]:
        """Returns the checks that run."""
        running = []
        for check in checks:
            words = (check.name, check.category.value, ALL)  # the first that is given counts
            word = next((word for word in words if word in self.ignore | self.select), None)
            if word in self.select - self.ignore:
                running.append(check)
        return running

    def hides(self, check: Check, file: str) -> bool:
        """Returns whether a check is off for a file."""
        if not self.per_file:
            return False
        path = Path(os.path.relpath(file, self.directory)).as_posix()
        words = {check.name, check.category.value, ALL}
        return any(fnmatchcase(path, glob) and not words.isdisjoint(off) for glob, off in self.per_file.items())


def read_words(words: Iterable[str], checks: Collection[Check]) -> frozenset[str]:
    """Returns the words if each is known; raises `UnknownWord`."""
    names = {ALL, *(category.value for category in Category), *(check.name for check in checks)}
    chosen = frozenset(words)
    for word in sorted(chosen - names):
        raise UnknownWord(word, did_you_mean(word, sorted(names)))
    return chosen


OWN_FILE = "tornado-proxy.toml"
SHARED_FILE = "pyproject.toml"


class SettingsMistake(Exception):
    """Settings that cannot be used; the text has a line for each mistake."""

    def __init__(self, file: Path, *facts: str) -> None:
        here = Path.cwd()
        shown = file.relative_to(here) if file.is_relative_to(here) else file
        super().__init__("\n".join(f"`{shown}`{fact}" for fact in facts))


def find_settings(start: Path, checks: Collection[Check]) -> LintSettings:
    """Returns the settings of the nearest file at or above a path; raises `SettingsMistake`."""
    place = start.resolve()
    for directory in (place, *place.parents):
        for name, keys in ((OWN_FILE, ("lint",)), (SHARED_FILE, ("tool", "tornado-proxy", "lint"))):
            if (table := _table(directory / name, keys)) is not None:
                return _read(table, directory / name, checks)
    return LintSettings()


def _table(file: Path, keys: tuple[str, ...]) -> Mapping[str, Any] | None:
    """Returns the table of a file; None if the file or the table does not exist."""
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsMistake(file, f" cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if file.name == SHARED_FILE and keys[1] not in text:
        return None
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsMistake(file, f" is not TOML: {error}") from error
    for key in keys:
        # An unknown table beside the linter's may be a misspelt one, which would be ignored silently.
        if key == keys[-1] and (strange := [each for each in table if each != key]):
            raise SettingsMistake(file, *(f": unknown table `{each}`; the only one is `{key}`" for each in strange))
        if key not in table:
            return {} if file.name == OWN_FILE else None
        table = table[key]
        if not isinstance(table, dict):
            raise SettingsMistake(file, f": `{'.'.join(keys)}` is not a table")
    return table


def _words(value: Any, checks: Collection[Check]) -> frozenset[str]:
    if not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
        raise ValueError("must be a list of checks and categories")
    return read_words(value, checks)


def _value(name: str, value: Any, checks: Collection[Check]) -> Any:
    """Reads a setting; raises `ValueError`."""
    if name == "fail-level":
        if value not in (levels := [each.value for each in Severity]):
            raise ValueError(f"must be one of {', '.join(levels)}")
        return Severity(value)
    if name == "per-file-ignores":
        if not isinstance(value, dict):
            raise ValueError("must be a table of globs, each with the checks that are off for its files")
        return {glob: _words(words, checks) for glob, words in value.items()}
    words = _words(value, checks)
    if name == "select" and not words:
        raise ValueError("is empty, so nothing would run; leave it out for all")
    return words


_FIELDS = {"select": "select", "ignore": "ignore", "fail-level": "fail_level", "per-file-ignores": "per_file"}
"""The settings of a file, with their fields."""


def _read(table: Mapping[str, Any], file: Path, checks: Collection[Check]) -> LintSettings:
    values: dict[str, Any] = {}
    mistakes: list[str] = []
    for name, value in table.items():
        try:
            if name in _FIELDS:
                values[_FIELDS[name]] = _value(name, value, checks)
                continue
            meant, others = did_you_mean(name, _FIELDS), ", ".join(f"`{each}`" for each in _FIELDS)
            advice = f"did you mean `{meant}`?" if meant else f"the settings are {others}"
            mistakes.append(f": unknown setting `{name}`; {advice}")
        except ValueError as error:
            mistakes.append(f": `{name}`{':' if isinstance(error, UnknownWord) else ''} {error}")
    if mistakes:
        raise SettingsMistake(file, *mistakes)
    return LintSettings(directory=file.parent, **values)


INTERNAL_ERROR = "internal-error"  # the code of the diagnostic for a check that raised an exception
_WEIGHTS = {Severity.INFO: 0, Severity.WARNING: 1, Severity.ERROR: 2}


class LintReport(msgspec.Struct, frozen=True):
    """The findings in the order of the files, and the files and checks of the run.

    `judged` names the checks that ran; other codes come from the parser, the compiler or the configuration.
    """

    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...] = ()
    rewrite_count: int = 0
    address_count: int = 0  # in lists
    judged: frozenset[str] = frozenset()
    fail_level: Severity | None = Severity.WARNING  # None: nothing fails the run

    @property
    def failing(self) -> tuple[Diagnostic, ...]:
        """The findings that fail the run."""
        if self.fail_level is None:
            return ()
        worst = _WEIGHTS[self.fail_level]
        return tuple(each for each in self.diagnostics if _WEIGHTS[each.severity] >= worst)

    @property
    def broken(self) -> bool:
        """Whether a check has raised an exception."""
        return any(each.code == INTERNAL_ERROR for each in self.diagnostics)


def lint(subject: Subject, checks: Sequence[Check], settings: LintSettings | None = None) -> LintReport:
    """Runs the selected checks over a subject, in their order."""
    chosen = settings or LintSettings()
    running = chosen.checks(checks)
    able = frozenset(check.name for check in running if subject.settings or not check.needs_configuration)
    allowances = Allowances(subject.documents, able, tuple(check.name for check in checks), subject.lists)
    asked = replace(subject, allowances=allowances)
    diagnostics = [*subject.mistakes]
    for check in running:
        for each in _looked(check, asked):
            if not (allowances.silence(each) or (each.span and chosen.hides(check, each.span.source.name))):
                diagnostics.append(each)  # noqa: PERF401 - a check sees which allowances the checks before it used
    lists = (each.source.name for each in subject.lists)
    names = tuple(dict.fromkeys((*(document.source.name for document in subject.documents), *lists)))
    order = {name: number for number, name in enumerate(names)}

    def place(diagnostic: Diagnostic) -> tuple[int, str, int]:
        """Returns the place in the order of reading; findings without a place come first."""
        if diagnostic.span is None:
            return -1, "", 0
        name = diagnostic.span.source.name
        return order.get(name, -1), name, diagnostic.span.start

    diagnostics.sort(key=place)
    counts = subject.rewrite_count, subject.address_count
    return LintReport(tuple(diagnostics), names, *counts, able, chosen.fail_level)


def _looked(check: Check, subject: Subject) -> Iterator[Diagnostic]:
    """Yields the findings of a check, and its exception if it raises one."""
    try:
        yield from map(check.diagnostic, check.find(subject))
    except Exception as error:  # noqa: BLE001 - one check's defect must not hide what the others find
        message = f"the check `{check.name}` failed: {type(error).__name__}: {error}"
        yield Diagnostic(INTERNAL_ERROR, message, None, "please report this, with the rule files if you can")


Look = Callable[[Sequence[RuleFile]], LintReport]  # lints some state of the files
_MARK = b"\xef\xbb\xbf"


class Fixed(msgspec.Struct, frozen=True):
    """The files after all fixes, the report on them, and the number of fixes."""

    files: tuple[RuleFile, ...]
    report: LintReport
    count: int = 0


def applicable(diagnostics: Iterable[Diagnostic], allowed: Collection[Safety]) -> list[Fix]:
    """Returns the first fix of each diagnostic that has one of the allowed kinds."""
    offered = (next((fix for fix in each.fixes if fix.safety in allowed), None) for each in diagnostics)
    return [fix for fix in offered if fix is not None]


def fix_all(files: Sequence[RuleFile], look: Look, allowed: Collection[Safety]) -> Fixed:
    """Applies fixes in rounds, linting again after each; leaves out a fix that would break a file."""
    fixed = Fixed(tuple(files), look(files))
    names = {file.name for file in files}
    for _ in range(ROUNDS_OF_FIXES):
        offered = applicable(fixed.report.diagnostics, allowed)
        # The lists of rules that were read from standard input are not among the files.
        fixes = apart(fix for fix in offered if all(edit.span.source.name in names for edit in fix.edits))
        better = _after(fixed, fixes, look) or _after(fixed, _bearable(fixed, fixes, look), look)
        if better is None or better.count == fixed.count:
            break
        fixed = better
    return fixed


def _after(fixed: Fixed, fixes: Sequence[Fix], look: Look) -> Fixed | None:
    """Returns the files after fixes that do not touch one another; None if a file would break."""
    if not fixes:
        return fixed
    edits = [edit for fix in fixes for edit in fix.edits]
    changed = []
    for file in fixed.files:
        here = [edit for edit in edits if edit.span.source.name == file.name]
        mark = _MARK if file.data.startswith(_MARK) else b""
        text = mark + edited(here[0].span.source.text, here).encode() if here else file.data
        changed.append(RuleFile(file.name, text) if here else file)
    report = look(changed)
    broken = len(_mistakes(report)) > len(_mistakes(fixed.report))
    return None if broken else Fixed(tuple(changed), report, fixed.count + len(fixes))


def _bearable(fixed: Fixed, fixes: Sequence[Fix], look: Look) -> Sequence[Fix]:
    """Returns the fixes that do not break a file, if all together do: halves are tried."""
    if len(fixes) < 2:
        return ()
    middle = len(fixes) // 2
    halves = (fixes[:middle], fixes[middle:])
    return [fix for half in halves for fix in (half if _after(fixed, half, look) else _bearable(fixed, half, look))]


def _mistakes(report: LintReport) -> list[Diagnostic]:
    """Returns the mistakes that keep files from being used."""
    return [each for each in errors(report.diagnostics) if each.code not in report.judged]


def apart(fixes: Iterable[Fix]) -> list[Fix]:
    """Returns the fixes that touch no place of a fix before them."""
    chosen: list[Fix] = []
    taken: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)  # by file, in order
    for fix in fixes:
        if all(_is_free(taken[edit.span.source.name], edit.span) for edit in fix.edits):
            chosen.append(fix)
            for edit in fix.edits:
                insort(taken[edit.span.source.name], (edit.span.start, edit.span.end))
    return chosen


def _is_free(taken: Sequence[tuple[int, int]], span: Span) -> bool:
    at = bisect(taken, (span.start, span.end))
    return (at == 0 or taken[at - 1][1] < span.start) and (at == len(taken) or span.end < taken[at][0])


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Returns a text after edits that do not overlap."""
    parts: list[str] = []
    end = len(text)
    for edit in sorted(edits, key=lambda each: each.span.start, reverse=True):
        parts += (text[edit.span.end : end], edit.text)
        end = edit.span.start
    return "".join((text[:end], *reversed(parts)))


def changed(before: Sequence[RuleFile], after: Sequence[RuleFile]) -> Mapping[RuleFile, RuleFile]:
    """Returns the files that differ, each with its new content."""
    return {old: new for old, new in zip(before, after, strict=True) if old.data != new.data}


def formatted(file: RuleFile) -> tuple[bytes, tuple[Diagnostic, ...]]:
    """Returns a file in its canonical layout, without byte order mark and CR LF, and its mistakes.

    A file with mistakes has no canonical layout and stays as it was.
    """
    source = decode(file.name, file.data)
    if isinstance(source, Diagnostic):
        return file.data, (source,)
    parsed = parse(source)
    return file.data if parsed.diagnostics else print_document(parsed.document).encode(), parsed.diagnostics


def difference(file: RuleFile, after: bytes) -> Iterator[str]:
    """Yields the lines of a unified diff, without their ends, as `patch` takes them."""
    # Only LF ends a line, and a byte order mark is shown.
    old, new = ([line.decode(errors="replace") for line in io.BytesIO(data)] for data in (file.data, after))
    for line in difflib.unified_diff(old, new, file.name, file.name):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def replace_file(path: Path, data: bytes) -> None:
    """Replaces the content of a file at once; mode and links stay, the owner where possible. Raises `OSError`."""
    place = path.resolve(strict=True)
    was = place.stat()
    # A name that begins with a dot is not a rule file for anyone who reads the directory at this moment.
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            with contextlib.suppress(PermissionError):
                os.fchown(handle, was.st_uid, was.st_gid)
            os.fchmod(handle, stat.S_IMODE(was.st_mode))
            file.flush()
            os.fsync(handle)
        Path(name).replace(place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
