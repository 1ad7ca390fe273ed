"""The automaton of an expression: one position for each place that reads a character (Glushkov's construction).

A set of positions is an integer, a bit for each. Which position may follow which can depend on the assertions between
them; so there is a table for each combination of truths, made when first needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, reduce
from operator import and_, or_
from typing import NamedTuple, assert_never

from tornado_proxy.goregex import syntax
from tornado_proxy.goregex.alphabet import (
    BLANK,
    BOUNDARIES,
    EDGE,
    HELD,
    HOLDING,
    LETTER,
    TRUTHS,
    Unsupported,
    gaps,
    readable,
    readable_cases,
)
from tornado_proxy.goregex.classes import Ranges, contains

LARGEST = 2000
"""The most positions of one expression: more than the thousandfold repetition that RE2 allows, in bounded time."""


class Atom(NamedTuple):
    """A part of an expression's outermost sequence, groups opened; `end` is where it ends in the text, `)` included."""

    node: syntax.Node
    end: int

    @property
    def truths(self) -> int:
        """The truths that it looks at."""
        if isinstance(self.node, syntax.Text):
            return 0
        return reduce(
            or_, (TRUTHS[each.kind] for each in syntax.walk(self.node) if isinstance(each, syntax.Assertion)), 0
        )

    def apart(self) -> Iterator[Atom]:
        """Its characters as atoms of their own, where it is a text."""
        if not isinstance(self.node, syntax.Text):
            yield self
            return
        *before, last = self.node.apart()
        yield from (Atom(each, each.extent.end) for each in before)
        yield Atom(last, self.end)


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

    def __init__(self, atoms: tuple[Atom, ...]) -> None:
        self.atoms = atoms
        self._looked_at = [each.truths for each in atoms]
        self.truths = reduce(or_, self._looked_at, 0)
        self._settled: dict[int, _Settled] = {}  # by index: the atoms that look at no truth
        self._readers: dict[str, int] = {}
        linker = _Linker(0)
        self._tables = {0: self._linked(linker)}
        self.sets = tuple(linker.sets)  # by position: what it reads

    @cached_property
    def opening(self) -> str:
        """The text that a key begins with if anything is found in it; its characters are the first positions' own."""
        found = []
        anchored = False
        for node, _ in self.atoms:
            match node:
                case syntax.FlagChange():
                    continue
                case syntax.Assertion(kind=syntax.AssertionKind.TEXT_START | syntax.AssertionKind.LINE_START) if (
                    not anchored
                ):
                    anchored = True
                case syntax.Text(folded=False) if anchored:
                    found.append(node.characters)
                case _:
                    break
        return "".join(found)

    def holders(self, start: int = 0) -> Mapping[Ranges, int]:
        """The positions that read a set of characters, by the set; only those from one on."""
        found: dict[Ranges, int] = {}
        for position, each in enumerate(self.sets[start:], start):
            found[each] = found.get(each, 0) | 1 << position
        return found

    def table(self, holding: int) -> Table:
        """The table for gaps where certain assertions hold."""
        seen = holding & self.truths
        found = self._tables.get(seen)
        if found is None:
            found = self._tables[seen] = self._linked(_Linker(seen))
        return found

    def read(self, text: str) -> tuple[int, bool]:
        """The positions held once a key's beginning is read, and whether a match is complete, or will be in the end.

        The beginning is one that may follow, or be followed by, its opening.
        """
        start = min(len(text), len(self.opening))
        held = 1 << start >> 1
        complete = held & self.certain != 0
        for holding, character in gaps(text, start):
            if character and not complete:
                table = self.table(holding)
                complete = table.stages[-1].ended(held)
                held = table.heading(held) & self.readers(character)
                complete |= held & self.certain != 0
        return held, complete

    @cached_property
    def restarts(self) -> bool:
        """Whether a match may begin after a key has."""
        return any(table.first or table.stages[-1].empty for table in (*self._between, *self._closing))

    @cached_property
    def certain(self) -> int:
        """The positions after which a match is complete, or will be in the end, whatever follows."""
        last = reduce(and_, (table.stages[-1].last for table in self._closing))
        complete = reduce(and_, (table.stages[-1].last for table in self._between), last)
        for position in bits(last & ~complete):
            stays = self.sets[position] == HELD and all(each.follow[position] >> position & 1 for each in self._between)
            complete |= stays << position
        return complete

    @cached_property
    def _between(self) -> list[Table]:
        """The tables for gaps between two characters."""
        return [self.table(HOLDING[before][after]) for before in self._sides for after in self._sides]

    @cached_property
    def _closing(self) -> list[Table]:
        """The tables for gaps at the end of a key."""
        return [self.table(HOLDING[before][EDGE]) for before in self._sides]

    @property
    def _sides(self) -> tuple[int, ...]:
        """The sides of a gap that it distinguishes."""
        return (BLANK, LETTER) if self.truths & BOUNDARIES else (BLANK,)

    def _linked(self, linker: _Linker) -> Table:
        """The table that a linker makes of the atoms; of those that look at no truth, what an earlier one made."""
        fragments = []
        for index, (node, _) in enumerate(self.atoms):
            known = self._settled.get(index)
            if known is not None:
                linker.follow += known.follow
                fragments.append(known.fragment)
                continue
            start = len(linker.follow)
            fragments.append(linker.fragment(node))
            if not self._looked_at[index]:
                self._settled[index] = _Settled(fragments[-1], linker.follow[start:])
        return linker.table(fragments)

    def readers(self, character: str) -> int:
        """The positions that read a character."""
        found = self._readers.get(character)
        if found is None:
            found = sum(positions for each, positions in self._holders.items() if contains(each, ord(character)))
            self._readers[character] = found
        return found

    @cached_property
    def _holders(self) -> Mapping[Ranges, int]:
        return self.holders()


