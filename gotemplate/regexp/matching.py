"""Patterns matched by RE2 in linear time, one alone or the first of a list; what follows from a match.

Texts with `$name`, `${name}`, `$1` and `$$` are expanded with the groups of a match (Go's Regexp.Expand). Of a source
that does not match, the longest part is found that does.

An `re2.Set` combines the patterns of a list in one automaton, which reads a key once and returns the patterns that
match, at the same cost for ten patterns as for ten thousand. Patterns that are too large for one set are distributed
over several, which are searched in order. If a set cannot be built, or runs out of memory while it reads, its patterns
are tried one by one, with the same result.

Several threads may use a pattern or a set at once. RE2 releases the GIL while it reads, and takes a lock of its own
only to add a state to the automaton.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from types import MappingProxyType
from typing import Any, NamedTuple, Self
from zlib import crc32

import msgspec
import re2

from gotemplate import limits
from gotemplate.regexp import program as programs
from gotemplate.regexp import syntax
from gotemplate.regexp.parser import Expression, parse
from gotemplate.regexp.program import MEMORY, ProgramRefused, ProgramTooLarge
from gotemplate.regexp.syntax import Atom, Extent, PatternError, fold, measure

ByteSpan = tuple[int, int]  # the beginning and the end of a group, in bytes; (-1, -1) if it took no part
_SURROGATE = re.compile("[\ud800-\udfff]")
_NOTHING: Mapping[str, int] = MappingProxyType({})
_SMALLER = "lower its counts, or split it into several"


class Captures(msgspec.Struct, frozen=True):
    """The text of each group, None if it took no part, and by name the group's number: Go's first that matched."""

    groups: tuple[str | None, ...]
    names: Mapping[str, int] = _NOTHING


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled expression, which threads may share; `group_count` is without the whole match, `program` for RE2."""

    text: str
    names: Mapping[str, int] = field(compare=False, repr=False)
    group_count: int = field(compare=False, repr=False)
    program: bytes = field(compare=False, repr=False)
    _compiled: Any = field(compare=False, repr=False)
    _leftmost: Callable[..., Any] = field(compare=False, repr=False)
    _shared_names: tuple[tuple[str, tuple[int, ...]], ...] = field(compare=False, repr=False)
    _numbers: range = field(compare=False, repr=False)

    @property
    def program_size(self) -> int:
        """The number of instructions in RE2."""
        size: int = self._compiled.programsize
        return size

    @property
    def memory(self) -> int:
        """About the bytes that the pattern takes: 12 for an instruction, with the text that RE2 reads."""
        return 12 * self.program_size + len(self.program)

    def search(self, key: str) -> Captures | None:
        """Returns the captures of the leftmost match, as Go's `FindStringSubmatch` does, or None."""
        try:
            match = self._leftmost(key.encode())
        except UnicodeEncodeError:  # Go reads U+FFFD for it, but the captures have the original text
            read = encoded(key)
            if (spans := self.spans(read)) is None:
                return None
            groups = tuple(
                None if start < 0 else key[len(read[:start].decode()) : len(read[:end].decode())]
                for start, end in spans
            )
            return Captures(groups, self.names_of(groups))
        if match is None:
            return None
        groups = tuple([text if text is None else text.decode() for text in map(match.__getitem__, self._numbers)])
        return Captures(groups, self.names_of(groups) if self._shared_names else self.names)

    def spans(self, text: bytes, start: int = 0) -> Sequence[ByteSpan] | None:
        """Returns the groups of the leftmost match from an offset on, the whole match first; None without a match."""
        match = self._leftmost(text, start)
        return None if match is None else [match.span(number) for number in self._numbers]

    def names_of(self, groups: tuple[str | None, ...]) -> Mapping[str, int]:
        """Returns the number of each name; for shared names, the first group that matched (Go's Regexp.Expand)."""
        taking_part = {
            name: next((number for number in numbers if groups[number] is not None), numbers[0])
            for name, numbers in self._shared_names
        }
        return {**self.names, **taking_part}


def encoded(key: str) -> bytes:
    """Returns the UTF-8 of a text, with U+FFFD for surrogates."""
    try:
        return key.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", key).encode()


def compile_pattern(text: str) -> Pattern:
    """Returns the pattern of an expression; raises `PatternError` if Go's regexp.Compile or RE2 refuses it."""
    expression = parse(text)
    try:
        return compile_expression(expression)
    except ProgramRefused as error:
        raise PatternError(f"RE2 cannot compile the expression: {error}", 0, len(text), _SMALLER) from error


