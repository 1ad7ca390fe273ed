"""The shortest real key that some automata find and others do not: a breadth-first search of their product.

Keys are tried in the order of their length in bytes, and of any length: where the search ends without one, there is
none. Of an automaton that has to match one position is held, since one way to match is enough; of those that must not
match, all positions that can be held. A state is left out where another that is no longer leads wherever it leads: one
that differs from it in holding fewer positions of automata that must not match. So the search mostly stays small where
an automaton made deterministic would be too large.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from itertools import accumulate, product
from operator import or_
from typing import NamedTuple

from tornado_proxy.goregex.alphabet import (
    BLANK,
    BOUNDARIES,
    EDGE,
    ENDS,
    FOLLOWING,
    HOLDING,
    LETTER,
    LONGEST,
    NOWHERE,
    Budget,
    OnlyOverlong,
    led,
    letters,
    side,
)
from tornado_proxy.goregex.automaton import Automaton, Stage, bits
from tornado_proxy.goregex.classes import Ranges

Spot = tuple[int, int, int]
"""A place in a key's segments, the side of its last character, and what automata hold that have to match."""


class Move(NamedTuple):
    """A letter that may be read: its role, its character and size, the positions that read it."""

    role: int
    character: str
    size: int
    readers: int


class Component(NamedTuple):
    """An automaton that has to match, within the whole."""

    held: int  # all its bits
    complete: int
    certain: int  # the positions after which its match is complete, whatever follows


class Gap(NamedTuple):
    """The tables of all automata for the gaps between two sides, as one."""

    follow: list[int]
    ends: tuple[Stage, ...]  # of each automaton that has to match
    first: int  # of those that must not
    end: Stage  # of those that must not


class Product:
    """Automata that have to match, automata that must not, and the language of real keys.

    The positions of all share one integer: those of each automaton stand above those of the one before. Above them
    stand two bits for each automaton that has to match, as positions that read every character: one says that its match
    has yet to begin, the other that it is complete. All keys begin with the opening, a text that may follow what the
    automata's own keys begin with.
    """

    def __init__(self, inside: Sequence[Automaton], outside: Sequence[Automaton], opening: str = "") -> None:
        self._automata = (*inside, *outside)
        *self._shifts, self._size = accumulate((len(each.sets) for each in self._automata), initial=0)
        self._wanted = len(inside)
        self._every = (1 << 2 * self._wanted) - 1 << self._size  # the bits that read every character
        self._words = any(each.truths & BOUNDARIES for each in self._automata)
        self._sides = (BLANK, LETTER) if self._words else (BLANK,)
        self._opening = opening
        certain = [each.certain << shift for each, shift in zip(self._automata, self._shifts, strict=True)]
        self._parts = tuple(self._part(index, certain[index]) for index in range(self._wanted))
        self._forbidden = reduce(or_, certain[self._wanted :], 0)
        self._gaps: dict[tuple[int, int], Gap] = {}
        self.positions = self._size

    @property
    def letters(self) -> int:
        """The number of its letters."""
        return sum(map(len, self._moves.values()))

    def accepts(self, spot: Spot, avoiding: int) -> bool:
        """Whether the key that led here is real, and matched as it has to be."""
        place, before, matching = spot
        if place not in ENDS:
            return False
        gap = self._gap(before, EDGE)
        return not gap.end.ended(avoiding) and all(end.ended(matching) for end in gap.ends)

    def successors(self, spot: Spot, avoiding: int) -> Iterator[tuple[Spot, int, Move]]:
        """Where letters lead if all can still match as they have to; `avoiding` is held by those that must not."""
        place, before, matching = spot
        for after in self._sides:
            gap = self._gap(before, after)
            if gap.end.ended(avoiding):
                continue
            ahead = gap.first
            for position in bits(avoiding):
                ahead |= gap.follow[position]
            headings = [
                self._heading(gap, part, end, matching) for part, end in zip(self._parts, gap.ends, strict=True)
            ]
            for move in self._moves[after]:
                reached, landed = FOLLOWING[place][move.role], ahead & move.readers
                if reached == NOWHERE or landed & self._forbidden:
                    continue
                for held in self._landings(headings, move.readers):
                    yield (reached, after, held), landed, move

    def opened(self) -> list[tuple[Spot, int]]:
        """The states that the opening leads to, with what is then held by those that must not match."""
        text = self._opening
        place = led(text)
        before = EDGE if not text else side(text[-1]) if self._words else BLANK
        avoiding = 0
        for each, shift in zip(self._automata[self._wanted :], self._shifts[self._wanted :], strict=True):
            held, complete = each.read(text)
            if complete:
                return []
            avoiding |= held << shift
        if place == NOWHERE:
            return []
        return [((place, before, sum(held)), avoiding) for held in product(*map(self._beginnings, range(self._wanted)))]

    def _beginnings(self, index: int) -> list[int]:
        """What an automaton may hold that has to match, once the opening is read."""
        of = self._automata[index]
        held, complete = of.read(self._opening)
        if complete:
            return [self._parts[index].complete]
        waiting = [self._waiting(index)] if of.restarts or not self._opening else []
        return waiting + [1 << each for each in bits(held << self._shifts[index])]

    def _heading(self, gap: Gap, part: Component, end: Stage, matching: int) -> int:
        """The positions of one automaton that may read the character after a gap."""
        held = matching & part.held
        return part.complete if end.ended(held) else gap.follow[held.bit_length() - 1]

    def _landings(self, headings: Sequence[int], readers: int) -> list[int]:
        """The positions that may be held once a letter is read, one of each automaton that has to match."""
        found = [0]
        for part, heading in zip(self._parts, headings, strict=True):
            landed = heading & readers
            if not landed:
                return []
            choices = [part.complete] if landed & part.certain else [1 << each for each in bits(landed)]
            found = [one | other for one in found for other in choices]
        return found

    def _gap(self, before: int, after: int) -> Gap:
        found = self._gaps.get((before, after))
        if found is None:
            found = self._gaps[before, after] = self._joined(HOLDING[before][after])
        return found

    def _joined(self, holding: int) -> Gap:
        tables = [(each.table(holding), shift) for each, shift in zip(self._automata, self._shifts, strict=True)]
        follow = [each << shift for table, shift in tables for each in table.follow]
        for index, (table, shift) in enumerate(tables[: self._wanted]):
            waiting = self._waiting(index) if self._automata[index].restarts else 0
            follow += (table.first << shift | waiting, self._parts[index].complete)
        ends = [Stage(table.stages[-1].empty, table.stages[-1].last << shift) for table, shift in tables]
        for index, part in enumerate(self._parts):
            ends[index] = Stage(ends[index].empty, ends[index].last | part.complete)
        unwanted = ends[self._wanted :]
        return Gap(
            follow,
            tuple(ends[: self._wanted]),
            reduce(or_, (table.first << shift for table, shift in tables[self._wanted :]), 0),
            Stage(any(end.empty for end in unwanted), reduce(or_, (end.last for end in unwanted), 0)),
        )

    def _waiting(self, index: int) -> int:
        """The bit that says that a match has yet to begin."""
        return 1 << self._size + 2 * index

    def _part(self, index: int, certain: int) -> Component:
        positions = (1 << len(self._automata[index].sets)) - 1 << self._shifts[index]
        waiting = self._waiting(index)
        return Component(positions | waiting | waiting << 1, waiting << 1, certain)

    @cached_property
    def _moves(self) -> dict[int, list[Move]]:
        """The letters that may be read once the opening was, by the side that they are."""
        readers: dict[Ranges, int] = {}
        for each, shift in zip(self._automata, self._shifts, strict=True):
            # Of the positions that read an opening, none is ever held again.
            for ranges, positions in each.holders(min(len(self._opening), len(each.opening))).items():
                readers[ranges] = readers.get(ranges, 0) | positions << shift
        sets = tuple(sorted(readers))  # one alphabet serves all products of the same sets
        masks = [readers[each] for each in sets]
        found: dict[int, list[Move]] = {side: [] for side in self._sides}
        for letter in letters(sets, words=self._words):
            held = self._every
            for index in bits(letter.sets):
                held |= masks[index]
            found[letter.side].append(Move(letter.role, letter.character, letter.size, held))
        return found


