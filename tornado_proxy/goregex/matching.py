"""Patterns matched by RE2 in linear time, one alone or the first of a list.

All patterns of a list together are one automaton, an `re2.Set`, that reads the key once and says which of them match,
at the same cost for ten patterns and ten thousand. Patterns whose programs are too large for one set are spread over
several, asked in order; where a set cannot be built, or runs out of memory while it reads, its patterns are tried one
by one, with the same answer.

Several threads may use a pattern or a set at once; RE2 releases the interpreter's lock while it reads, and takes one of
its own only to add a state to the automaton.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import re2  # type: ignore[import-untyped]  # google-re2 ships no annotations

from tornado_proxy.goregex.parser import Expression, parse
from tornado_proxy.goregex.program import MEMORY, ProgramRefused, compile_program, leftmost, options, print_program
from tornado_proxy.goregex.syntax import PatternError, fold, measure

_SURROGATE = re.compile("[\ud800-\udfff]")
_NOTHING: Mapping[str, int] = MappingProxyType({})
_SET_MEMORY = 128 << 20
"""Bytes for one set, its program and the states that it remembers; RE2's 8 MiB hold some 2,000 patterns."""

MOST_PARTS = 1_200
"""The most characters, classes and alternatives of a source, counts written out: two of `[^/]{1,255}` and the rest."""
MOST_INSTRUCTIONS = 16_000
"""The most of RE2's instructions for a source; `\\pL` is some 1,200 of them."""
MOST_CAPTURES = 100_000
"""The most of a source's instructions times its groups."""

# Far less than what fits: some 2,500 patterns. A set is compiled with the interpreter's lock held, one of this size for
# about 20 ms, which requests hardly notice; and each set more costs a key a microsecond.
_SET_INSTRUCTIONS = 80_000


@dataclass(frozen=True, slots=True)
class Captures:
    """The text that each group of an expression matched: `groups[0]` is the whole match, None a group that did not.

    `names` maps each group's name to its number; where two groups have one name, Go takes the first that matched.
    """

    groups: tuple[str | None, ...]
    names: Mapping[str, int] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled expression; `names` maps group names to numbers, `group_count` leaves out the whole match.

    `program` is what RE2 reads instead of the text. Threads may share a pattern.
    """

    text: str
    names: Mapping[str, int] = field(compare=False, repr=False)
    group_count: int = field(compare=False, repr=False)
    program: bytes = field(compare=False, repr=False)
    _compiled: Any = field(compare=False, repr=False)
    _leftmost: Callable[[bytes], Any] = field(compare=False, repr=False)
    _shared_names: tuple[tuple[str, tuple[int, ...]], ...] = field(compare=False, repr=False)
    _numbers: range = field(compare=False, repr=False)

    @property
    def program_size(self) -> int:
        """The number of RE2's instructions."""
        size: int = self._compiled.programsize
        return size

    def search(self, key: str) -> Captures | None:
        """The captures of the leftmost match, as Go's `FindStringSubmatch`; None where there is none."""
        try:
            found = self._leftmost(key.encode())
        except UnicodeEncodeError:
            return self._search_ill_formed(key)
        if found is None:
            return None
        groups = tuple([text if text is None else text.decode() for text in map(found.__getitem__, self._numbers)])
        return Captures(groups, self._names_of(groups) if self._shared_names else self.names)

    def _search_ill_formed(self, key: str) -> Captures | None:
        """As Go reads what is not valid UTF-8: as U+FFFD, which the captures still show as it was."""
        read = encoded(key)
        found = self._leftmost(read)
        if found is None:
            return None
        spans = map(found.span, self._numbers)
        groups = tuple(
            None if start < 0 else key[len(read[:start].decode()) : len(read[:end].decode())] for start, end in spans
        )
        return Captures(groups, self._names_of(groups))

    def _names_of(self, groups: tuple[str | None, ...]) -> Mapping[str, int]:
        """The group number of each name; of groups that share a name, the first that matched (Go's Regexp.Expand)."""
        taking_part = {
            name: next((number for number in numbers if groups[number] is not None), numbers[0])
            for name, numbers in self._shared_names
        }
        return {**self.names, **taking_part}


def encoded(key: str) -> bytes:
    """The UTF-8 of a text, U+FFFD for what is not valid Unicode."""
    try:
        return key.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", key).encode()


