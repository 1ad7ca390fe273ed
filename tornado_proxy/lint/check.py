"""What a check is, and which checks run for which files.

A check is a module of fixed shape, whose docstring is its manual page. A check's name beats its category, and of two
words alike the one that turns off wins: `--select tests --ignore failing-test` leaves one test check out, `--ignore
tests --select failing-test` leaves it in.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any

from tornado_proxy.lang.diagnostic import Diagnostic, Severity, did_you_mean
from tornado_proxy.lint.subject import Subject


class Category(Enum):
    """What a check's findings have in common; a category may stand for all its checks."""

    MISTAKES = "mistakes"  # cannot be meant
    DOUBTS = "doubts"  # may be meant, and often is not
    SECURITY = "security"  # a client may reach, or be refused, what its author did not think of
    TESTS = "tests"  # what the tests beside the rules say, or fail to say
    UPKEEP = "upkeep"  # what was once of use and no longer is


@dataclass(frozen=True, slots=True)
class Check:
    """Something that the linter looks for; `name` reads well after "allow".

    A check that needs a configuration finds nothing without one, and its allowances are then not unused.
    """

    name: str
    category: Category
    severity: Severity
    manual: str = field(repr=False)
    look: Callable[[Subject], Iterator[Diagnostic]] = field(repr=False)
    needs_configuration: bool = False

    @property
    def summary(self) -> str:
        """The first sentence of its manual page."""
        return self.manual.partition("\n")[0]


def check_name(module_name: str) -> str:
    """The name of the check that a module is: `…checks.unescaped_dot` is `unescaped-dot`."""
    return module_name.rpartition(".")[2].replace("_", "-")


def check_of(module: ModuleType) -> Check:
    """The check that a module is."""
    return Check(
        module.NAME,
        module.CATEGORY,
        module.SEVERITY,
        (module.__doc__ or "").strip(),
        module.check,
        needs_configuration=getattr(module, "NEEDS_CONFIGURATION", False),
    )


ALL = "all"
"""The word for every check."""


class UnknownWord(Exception):
    """A word that is neither a check, nor a category, nor `all`."""

    def __init__(self, word: str, meant: str | None) -> None:
        super().__init__(f"there is no check or category `{word}`" + (f"; did you mean `{meant}`?" if meant else ""))


@dataclass(frozen=True, slots=True)
class Selection:
    """The words that turn checks on and off.

    `per_file` turns more of them off for the files that a glob matches, by their paths seen from `directory`.
    """

    select: frozenset[str] = frozenset({ALL})
    ignore: frozenset[str] = frozenset()
    per_file: Mapping[str, frozenset[str]] = field(default_factory=dict)
    directory: Path = Path()

    def checks(self, checks: Iterable[Check]) -> list[Check]:
        """Returns the checks that run."""
        return [check for check in checks if self._runs(check)]

    def _runs(self, check: Check) -> bool:
        for word in (check.name, check.category.value, ALL):
            if word in self.ignore:
                return False
            if word in self.select:
                return True
        return False

    def hides(self, check: Check, file: str) -> bool:
        """Whether what a check finds in a file is not asked for."""
        if not self.per_file:
            return False
        path = Path(os.path.relpath(file, self.directory)).as_posix()
        words = {check.name, check.category.value, ALL}
        return any(fnmatchcase(path, glob) and not words.isdisjoint(off) for glob, off in self.per_file.items())


def read_words(words: Iterable[str], checks: Collection[Check]) -> frozenset[str]:
    """The words, if each means something; raises `UnknownWord`."""
    known = {ALL, *(category.value for category in Category), *(check.name for check in checks)}
    found = frozenset(words)
    for word in sorted(found - known):
        raise UnknownWord(word, did_you_mean(word, sorted(known)))
    return found


OWN_FILE = "tornado-proxy.toml"
SHARED_FILE = "pyproject.toml"


class SettingsMistake(Exception):
    """Settings that cannot be used: the file, seen from the current directory, and each fact, on a line of its own."""

    def __init__(self, file: Path, *facts: str) -> None:
        here = Path.cwd()
        shown = file.relative_to(here) if file.is_relative_to(here) else file
        super().__init__("\n".join(f"`{shown}`{fact}" for fact in facts))
        self.facts = facts


@dataclass(frozen=True, slots=True)
class LintSettings:
    """What a file of settings says, with every default filled in."""

    selection: Selection = field(default_factory=Selection)
    fail_level: Severity = Severity.WARNING