def compile_expression(expression: Expression, memory: Sequence[int] = MEMORY) -> Pattern:
    """Returns the pattern of a parsed expression within limits of memory; raises `ProgramRefused`."""
    program = programs.print_program(expression.tree).encode()
    compiled = programs.compile_program(program, memory)
    numbers: dict[str, tuple[int, ...]] = {}
    for number, name in enumerate(expression.names, start=1):
        if name:
            numbers[name] = (*numbers.get(name, ()), number)
    names = MappingProxyType({name: each[0] for name, each in numbers.items()})
    shared_names = tuple((name, each) for name, each in numbers.items() if len(each) > 1)
    leftmost = compiled.search
    if rb"\B" in program:
        leftmost = partial(programs.leftmost, compiled, programs.compile_program(programs.ahead_of(program), memory))
    count = len(expression.names)
    return Pattern(expression.text, names, count, program, compiled, leftmost, shared_names, range(count + 1))


def compile_source(text: str) -> Pattern:
    """Returns the pattern of a source; raises `PatternError`, also for one that would be slow to match.

    The limits keep the search of any key of 1,024 bytes below about 20 ms. The first search of a new kind of key takes
    time in proportion to the parts and instructions, and one for groups in proportion to instructions times groups.
    """
    expression = parse(text)
    _limit(text, "parts with its counts written out", _parts(expression), limits.MOST_PARTS)
    try:
        pattern = compile_expression(expression, MEMORY[:2])
    except ProgramTooLarge:
        raise _too_slow(text, f"more than {limits.MOST_INSTRUCTIONS:,} RE2 instructions") from None
    _limit(text, "RE2 instructions", pattern.program_size, limits.MOST_INSTRUCTIONS)
    _limit(text, "RE2 instructions times groups", pattern.program_size * pattern.group_count, limits.MOST_CAPTURES)
    return pattern


def _limit(text: str, what: str, amount: int, most: int) -> None:
    """Raises `PatternError` for a source with more of something than is allowed."""
    if amount > most:
        raise _too_slow(text, f"{amount:,} {what}, the limit is {most:,}")


def _too_slow(text: str, reason: str) -> PatternError:
    return PatternError(f"expression too slow to match: {reason}", 0, len(text), _SMALLER)


def _parts(expression: Expression) -> int:
    """Returns the size of an expression as Go counts it; for a short text without counts, an upper bound."""
    most = 2 * len(expression.text)  # an operator adds at most two
    return most if most <= limits.MOST_PARTS and "{" not in expression.text else fold(expression.tree, measure).size


class FirstMatch:
    """Finds the first pattern of a list that matches a key; immutable. It takes over the sets of `known`."""

    def __init__(self, patterns: Sequence[Pattern], *, known: FirstMatch | None = None) -> None:
        made = {each.patterns: each.combined for each in known._portions} if known else {}  # noqa: SLF001 - the same class
        parts = [*_portions_of(patterns)]
        memory = limits.SET_MEMORY // min(max(1, len(parts)), limits.LARGE_SETS)
        self._portions: tuple[_Portion, ...] = tuple(
            _Portion(start, part, made[part] if part in made else _build_set(part, memory)) for start, part in parts
        )

    @property
    def sets(self) -> list[object]:
        """The compiled sets in order, of megabytes each; None for a pattern that is alone."""
        return [each.combined for each in self._portions]

    def find(self, key: str) -> tuple[int, Captures] | None:
        """Returns the index of the first pattern that matches and its captures, or None."""
        read = encoded(key)
        for start, patterns, combined in self._portions:
            candidates: Sequence[int] = range(len(patterns))
            # The last pattern of a set matches every key, so an empty result means that it ran out of memory.
            if combined is not None and (matching := combined.Match(read)):
                matching.sort()
                candidates = matching[:-1]
            for index in candidates:  # candidates of a set match, except for a few with `\B`
                if (captures := patterns[index].search(key)) is not None:
                    return start + index, captures
        return None


def _portions_of(patterns: Sequence[Pattern]) -> Iterator[tuple[int, tuple[Pattern, ...]]]:
    """Yields portions of the list whose programs fit into a set, each with the index of its first pattern.

    Patterns themselves say where a portion ends, or one that is added to the list would move the ends of all after it.
    """
    start = size = 0
    for index, pattern in enumerate(patterns):
        # RE2 counts a text without classes as a few instructions, and writes each character out in a set.
        own = max(pattern.program_size, len(pattern.program))
        is_end = size > limits.SET_INSTRUCTIONS * 3 // 4 and not crc32(pattern.program) % limits.ENDS_A_PORTION
        if index > start and (is_end or size + own > limits.SET_INSTRUCTIONS):
            yield start, tuple(patterns[start:index])
            start, size = index, 0
        size += own
    if start < len(patterns):
        yield start, tuple(patterns[start:])


class _Portion(NamedTuple):
    """Consecutive patterns of the list, the index of the first, and their set; None for a single pattern."""

    start: int
    patterns: tuple[Pattern, ...]
    combined: Any