def compile_pattern(text: str, memory: Sequence[int] = MEMORY) -> Pattern:
    """The pattern of an expression; raises `PatternError` where Go's regexp.Compile refuses it."""
    return _compiled(parse(text), memory)


def _compiled(expression: Expression, memory: Sequence[int] = MEMORY) -> Pattern:
    text = expression.text
    program = print_program(expression.tree).encode()
    try:
        compiled = compile_program(program, memory)
    except ProgramRefused as error:
        advice = "lower its counts, or split it into several rewrites"
        raise PatternError(f"RE2 cannot compile the expression: {error}", 0, len(text), advice) from error
    numbers: dict[str, tuple[int, ...]] = {}
    for number, name in enumerate(expression.names, start=1):
        if name:
            numbers[name] = (*numbers.get(name, ()), number)
    names = MappingProxyType({name: each[0] for name, each in numbers.items()})
    shared_names = tuple((name, each) for name, each in numbers.items() if len(each) > 1)
    return Pattern(
        text=text,
        names=names,
        group_count=len(expression.names),
        program=program,
        _compiled=compiled,
        _leftmost=partial(leftmost, compiled, sees_within=True) if rb"\B" in program else compiled.search,
        _shared_names=shared_names,
        _numbers=range(len(expression.names) + 1),
    )


def compile_source(text: str) -> Pattern:
    """The pattern of an expression that requests are matched with; raises `PatternError`, also for one that is slow.

    Any key of 1,024 bytes is searched in some 20 ms at most: RE2's first pass over a key of a new kind takes time by
    all places where a match may stand, and by the instructions for these; that for groups by instructions and groups.
    """
    expression = parse(text)
    pattern = _compiled(expression)
    for what, amount, most in (
        ("RE2 instructions", pattern.program_size, MOST_INSTRUCTIONS),
        ("RE2 instructions times groups", pattern.program_size * pattern.group_count, MOST_CAPTURES),
        ("parts with its counts written out", _parts(expression), MOST_PARTS),
    ):
        if amount > most:
            message = f"expression too slow to match: {amount:,} {what}, the limit is {most:,}"
            raise PatternError(message, 0, len(text), "lower its counts, or split it into several rewrites")
    return pattern


def _parts(expression: Expression) -> int:
    """The size of an expression as Go counts it; of a short text without counts, only what it is at most."""
    most = 2 * len(expression.text)  # an operator adds two at most
    return most if most <= MOST_PARTS and "{" not in expression.text else fold(expression.tree, measure).size


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
        made = {each[:2]: each for each in known._portions} if known else {}  # noqa: SLF001 - another of its kind
        self._portions: tuple[_Portion, ...] = tuple(
            made.get((start, part)) or _Portion(start, part, _build_set(part, memory))
            for start, part in _spread(patterns, instructions)
        )

    def find(self, key: str) -> tuple[int, Captures] | None:
        """The index of the first pattern that matches, and its captures; None where none does."""
        for start, patterns, together in self._portions:
            candidates: Sequence[int] = range(len(patterns))
            # A set names at least its last pattern, which matches every key, unless it has run out of memory.
            if together is not None and (matching := together.Match(encoded(key))):
                matching.sort()
                candidates = matching[:-1]
            for index in candidates:  # those of a set match, all but a few with `\B`
                captures = patterns[index].search(key)
                if captures is not None:
                    return start + index, captures
        return None


def _spread(patterns: Sequence[Pattern], instructions: int) -> Iterator[tuple[int, tuple[Pattern, ...]]]:
    """The list in parts whose programs fit a set, each with the index of its first."""
    start = size = 0
    for index, pattern in enumerate(patterns):
        size += pattern.program_size
        if size > instructions and index > start:
            yield start, tuple(patterns[start:index])
            start, size = index, pattern.program_size
    if start < len(patterns):
        yield start, tuple(patterns[start:])


class _Portion(NamedTuple):
    """Neighbours in the list, from an index on, and the set that finds them; a single pattern needs none."""

    start: int
    patterns: tuple[Pattern, ...]
    together: re2.Set | None


def _build_set(patterns: Sequence[Pattern], memory: int) -> re2.Set | None:
    """A set of the patterns and one that matches every key; None for a single pattern, or where memory is short."""
    if len(patterns) == 1:
        return None
    built = re2.Set.SearchSet(options(memory))
    for pattern in patterns:
        built.Add(pattern.program)
    built.Add(b"")
    try:
        built.Compile()
    except re2.error:
        return None
    return built
