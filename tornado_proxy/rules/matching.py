"""The first pattern of a list that matches a key, at the same cost for ten patterns and ten thousand.

All patterns together are one automaton, an `re2.Set`, that reads the key once and says which of them match. Patterns
whose programs are too large for one set are spread over several, asked in order; where a set cannot be built, or runs
out of memory while it reads, its patterns are tried one by one, with the same answer.

A set may be used by several threads at once; RE2 releases the interpreter's lock while it reads, and takes one of its
own only to add a state to the automaton.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import re2  # type: ignore[import-untyped]  # google-re2 ships no annotations

from tornado_proxy.rules.engine import options
from tornado_proxy.rules.patterns import Pattern, encoded
from tornado_proxy.templates.data import Captures

_SET_MEMORY = 128 << 20
"""Bytes for one set, its program and the states that it remembers; RE2's 8 MiB hold some 2,000 patterns."""

# Far less than what fits: some 2,500 patterns. A set is compiled with the interpreter's lock held, one of this size for
# about 20 ms, which requests hardly notice; and each set more costs a key a microsecond.
_SET_INSTRUCTIONS = 80_000


class FirstMatch:
    """The first of its patterns that matches a key; frozen once made.

    Where one that is `known` has a portion of the same patterns, that is taken over.
    """

    __slots__ = ("_portions",)

    def __init__(
        self,
        patterns: Sequence[Pattern],
        memory: int = _SET_MEMORY,
        instructions: int = _SET_INSTRUCTIONS,
        *,
        known: FirstMatch | None = None,
    ) -> None:
        made = {each.place: each for each in known._portions} if known else {}  # noqa: SLF001 - another of its kind
        self._portions: tuple[_Portion, ...] = tuple(
            made.get((start, tuple(part))) or _Portion(start, part, memory)
            for start, part in _spread(patterns, instructions)
        )

    def find(self, key: str) -> tuple[int, Captures] | None:
        """The index of the first pattern that matches, and its captures; None where none does."""
        for portion in self._portions:
            found = portion.find(key)
            if found is not None:
                return found
        return None


def _spread(patterns: Sequence[Pattern], instructions: int) -> Iterator[tuple[int, Sequence[Pattern]]]:
    """The list in parts whose programs fit a set, each with the index of its first."""
    start = size = 0
    for index, pattern in enumerate(patterns):
        size += pattern.program_size
        if size > instructions and index > start:
            yield start, patterns[start:index]
            start, size = index, pattern.program_size
    if start < len(patterns):
        yield start, patterns[start:]


class _Portion:
    """Neighbours in the list, found through one set; a single pattern needs none."""

    __slots__ = ("_patterns", "_set", "_start")

    def __init__(self, start: int, patterns: Sequence[Pattern], memory: int) -> None:
        self._start = start
        self._patterns = tuple(patterns)
        self._set = _build_set(self._patterns, memory) if len(self._patterns) > 1 else None

    @property
    def place(self) -> tuple[int, tuple[Pattern, ...]]:
        """Where in the list it stands, and what stands there."""
        return self._start, self._patterns

    def find(self, key: str) -> tuple[int, Captures] | None:
        for index in self._candidates(key):
            captures = self._patterns[index].search(key)
            if captures is not None:
                return self._start + index, captures
        return None

    def _candidates(self, key: str) -> Iterable[int]:
        r"""The patterns that may match, in order; what the set names does match, all but a few with `\B`."""
        everyone = range(len(self._patterns))
        if self._set is None:
            return everyone
        matching: list[int] | None = self._set.Match(encoded(key))
        if not matching:
            # Not even the last pattern, which matches every key: the set has run out of memory.
            return everyone
        matching.sort()
        return matching[:-1]


def _build_set(patterns: Sequence[Pattern], memory: int) -> re2.Set | None:
    """A set of the patterns and, as the last, of one that matches every key; None where they need more memory."""
    built = re2.Set.SearchSet(options(memory))
    for pattern in patterns:
        built.Add(pattern.program)
    built.Add(b"")
    try:
        built.Compile()
    except re2.error:
        return None
    return built
