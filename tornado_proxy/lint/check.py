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

    A check that needs a configuration finds nothing without one, and nothing is concluded from its silence.
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
