"""Which checks run, and for which files, as names and categories say.

A name beats its category, and of two words alike the one that turns off wins: `--select tests --ignore failing-test`
leaves one test check out, `--ignore tests --select failing-test` leaves it in.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from tornado_proxy.lang.diagnostic import did_you_mean
from tornado_proxy.lint.check import Category, Check

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
        """Those that run."""
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
