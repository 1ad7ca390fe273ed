"""The automaton of an expression: one position for each place that reads a character (Glushkov's construction).

A set of positions is an integer, a bit for each. Which position may follow which can depend on the assertions between
them; so there is a table for each combination of truths, made when first needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple, assert_never

from tornado_proxy.lint.automata.classes import holds, readable
from tornado_proxy.lint.automata.errors import Unsupported
from tornado_proxy.lint.automata.gaps import TRUTHS
from tornado_proxy.lint.automata.syntax import (
    Alternation,
    AnyCharacter,
    Assertion,
    BracketClass,
    Character,
    FlagChange,
    Group,
    Node,
    OneCharacter,
    PerlClass,
    Repeat,
    UnicodeClass,
    walk,
)
from tornado_proxy.lint.automata.syntax import Sequence as Series
from tornado_proxy.rules.expressions.ranges import Ranges

LARGEST = 2000
"""The most positions of one expression: more than the thousandfold repetition that RE2 allows, in bounded time."""


class Atom(NamedTuple):
    """A part of an expression's outermost sequence, groups opened; `end` is where it ends in the text, `)` included."""

    node: Node
    end: int


class Stage(NamedTuple):
    """How a leading part of the outermost sequence ends: with which positions, and whether it can read nothing."""

    empty: bool
    last: int

    def ended(self, held: int) -> bool:
        """Whether a match of it ends in the gap after any of some positions."""
        return self.empty or held & self.last != 0


class Table(NamedTuple):
    """How the positions of an automaton follow each other across gaps where certain assertions hold."""

    first: int
    follow: list[int]
    stages: tuple[Stage, ...]  # after each atom, the empty beginning before them

    def heading(self, held: int) -> int:
        """The positions that may read the character after a gap, where some read the one before it."""
        found = self.first
        for position in bits(held):
            found |= self.follow[position]
        return found


class Automaton:
    """The positions of an expression and the tables that connect them; raises `Unsupported`."""

    def __init__(self, atoms: tuple[Atom, ...], truths: int) -> None:
        linker = _Linker(0)
        self.atoms = atoms
        self.truths = truths  # those that it looks at
        self._readers: dict[str, int] = {}
        self._tables = {0: linker.table(atoms)}
        self.sets = tuple(linker.sets)  # by position: what it reads

    @cached_property
    def holders(self) -> dict[Ranges, int]:
        """The positions that read a set of characters, by the set."""
        found: dict[Ranges, int] = {}
        for position, each in enumerate(self.sets):
            found[each] = found.get(each, 0) | 1 << position
        return found

    def table(self, holding: int) -> Table:
        """The table for gaps where certain assertions hold."""
        seen = holding & self.truths
        found = self._tables.get(seen)
        if found is None:
            found = self._tables[seen] = _Linker(seen).table(self.atoms)
        return found

    def readers(self, character: str) -> int:
        """The positions that read a character."""
        found = self._readers.get(character)
        if found is None:
            found = sum(positions for each, positions in self.holders.items() if holds(each, character))
            self._readers[character] = found
        return found


def automaton(tree: Node) -> Automaton:
    """The automaton of an expression; raises `Unsupported` where it would be too large or could not be exact."""
    truths = 0
    for node in walk(tree):
        if isinstance(node, Assertion):
            truths |= TRUTHS[node.kind]
    return Automaton(tuple(atoms(tree)), truths)


def atoms(node: Node, end: int | None = None) -> Iterator[Atom]:
    """The parts of an expression's outermost sequence, with sequences and groups within it opened."""
    match node:
        case Series(parts) if parts:
            for part in parts[:-1]:
                yield from atoms(part)
            yield from atoms(parts[-1], end)
        case Group():
            yield from atoms(node.body, end or node.extent.end)
        case _:
            yield Atom(node, end or node.extent.end)


def bits(held: int) -> Iterator[int]:
    """The positions in a set of positions."""
    while held:
        lowest = held & -held
        yield lowest.bit_length() - 1
        held ^= lowest


class _Fragment(NamedTuple):
    """A part of an automaton: whether it can read nothing, and the positions where it begins and ends."""

    empty: bool
    first: int
    last: int


_EMPTY = _Fragment(True, 0, 0)
_NEVER = _Fragment(False, 0, 0)


class _Linker:
    """Links the positions of one expression for one combination of truths; positions count in the text's order."""

    def __init__(self, holding: int) -> None:
        self.holding = holding
        self.sets: list[Ranges] = []
        self.follow: list[int] = []

    def table(self, parts: Iterable[Atom]) -> Table:
        fragments = [self.fragment(part.node) for part in parts]
        whole = self.joined(fragments)
        stages = [Stage(True, 0)]
        for empty, _, last in fragments:
            before = stages[-1]
            stages.append(Stage(before.empty and empty, last | before.last if empty else last))
        return Table(whole.first, self.follow, tuple(stages))

    def fragment(self, node: Node) -> _Fragment:  # noqa: PLR0911 - one case for each kind of node
        match node:
            case Character() | BracketClass() | AnyCharacter() | PerlClass() | UnicodeClass():
                return self.position(node)
            case Series():
                return self.joined([self.fragment(part) for part in node.parts])
            case Group():
                return self.fragment(node.body)
            case Repeat():
                return self.repeated(node)
            case Alternation():
                return self.either([self.fragment(branch) for branch in node.branches])
            case Assertion():
                return _EMPTY if self.holding & TRUTHS[node.kind] else _NEVER
            case FlagChange():
                return _EMPTY
            case _:
                assert_never(node)

    def position(self, node: OneCharacter) -> _Fragment:
        if len(self.sets) == LARGEST:
            raise Unsupported(f"the expression has more than {LARGEST} places that read a character")
        bit = 1 << len(self.sets)
        self.sets.append(readable(node))
        self.follow.append(0)
        return _Fragment(False, bit, bit)

    def joined(self, fragments: list[_Fragment]) -> _Fragment:
        """One fragment after another; from the right, since a part's end is mostly shorter than what it follows."""
        found = _EMPTY
        for each in reversed(fragments):
            found = self.pair(each, found)
        return found

    def pair(self, one: _Fragment, other: _Fragment) -> _Fragment:
        self.link(one.last, other.first)
        return _Fragment(
            one.empty and other.empty,
            one.first | other.first if one.empty else one.first,
            one.last | other.last if other.empty else other.last,
        )

    def either(self, fragments: list[_Fragment]) -> _Fragment:
        empty, first, last = False, 0, 0
        for each in fragments:
            empty, first, last = empty or each.empty, first | each.first, last | each.last
        return _Fragment(empty, first, last)

    def repeated(self, node: Repeat) -> _Fragment:
        """A copy of the body for each time that it can be read, the last one looped where there is no end to it."""
        size = len(self.sets)
        times = max(node.least, 1) if node.most is None else node.most
        copies = [self.fragment(node.body)] if times else []
        if copies and len(self.sets) == size:  # it reads nothing, however often
            return _Fragment(copies[0].empty or not node.least, 0, 0)
        copies += [self.fragment(node.body) for _ in range(times - 1)]
        if node.most is None:
            self.link(copies[-1].last, copies[-1].first)
        found = _EMPTY
        for each in reversed(copies[node.least :]):
            found = self.pair(each, found)._replace(empty=True)
        return self.joined([*copies[: node.least], found])

    def link(self, last: int, first: int) -> None:
        """Let each of some positions be followed by each of others."""
        for position in bits(last):
            self.follow[position] |= first