def _build_set(patterns: Sequence[Pattern], memory: int) -> Any:
    """Returns a set of the patterns and one that matches every key; None for one pattern, or without memory."""
    if len(patterns) == 1:
        return None
    built = re2.Set.SearchSet(programs.options(memory))
    for pattern in patterns:
        built.Add(pattern.program)
    built.Add(b"")
    try:
        built.Compile()
    except re2.error:
        return None
    return built


Reference = tuple[str, int, int]  # a group that a template names, with its start and end (code points) in the text


_REFERENCE = re.compile(r"\$(?:\$|(\w+)|\{(\w+)\})")


@dataclass(frozen=True, slots=True)
class Expansion:
    """A text with references: its `opening` before the first one, and each with the text after it."""

    text: str
    group_references: tuple[Reference, ...] = field(compare=False, repr=False)
    opening: str = field(compare=False, repr=False)
    holes: tuple[tuple[str | int, str], ...] = field(compare=False, repr=False)

    @classmethod
    def read(cls, text: str) -> Self:
        """Reads any text: what is no reference is written as it is."""
        references: list[Reference] = []
        literals, position = [""], 0
        for reference in _REFERENCE.finditer(text):
            literals[-1] += text[position : reference.start()]
            position = reference.end()
            word = reference[1] or reference[2] or ""
            # Python's `\w` has more kinds of numbers than Go's names.
            name = "".join(takewhile(lambda char: char.isalpha() or char.isdecimal() or char == "_", word))
            if reference[0] == "$$":
                literals[-1] += "$"
            elif not name or (reference[2] and name != word):
                literals[-1] += reference[0]
            else:
                position -= len(word) - len(name)
                references.append((name, reference.start(), position))
                literals.append("")
        literals[-1] += text[position:]
        numbers = [(group_number(name), name) for name, _, _ in references]
        groups = [name if number is None else number for number, name in numbers]
        return cls(text, tuple(references), literals[0], tuple(zip(groups, literals[1:], strict=True)))

    def expand(self, captures: Captures, _data: object = None) -> str:
        """Returns the text with the groups of a match, untrimmed; a group that took no part is empty."""
        groups, count = captures.groups, len(captures.groups)
        pieces = [self.opening]
        for reference, following in self.holes:
            # A name may stand for several groups; the match decides which one has it.
            number = reference if isinstance(reference, int) else captures.names.get(reference, count)
            pieces.append((groups[number] or "") if number < count else "")
            pieces.append(following)
        return "".join(pieces)


def group_number(reference: str) -> int | None:
    """Returns the number of a reference in digits without leading zeros; None if it is a name."""
    if not (reference.isascii() and reference.isdecimal()) or len(reference) > limits.LONGEST_GROUP_NUMBER:
        return None
    return int(reference) if reference[0] != "0" or reference == "0" else None


class Progress(msgspec.Struct, frozen=True):
    """The longest prefix of a source that matches a key.

    `part` is its extent in the source's text. It ends between two pieces of the outermost sequence; groups are opened,
    so a group's `)` may be missing. For an alternation it is a part of the branch that gets furthest. `reached` is the
    offset in the key after the last match of it. `failing` is the extent of the next part, which matches nothing there;
    None if the whole source matches.
    """

    part: Extent
    reached: int
    failing: Extent | None


def longest_matching_part(source: str, key: str) -> Progress:
    """Returns how much of a source matches a key; RE2 accepts the source."""
    tree = node = parse(source).tree
    while isinstance(node, syntax.Group):
        node = node.body
    branches = node.branches if isinstance(node, syntax.Alternation) else (tree,)
    read, progress = encoded(key), []
    for branch in branches:
        atoms = [each for atom in syntax.atoms(branch) for each in atom.split()]
        # A key in which a part is found has all its leading parts, too.
        leading = [atoms[:length] for length in range(1, len(atoms) + 1)]
        done = bisect_left(leading, 1, key=lambda parts: _last_end(parts, read) is None)
        start = branch.extent.start
        part = Extent(start, atoms[done - 1].end if done else start)
        reached = _last_end(atoms[:done], read) if done else 0
        failing = atoms[done].node.extent if done < len(atoms) else None
        progress.append(Progress(part, len(read[:reached].decode()), failing))
    return max(progress, key=lambda each: (each.failing is None, each.reached, each.part.end - each.part.start))


_ANYTHING = syntax.Repeat(syntax.AnyCharacter(True, Extent(0, 0)), 0, None, False, Extent(0, 0))


def _last_end(atoms: Sequence[Atom], key: bytes) -> int | None:
    """Returns where the last match of atoms in a row ends in a key; None without a match."""
    # The longest match of anything and these ends where the last match of these does.
    groups = (syntax.Group(atom.node, None, None, atom.node.extent) for atom in atoms)  # one may be an alternation
    tree = syntax.Sequence((_ANYTHING, *groups), Extent(0, 0))
    match = programs.compile_program(programs.print_program(tree).encode(), longest=True).search(key)
    end: int | None = match and match.end()
    return end
