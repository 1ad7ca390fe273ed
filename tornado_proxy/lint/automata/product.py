"""Several automata and the language of real keys, read at once.

All positions share one integer: those of each automaton stand above those of the one before, and above them all stands
a bit for each automaton that has to match, which says that it has. A state is a place in the key's segments, the side
of the last character, and the positions held; states are made as a search meets them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import accumulate, product
from operator import and_, or_
from typing import NamedTuple

from tornado_proxy.lint.automata.alphabet import letters
from tornado_proxy.lint.automata.automaton import Automaton, Stage, Table, bits
from tornado_proxy.lint.automata.characters import CharacterSet
from tornado_proxy.lint.automata.gaps import BLANK, BOUNDARIES, EDGE, HOLDING, LETTER
from tornado_proxy.lint.automata.real_keys import ENDS, FOLLOWING, NOWHERE, START

State = tuple[int, int, int]
"""Place, side, positions."""


class Move(NamedTuple):
    """A letter that may be read in a place: the place after it, its character and size, the positions that read it."""

    place: int
    character: str
    size: int
    readers: int


class Part(NamedTuple):
    """An automaton that has to match, within the whole."""

    positions: int
    matched: int  # the bit that says that it has
    certain: int  # the positions after which it has, whatever follows
    restarts: bool  # whether a match can begin after the key has


class Gap(NamedTuple):
    """The tables of all automata for the gaps between two sides, as one."""

    first: int
    follow: list[int]
    wanted: tuple[Stage, ...]  # how each automaton ends that has to match
    unwanted: Stage  # how those end that must not


class Product:
    """Automata that have to match, automata that must not, and the language of real keys."""

    def __init__(self, inside: Sequence[Automaton], outside: Sequence[Automaton]) -> None:
        self._automata = (*inside, *outside)
        *self._shifts, self._size = accumulate((len(each.sets) for each in self._automata), initial=0)
        words = any(each.truths & BOUNDARIES for each in self._automata)
        self._sides = (BLANK, LETTER) if words else (BLANK,)
        self._wanted = len(inside)
        self._parts = tuple(self._part(index) for index in range(len(inside)))
        self._forbidden = reduce(or_, (self._certain(index) for index in range(len(inside), len(self._automata))), 0)
        self._moves = self._all_moves(words=words)
        self._gaps: dict[tuple[int, int], Gap] = {}
        self.start: State = (START, EDGE, 0)
        self.cost = sum(len(moves) for moves in self._moves[-1])

    def accepts(self, state: State) -> bool:
        """Whether the key that led to a state is real, and matched as it has to be."""
        place, before, held = state
        if place not in ENDS:
            return False
        heading = self._heading(held, before, EDGE)
        return heading is not None and all(heading & part.matched for part in self._parts)

    def successors(self, state: State) -> Iterator[tuple[State, Move]]:
        """The states one letter on from which all may still match as they have to."""
        place, before, held = state
        for after, moves in zip(self._sides, self._moves[place], strict=True):
            heading = self._heading(held, before, after)
            if heading is None:
                continue
            for move in moves:
                landed = self._landed(heading & move.readers)
                if landed is not None:
                    yield (move.place, after, landed), move

    def _heading(self, held: int, before: int, after: int) -> int | None:
        """The positions that may read the character after a gap; None where one matched that must not."""
        gap = self._gap(before, after)
        if gap.unwanted.empty or held & gap.unwanted.last:
            return None
        found = gap.first
        for position in bits(held & (1 << self._size) - 1):
            found |= gap.follow[position]
        for part, end in zip(self._parts, gap.wanted, strict=True):
            if end.empty or held & (end.last | part.matched):
                found = found & ~part.positions | part.matched
        return found

    def _landed(self, held: int) -> int | None:
        """The same positions once it is said who has matched; None where one has that must not, or one no more can."""
        if held & self._forbidden:
            return None
        for part in self._parts:
            if held & part.certain:
                held = held & ~part.positions | part.matched
            elif not (part.restarts or held & (part.positions | part.matched)):
                return None
        return held

    def _gap(self, before: int, after: int) -> Gap:
        if (before, after) not in self._gaps:
            tables = self._tables(HOLDING[before][after])
            ends = tuple(Stage(table.stages[-1].empty, table.stages[-1].last << shift) for table, shift in tables)
            self._gaps[before, after] = Gap(
                reduce(or_, (table.first << shift for table, shift in tables)),
                [each << shift for table, shift in tables for each in table.follow],
                ends[: self._wanted],
                Stage(
                    any(end.empty for end in ends[self._wanted :]),
                    reduce(or_, (end.last for end in ends[self._wanted :]), 0),
                ),
            )
        return self._gaps[before, after]

    def _tables(self, holding: int) -> list[tuple[Table, int]]:
        return [(each.table(holding), shift) for each, shift in zip(self._automata, self._shifts, strict=True)]

    def _inner(self, index: int) -> list[Table]:
        """The tables of one automaton for all gaps but those before a key."""
        found = product(self._sides, (EDGE, *self._sides))
        return [self._automata[index].table(HOLDING[before][after]) for before, after in found]

    def _certain(self, index: int) -> int:
        return reduce(and_, (table.stages[-1].last for table in self._inner(index))) << self._shifts[index]

    def _part(self, index: int) -> Part:
        return Part(
            (1 << len(self._automata[index].sets)) - 1 << self._shifts[index],
            1 << self._size + index,
            self._certain(index),
            any(table.first or table.stages[-1].empty for table in self._inner(index)),
        )

    def _all_moves(self, *, words: bool) -> list[list[list[Move]]]:
        """The letters that may be read, by place and by the side that they are."""
        readers: dict[CharacterSet, int] = {}
        for each, shift in zip(self._automata, self._shifts, strict=True):
            for held, positions in each.holders.items():
                readers[held] = readers.get(held, 0) | positions << shift
        masks = [*readers.values()]
        matched = reduce(or_, (part.matched for part in self._parts), 0)
        alphabet = [
            (letter, reduce(or_, (masks[index] for index in bits(letter.sets)), matched))
            for letter in letters(tuple(readers), words=words)
        ]
        return [
            [
                [
                    Move(following[letter.role], letter.character, letter.size, held)
                    for letter, held in alphabet
                    if letter.side == side and following[letter.role] != NOWHERE
                ]
                for side in self._sides
            ]
            for following in FOLLOWING
        ]