def find_settings(start: Path, checks: Collection[Check]) -> LintSettings:
    """The settings that count for a path; raises `SettingsMistake`."""
    place = start.resolve()
    for directory in (place, *place.parents):
        for name, keys in ((OWN_FILE, ("lint",)), (SHARED_FILE, ("tool", "tornado-proxy", "lint"))):
            table = _table(directory / name, keys)
            if table is not None:
                return _read(table, directory, directory / name, checks)
    return LintSettings()


def _table(file: Path, keys: tuple[str, ...]) -> Mapping[str, Any] | None:
    """The table of a file; None where the file or the table does not exist."""
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsMistake(file, f" cannot be read: {error}") from error
    if file.name == SHARED_FILE and keys[1] not in text:
        return None
    return _descended(_parsed(text, file), keys, file)


def _parsed(text: str, file: Path) -> Any:
    import tomllib  # noqa: PLC0415 - most runs have no settings to read

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsMistake(file, f" is not TOML: {error}") from error


def _descended(table: Any, keys: tuple[str, ...], file: Path) -> Mapping[str, Any] | None:
    for key in keys:
        if not isinstance(table, dict):
            raise SettingsMistake(file, f": `{'.'.join(keys)}` is not a table")
        if key == keys[-1]:
            _refuse_strange(table, key, file)
        if key not in table:
            return {} if file.name == OWN_FILE else None
        table = table[key]
    if not isinstance(table, dict):
        raise SettingsMistake(file, f": `{'.'.join(keys)}` is not a table")
    return table


def _refuse_strange(table: Mapping[str, Any], known: str, file: Path) -> None:
    """Nothing but the linter's table stands beside it; one that is spelt otherwise would be passed over."""
    strange = [key for key in table if key != known]
    if strange:
        raise SettingsMistake(file, *(f": there is no table `{key}`, only `{known}`" for key in strange))


@dataclass(frozen=True, slots=True)
class _RawSetting:
    """A value of a setting, and what to say of it where it does not fit."""

    name: str
    value: Any
    file: Path
    checks: Collection[Check]

    def words(self) -> frozenset[str]:
        return self.meaning(self.strings(self.value))

    def choice(self) -> frozenset[str]:
        words = self.words()
        if not words:
            raise self.mistake("names nothing, so that nothing would be looked for; leave it out for all")
        return words

    def level(self) -> Severity:
        levels = [each.value for each in Severity]
        if self.value not in levels:
            raise self.mistake(f"is one of {', '.join(levels)}")
        return Severity(self.value)

    def per_file(self) -> Mapping[str, frozenset[str]]:
        if not isinstance(self.value, dict):
            raise self.mistake("is a table: a glob, and the checks that are off for the files that it matches")
        return {glob: self.meaning(self.strings(words)) for glob, words in self.value.items()}

    def strings(self, value: Any) -> list[str]:
        if not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
            raise self.mistake("is a list of names and categories")
        return value

    def meaning(self, words: list[str]) -> frozenset[str]:
        try:
            return read_words(words, self.checks)
        except UnknownWord as error:
            raise SettingsMistake(self.file, f": in `{self.name}` {error}") from error

    def mistake(self, fact: str) -> SettingsMistake:
        return SettingsMistake(self.file, f": `{self.name}` {fact}")


_SETTINGS: Mapping[str, Callable[[_RawSetting], Any]] = {
    "select": _RawSetting.choice,
    "ignore": _RawSetting.words,
    "fail-level": _RawSetting.level,
    "per-file-ignores": _RawSetting.per_file,
}


def _read(table: Mapping[str, Any], directory: Path, file: Path, checks: Collection[Check]) -> LintSettings:
    values: dict[str, Any] = {}
    mistakes: list[str] = []
    for name, value in table.items():
        try:
            values[name] = _value(_RawSetting(name, value, file, checks))
        except SettingsMistake as error:
            mistakes += error.facts
    if mistakes:
        raise SettingsMistake(file, *mistakes)
    selection = Selection(
        values.get("select", frozenset({ALL})),
        values.get("ignore", frozenset()),
        values.get("per-file-ignores", {}),
        directory,
    )
    return LintSettings(selection, values.get("fail-level", Severity.WARNING))


def _value(reading: _RawSetting) -> Any:
    if reading.name in _SETTINGS:
        return _SETTINGS[reading.name](reading)
    meant = did_you_mean(reading.name, _SETTINGS)
    advice = f"did you mean `{meant}`?" if meant else f"there are {', '.join(f'`{each}`' for each in _SETTINGS)}"
    raise SettingsMistake(reading.file, f": there is no setting `{reading.name}`; {advice}")
