"""The shortest valid key that some automata match and others do not: a breadth-first search of their product.

Keys are tried in the order of their length in bytes, without a limit of length: if the search ends without a key, there
is none. For an automaton that must match, a state holds one position, because one way to match is enough. For automata
that must not match, it holds all possible positions. A state is skipped if an earlier one subsumes it, that is, differs
only by fewer positions of automata that must not match. This keeps the search small in most cases where a deterministic
automaton would be too large.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from itertools import accumulate, islice, product
from operator import or_
from typing import NamedTuple

from tornado_proxy.golang.regexp import alphabet
from tornado_proxy.golang.regexp.alphabet import DEAD, EDGE, GAP_ASSERTIONS, OTHER_CHARACTER, PATH_TRANSITIONS, Budget
from tornado_proxy.golang.regexp.automaton import Automaton, Prefix, bits
from tornado_proxy.golang.regexp.classes import Ranges

PartialState = tuple[int, int, int]
"""The state of the path, the side that the last character forms, and one position of each required automaton."""


class Move(NamedTuple):
    """A symbol that may be read: its role in a path, its character and size, and the positions that read it."""

    path_role: int
    character: str
    size: int
    readers: int


class Component(NamedTuple):
    """A required automaton within the product, as sets of positions."""

    held: int  # all its positions
    complete: int
    certain: int  # the positions after which it matches, whatever follows


class Gap(NamedTuple):
    """The transitions of all automata across the gaps between two sides."""

    follow: list[int]
    ends: tuple[Prefix, ...]  # of each required automaton
    first: int  # of all excluded automata
    end: Prefix  # of all excluded automata


class Product:
    """The product of required automata, excluded automata and the automaton of valid keys.

    The positions of all automata share one integer, in their order. Above them are two more positions for each required
    automaton, which read every character: one says that its match has not begun, the other that it is complete. All
    keys begin with `literal_prefix`, which is compatible with the literal prefixes of the automata. `size` counts the
    positions.
    """

    def __init__(
        self, required: Sequence[Automaton], excluded_automata: Sequence[Automaton], literal_prefix: str = ""
    ) -> None:
        self._automata = (*required, *excluded_automata)
        *self._shifts, self.size = accumulate((len(each.sets) for each in self._automata), initial=0)
        self._required_count = len(required)
        self._every = (1 << 2 * self._required_count) - 1 << self.size  # the positions that read every character
        self._words = any(each.assertions & alphabet.WORD_BOUNDARIES for each in self._automata)
        self._sides = (OTHER_CHARACTER, alphabet.WORD_CHARACTER) if self._words else (OTHER_CHARACTER,)
        self._literal_prefix = literal_prefix
        certain = [each.certain << shift for each, shift in zip(self._automata, self._shifts, strict=True)]
        self._parts = tuple(self._part(index, each) for index, each in enumerate(certain[: self._required_count]))
        self._excluded_certain = reduce(or_, certain[self._required_count :], 0)
        self._gaps: dict[tuple[int, int], Gap] = {}

    @property
    def symbols(self) -> int:
        """The number of its symbols."""
        return sum(map(len, self._moves.values()))

    def accepts(self, partial: PartialState, excluded: int) -> bool:
        """Whether the key that leads to a state is valid, matches all required automata and no excluded one."""
        place, before, positions = partial
        if place not in alphabet.FINAL_STATES:
            return False
        gap = self._gap(before, EDGE)
        return not gap.end.matches_after(excluded) and all(end.matches_after(positions) for end in gap.ends)

    def successors(self, partial: PartialState, excluded: int) -> Iterator[tuple[PartialState, int, Move]]:
        """Yields the states after one more symbol, while all required automata can still match."""
        place, before, positions = partial
        for after in self._sides:
            gap = self._gap(before, after)
            if gap.end.matches_after(excluded):
                continue
            ahead = gap.first
            for position in bits(excluded):
                ahead |= gap.follow[position]
            parts = zip(self._parts, gap.ends, strict=True)
            next_positions = [self._following(gap, part, end, positions) for part, end in parts]
            for move in self._moves[after]:
                path, still_excluded = PATH_TRANSITIONS[place][move.path_role], ahead & move.readers
                if path == DEAD or still_excluded & self._excluded_certain:
                    continue
                for held in self._choices(next_positions, move.readers):
                    yield (path, after, held), still_excluded, move

    def initial_states(self) -> list[tuple[PartialState, int]]:
        """Returns the states after the literal prefix."""
        text = self._literal_prefix
        place = reduce(lambda place, each: PATH_TRANSITIONS[place][alphabet.path_role(each)], text, alphabet.START)
        before = EDGE if not text else alphabet.side(text[-1]) if self._words else OTHER_CHARACTER
        excluded = 0
        unwanted = zip(self._automata, self._shifts, strict=True)
        for each, shift in islice(unwanted, self._required_count, None):
            held, complete = each.read(text)
            if complete:
                return []
            excluded |= held << shift
        if place == DEAD:
            return []
        return [
            ((place, before, sum(held)), excluded)
            for held in product(*map(self._initial_positions, range(self._required_count)))
        ]

    def _initial_positions(self, index: int) -> list[int]:
        """Returns the possible positions of a required automaton after the literal prefix."""
        automaton = self._automata[index]
        held, complete = automaton.read(self._literal_prefix)
        if complete:
            return [self._parts[index].complete]
        waiting = [self._not_begun(index)] if automaton.may_start_later or not self._literal_prefix else []
        return waiting + [1 << each for each in bits(held << self._shifts[index])]

    def _following(self, gap: Gap, part: Component, end: Prefix, positions: int) -> int:
        """Returns the positions of one required automaton that may read the next character."""
        held = positions & part.held
        return part.complete if end.matches_after(held) else gap.follow[held.bit_length() - 1]

    def _choices(self, next_positions: Sequence[int], readers: int) -> list[int]:
        """Returns the sets with one position of each required automaton after a symbol was read."""
        combinations = [0]
        for part, following in zip(self._parts, next_positions, strict=True):
            held = following & readers
            if not held:
                return []
            choices = [part.complete] if held & part.certain else [1 << each for each in bits(held)]
            combinations = [one | other for one in combinations for other in choices]
        return combinations

    def _gap(self, before: int, after: int) -> Gap:
        if (before, after) not in self._gaps:
            self._gaps[before, after] = self._joined(GAP_ASSERTIONS[before][after])
        return self._gaps[before, after]

    def _joined(self, assertions: int) -> Gap:
        tables = [(each.table(assertions), shift) for each, shift in zip(self._automata, self._shifts, strict=True)]
        follow = [each << shift for table, shift in tables for each in table.follow]
        for index, (table, shift) in enumerate(tables[: self._required_count]):
            waiting = self._not_begun(index) if self._automata[index].may_start_later else 0
            follow += (table.first << shift | waiting, self._parts[index].complete)
        ends = [Prefix(table.prefixes[-1].nullable, table.prefixes[-1].last << shift) for table, shift in tables]
        for index, part in enumerate(self._parts):
            ends[index] = Prefix(ends[index].nullable, ends[index].last | part.complete)
        unwanted = ends[self._required_count :]
        return Gap(
            follow,
            tuple(ends[: self._required_count]),
            reduce(or_, (table.first << shift for table, shift in tables[self._required_count :]), 0),
            Prefix(any(end.nullable for end in unwanted), reduce(or_, (end.last for end in unwanted), 0)),
        )

    def _not_begun(self, index: int) -> int:
        """Returns the position that says that a match has not begun."""
        return 1 << self.size + 2 * index

    def _part(self, index: int, certain: int) -> Component:
        positions = (1 << len(self._automata[index].sets)) - 1 << self._shifts[index]
        waiting = self._not_begun(index)
        return Component(positions | waiting | waiting << 1, waiting << 1, certain)

    @cached_property
    def _moves(self) -> dict[int, list[Move]]:
        """The symbols that may follow the literal prefix, by the side that they form."""
        readers: dict[Ranges, int] = {}
        for each, shift in zip(self._automata, self._shifts, strict=True):
            # The positions that read the literal prefix are never reached again.
            start = min(len(self._literal_prefix), len(each.literal_prefix))
            for ranges, positions in each.positions_by_set.items():
                if later := positions >> start << start:
                    readers[ranges] = readers.get(ranges, 0) | later << shift
        sets = tuple(sorted(readers))  # sorted, so that products of the same sets share the cached symbols
        masks = [readers[each] for each in sets]
        moves: dict[int, list[Move]] = {side: [] for side in self._sides}
        for symbol in alphabet.symbols(sets, words=self._words):
            held = self._every
            for index in bits(symbol.sets):
                held |= masks[index]
            moves[symbol.side].append(Move(symbol.path_role, symbol.character, symbol.size, held))
        return moves


State = tuple[PartialState, int]  # a state of the search, with the positions of all excluded automata

Step = tuple[State, State | None, str]  # a state, its predecessor, and the character between them


_SETUP_STEPS = 50  # the steps that a search costs before it reads anything


def shortest(required: Sequence[Automaton], excluded_automata: Sequence[Automaton], budget: Budget) -> str | None:
    """Returns the shortest valid key that all `required` match and no excluded one, or None; raises `Unproved`."""
    prefix = max((each.literal_prefix for each in required), key=len)
    if not all(prefix.startswith(each.literal_prefix) for each in required):
        return None
    prefixes = [(each, each.literal_prefix) for each in excluded_automata]
    compatible = [each for each, own in prefixes if prefix.startswith(own) or own.startswith(prefix)]
    product = Product(required, compatible, prefix)
    budget.spend(_SETUP_STEPS + product.size // 8)
    initial = product.initial_states()
    if not initial:
        return None
    budget.spend(product.symbols)
    reached = _Reached(budget)
    size = len(prefix.encode())
    waiting: defaultdict[int, list[Step]] = defaultdict(list, {size: [(state, None, "") for state in initial]})
    while waiting:
        # States with few positions of excluded automata subsume most others.
        steps = sorted(waiting.pop(size, ()), key=lambda step: step[0][1].bit_count())
        for state, origin, character in steps:
            if not reached.add(state, origin, character):
                continue
            if product.accepts(*state):
                if size > alphabet.LONGEST_KEY:
                    raise alphabet.OnlyOverlong("only keys that are too long would show it")
                return prefix + reached.key_to(state)
            budget.spend(product.symbols + state[1].bit_count() // 4)
            for partial, excluded, move in product.successors(*state):
                if not reached.subsumes(partial, excluded):
                    waiting[size + move.size].append(((partial, excluded), state, move.character))
        size += 1
    return None


class _Reached:
    """The states reached so far, their predecessors, and the minimal excluded positions by partial state."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._origins: dict[State, tuple[State | None, str]] = {}
        self._least: dict[PartialState, list[int]] = {}

    def subsumes(self, partial: PartialState, excluded: int) -> bool:
        least = self._least.get(partial, ())
        self._budget.spend(1 + len(least) // 8)
        for each in least:  # noqa: SIM110 - a generator costs more than most of these loops
            if not each & ~excluded:
                return True
        return False

    def add(self, state: State, origin: State | None, character: str) -> bool:
        """Adds a state unless an earlier one subsumes it; returns whether it was added."""
        partial, excluded = state
        if self.subsumes(partial, excluded):
            return False
        self._least[partial] = [each for each in self._least.get(partial, ()) if excluded & ~each] + [excluded]
        self._origins[state] = (origin, character)
        return True

    def key_to(self, state: State | None) -> str:
        characters = []
        while state is not None:
            state, character = self._origins[state]
            characters.append(character)
        return "".join(reversed(characters))