State = tuple[Spot, int]
"""Where a key has led, and the positions held by the automata that must not match."""

Step = tuple[State, State | None, str]
"""A state, the one before it, and the character that led on from that."""


_BEGINNING = 50
"""The steps that a search costs before it has read anything."""


def shortest(inside: Sequence[Automaton], outside: Sequence[Automaton], budget: Budget) -> str | None:
    """The shortest real key that all of `inside`, one at least, find and none of `outside` does; raises `Unproved`."""
    opening = max((each.opening for each in inside), key=len)
    if not all(opening.startswith(each.opening) for each in inside):
        return None
    product = Product(inside, [each for each in outside if _may_follow(opening, each.opening)], opening)
    budget.spend(_BEGINNING + product.positions // 8)
    opened = product.opened()
    if not opened:
        return None
    budget.spend(product.letters)
    reached = _Reached(budget)
    size = len(opening.encode())
    waiting: defaultdict[int, list[Step]] = defaultdict(list, {size: [(state, None, "") for state in opened]})
    while waiting:
        for state, origin, character in sorted(waiting.pop(size, ()), key=_held):
            if not reached.add(state, origin, character):
                continue
            if product.accepts(*state):
                if size > LONGEST:
                    raise OnlyOverlong
                return opening + reached.spelt(state)
            budget.spend(product.letters + state[1].bit_count() // 4)
            for spot, avoiding, move in product.successors(*state):
                if not reached.covers(spot, avoiding):
                    waiting[size + move.size].append(((spot, avoiding), state, move.character))
        size += 1
    return None


def _may_follow(opening: str, other: str) -> bool:
    """Whether a key that begins with one text may begin with another one."""
    return opening.startswith(other) or other.startswith(opening)


def _held(step: Step) -> int:
    """How many positions of automata that must not match a state holds: the fewer, the more it makes others idle."""
    return step[0][1].bit_count()


class _Reached:
    """The states reached so far, with how, and by spot the least that is held by automata that must not match."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._origins: dict[State, tuple[State | None, str]] = {}
        self._least: dict[Spot, list[int]] = {}

    def covers(self, spot: Spot, avoiding: int) -> bool:
        """Whether a state reached before leads wherever this one leads."""
        least = self._least.get(spot, ())
        self._budget.spend(1 + len(least) // 8)
        for each in least:  # noqa: SIM110 - a generator costs more than most of these loops
            if not each & ~avoiding:
                return True
        return False

    def add(self, state: State, origin: State | None, character: str) -> bool:
        """Take in a state, if none before leads wherever it leads."""
        spot, avoiding = state
        if self.covers(spot, avoiding):
            return False
        self._least[spot] = [each for each in self._least.get(spot, ()) if avoiding & ~each] + [avoiding]
        self._origins[state] = (origin, character)
        return True

    def spelt(self, state: State | None) -> str:
        """The key that led to a state."""
        characters = []
        while state is not None:
            state, character = self._origins[state]
            characters.append(character)
        return "".join(reversed(characters))