def atoms(node: syntax.Node, end: int | None = None) -> Iterator[Atom]:
    """The parts of an expression's outermost sequence, with sequences and groups within it opened."""
    match node:
        case syntax.Sequence(parts) if parts:
            for part in parts[:-1]:
                yield from atoms(part)
            yield from atoms(parts[-1], end)
        case syntax.Group():
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


class _Settled(NamedTuple):
    """An atom that is the same in all tables: its fragment, and how its positions follow each other."""

    fragment: _Fragment
    follow: list[int]


_EMPTY = _Fragment(True, 0, 0)
_NEVER = _Fragment(False, 0, 0)


class _Linker:
    """Links the positions of one expression for one combination of truths; positions count in the text's order.

    `sets` is whole only where no atom was linked before.
    """

    def __init__(self, holding: int) -> None:
        self.holding = holding
        self.sets: list[Ranges] = []
        self.follow: list[int] = []

    def table(self, fragments: list[_Fragment]) -> Table:
        whole = self.joined(fragments)
        stages = [Stage(True, 0)]
        for empty, _, last in fragments:
            before = stages[-1]
            stages.append(Stage(before.empty and empty, last | before.last if empty else last))
        return Table(whole.first, self.follow, tuple(stages))

    def fragment(self, node: syntax.Node) -> _Fragment:  # noqa: PLR0911 - one case for each kind of node
        match node:
            case syntax.Text():
                return self.positions([readable_cases(each, folded=node.folded) for each in node.characters])
            case syntax.BracketClass() | syntax.AnyCharacter() | syntax.PerlClass() | syntax.UnicodeClass():
                return self.positions([readable(node)])
            case syntax.Sequence():
                return self.joined([self.fragment(part) for part in node.parts])
            case syntax.Group():
                return self.fragment(node.body)
            case syntax.Repeat():
                return self.repeated(node)
            case syntax.Alternation():
                return self.either([self.fragment(branch) for branch in node.branches])
            case syntax.Assertion():
                return _EMPTY if self.holding & TRUTHS[node.kind] else _NEVER
            case syntax.FlagChange():
                return _EMPTY
            case _:
                assert_never(node)

    def positions(self, sets: list[Ranges]) -> _Fragment:
        """Positions in a row, by what they read."""
        start, end = len(self.follow), len(self.follow) + len(sets)
        if end > LARGEST:
            raise Unsupported(f"the expression has more than {LARGEST} places that read a character")
        self.sets += sets
        self.follow += [1 << each for each in range(start + 1, end)]
        self.follow.append(0)
        return _Fragment(False, 1 << start, 1 << end - 1)

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

    def repeated(self, node: syntax.Repeat) -> _Fragment:
        """A copy of the body for each time that it can be read, the last one looped where there is no end to it."""
        size = len(self.follow)
        times = max(node.least, 1) if node.most is None else node.most
        copies = [self.fragment(node.body)] if times else []
        if copies and len(self.follow) == size:  # it reads nothing, however often
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
