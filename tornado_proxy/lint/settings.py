"""The settings of the linter: the checks that run for each file, and the findings that fail a run.

The name of a check takes precedence over its category, and of two equal words the one that turns off: `--select tests
--ignore failing-test` leaves one test check out, `--ignore tests --select failing-test` leaves it in.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from tornado_proxy.lint.check import Category, Check
from tornado_proxy.rules.diagnostic import Severity, did_you_mean

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
