"""Proofs about sources: which keys two of them share, and which sources of a list no key reaches.

An answer is a short, readable key as an example, the proof that there is no such key, or `Unknown`.

    >>> from gotemplate.regexp.automaton import language
    >>> one, both = language("^/a/"), language("^/[ab]/.+$")
    >>> overlap(one, both)
    Example(key='/a/a')
    >>> difference(one, both)
    Example(key='/a/')
    >>> shortest_key(language("^docs/"))
    NoKey()

To prove that a source is covered by earlier ones, we look for a key that it matches and a set of earlier sources does
not; the set is empty at first. The earlier source that takes the key joins the set. This goes on until no earlier
source takes the key (so it reaches the later source), or there is no such key (so the set covers it). A proof therefore
deals only with the few sources that matter.

Such a key is found by a breadth-first search that appends one character at a time, in the order of the length in bytes
and without a limit of length: if the search ends without a key, there is none. A state of the search says how far each
source has come in its automaton. Of a source that must match it holds one position, because one way to match is enough;
of those that must not match it holds all possible positions. A state is skipped if an earlier one subsumes it, that is,
differs only by fewer positions of sources that must not match. This keeps the search small in most cases where a
deterministic automaton would be too large.

No library does this: interegular, greenery, pyformlang and automata-lib read other syntaxes than Go's, support neither
anchors within a searched text nor word boundaries, and most of them list their alphabet character by character.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, reduce
from itertools import accumulate, chain, takewhile
from operator import or_
from typing import NamedTuple

import msgspec

from gotemplate.limits import LONGEST_KEY, STEPS_OF_SEARCH, STEPS_PER_QUESTION
from gotemplate.regexp import automaton
from gotemplate.regexp.automaton import Automaton, Budget, Fragment, KeySymbol, Language
from gotemplate.regexp.classes import Ranges, contains
from gotemplate.regexp.syntax import ENDS, STARTS, AssertionKind, literal_edge

PartialState = tuple[int, int, int]
"""The state of the path, the side that the last character forms, and one position of each required automaton."""

State = tuple[PartialState, int]  # a state of the search, with the positions of all excluded automata

Moves = dict[int, list[KeySymbol]]  # the symbols by the side that they form; their `readers` are positions


class Component(NamedTuple):
    """A required automaton within the product, as sets of positions."""

    held: int  # all its positions
    complete: int
    certain: int  # the positions after which it matches, whatever follows


class Gap(NamedTuple):
    """The transitions of all automata across the gaps between two sides."""

    follow: list[int]
    required: tuple[Fragment, ...]
    excluded: Fragment  # all of them together


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
        self._words = any(each.assertions & automaton.WORD_BOUNDARIES for each in self._automata)
        self._sides = (
            (automaton.OTHER_CHARACTER, automaton.WORD_CHARACTER) if self._words else (automaton.OTHER_CHARACTER,)
        )
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
        if place not in automaton.FINAL_STATES:
            return False
        gap = self._gap(before, automaton.EDGE)
        return not gap.excluded.matches_after(excluded) and all(end.matches_after(positions) for end in gap.required)

    def successors(
        self, partial: PartialState, excluded: int, moves: Moves | None = None
    ) -> Iterator[tuple[PartialState, int, KeySymbol]]:
        """Yields the states after one more symbol, of all or of some, while all required automata can still match."""
        place, before, positions = partial
        for after, symbols in (moves or self._moves).items():
            gap = self._gap(before, after)
            if gap.excluded.matches_after(excluded):
                continue
            ahead = gap.excluded.first
            for position in automaton.bits(excluded):
                ahead |= gap.follow[position]
            parts = zip(self._parts, gap.required, strict=True)
            next_positions = []  # of each required automaton: which may read the next character
            for part, end in parts:
                held = positions & part.held
                complete = end.matches_after(held)
                next_positions.append(part.complete if complete else gap.follow[held.bit_length() - 1])
            for move in symbols:
                path, still_excluded = automaton.PATH_TRANSITIONS[place][move.path_role], ahead & move.readers
                if path == automaton.DEAD or still_excluded & self._excluded_certain:
                    continue
                for held in self._choices(next_positions, move.readers):
                    yield (path, after, held), still_excluded, move

    def initial_states(self) -> list[State]:
        """Returns the states after the literal prefix."""
        text = self._literal_prefix
        common = min(len(text), *(len(each.literal_prefix) for each in self._automata))
        count = self._required_count
        # The state after the text with which the literal prefixes of all automata begin.
        state: State = (automaton.START, automaton.EDGE, sum(map(self._not_begun, range(count)))), 0
        if common:
            roles = map(automaton.path_role, text[:common])
            place = reduce(lambda place, role: automaton.PATH_TRANSITIONS[place][role], roles, automaton.START)
            positions = [1 << shift + common - 1 for shift in self._shifts]
            state = (place, self._side(text[common - 1]), sum(positions[:count])), sum(positions[count:])
        states = [state]
        sets = self._readers(common) if common < len(text) else {}
        for character in text[common:]:
            readers = sum(positions for each, positions in sets.items() if contains(each, ord(character)))
            side = self._side(character)
            moves = {side: [KeySymbol(character, self._every | readers, 0, automaton.path_role(character), side)]}
            states = [(partial, held) for state in states for partial, held, _ in self.successors(*state, moves)]
        return states

    def _side(self, character: str) -> int:
        return automaton.side(character) if self._words else automaton.OTHER_CHARACTER

    def _choices(self, next_positions: Sequence[int], readers: int) -> list[int]:
        """Returns the sets with one position of each required automaton after a symbol was read."""
        combinations = [0]
        for part, following in zip(self._parts, next_positions, strict=True):
            held = following & readers
            if not held:
                return []
            choices = [part.complete] if held & part.certain else [1 << each for each in automaton.bits(held)]
            combinations = [one | other for one in combinations for other in choices]
        return combinations

    def _gap(self, before: int, after: int) -> Gap:
        if (before, after) not in self._gaps:
            self._gaps[before, after] = self._joined(automaton.GAP_ASSERTIONS[before][after])
        return self._gaps[before, after]

    def _joined(self, assertions: int) -> Gap:
        tables = [(each.table(assertions), shift) for each, shift in zip(self._automata, self._shifts, strict=True)]
        follow = [each << shift for table, shift in tables for each in table.follow]
        for index, (table, shift) in enumerate(tables[: self._required_count]):
            waiting = self._not_begun(index) if self._automata[index].may_start_later else 0
            follow += (table.whole.first << shift | waiting, self._parts[index].complete)
        wholes = [Fragment(of.nullable, of.first << by, of.last << by) for (of, _), by in tables]
        required, excluded = wholes[: self._required_count], wholes[self._required_count :]
        completed = zip(required, self._parts, strict=True)
        return Gap(
            follow,
            tuple(each._replace(last=each.last | part.complete) for each, part in completed),
            reduce(automaton.either, excluded, automaton.NEVER),
        )

    def _not_begun(self, index: int) -> int:
        """Returns the position that says that a match has not begun."""
        return 1 << self.size + 2 * index

    def _part(self, index: int, certain: int) -> Component:
        positions = (1 << len(self._automata[index].sets)) - 1 << self._shifts[index]
        waiting = self._not_begun(index)
        return Component(positions | waiting | waiting << 1, waiting << 1, certain)

    def _readers(self, skipped: int) -> Mapping[Ranges, int]:
        """Returns the positions by the set that they read, without those of some characters of literal prefixes."""
        readers: defaultdict[Ranges, int] = defaultdict(int)
        for each, shift in zip(self._automata, self._shifts, strict=True):
            start = min(skipped, len(each.literal_prefix))
            for ranges, positions in each.positions_by_set.items():
                if later := positions >> start << start:
                    readers[ranges] |= later << shift
        return readers

    @cached_property
    def _moves(self) -> Moves:
        """The symbols that may follow the literal prefix, by the side that they form."""
        readers = self._readers(len(self._literal_prefix))  # the positions before it are never reached again
        sets = tuple(sorted(readers))  # sorted, so that products of the same sets share the cached symbols
        masks = [readers[each] for each in sets]
        moves: Moves = {side: [] for side in self._sides}
        for symbol in automaton.symbols(sets, words=self._words):
            held = self._every
            for index in automaton.bits(symbol.readers):
                held |= masks[index]
            moves[symbol.side].append(symbol._replace(readers=held))
        return moves


Step = tuple[State, State | None, str]  # a state, its predecessor, and the character between them


def shortest(required: Sequence[Automaton], excluded_automata: Sequence[Automaton], budget: Budget) -> str | None:
    """Returns the shortest valid key that all `required` match and no excluded one, or None; raises `Unproved`."""
    prefix = max((each.literal_prefix for each in required), key=len)
    if not all(prefix.startswith(each.literal_prefix) for each in required):
        return None
    prefixes = [(each, each.literal_prefix) for each in excluded_automata]
    compatible = [each for each, own in prefixes if prefix.startswith(own) or own.startswith(prefix)]
    product = Product(required, compatible, prefix)
    budget.spend(STEPS_OF_SEARCH + product.size // 8)
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
                if size > LONGEST_KEY:
                    raise automaton.OnlyOverlong("only keys that are too long would show it")
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


class Example(msgspec.Struct, frozen=True):
    """There is such a key: this valid one."""

    key: str


class NoKey(msgspec.Struct, frozen=True):
    """There is no such valid key: proved."""


class Unknown(msgspec.Struct, frozen=True):
    """Nothing was proved: the expression cannot be treated exactly, or the budget was used up."""

    reason: str


Proof = Example | NoKey | Unknown


def shortest_key(source: Language, budget: Budget | None = None) -> Proof:
    """Returns the shortest key that a source matches; `NoKey` if it is unmatchable."""
    return _answer(lambda: shortest([source.automaton], [], budget or Budget()))


def overlap(one: Language, other: Language, budget: Budget | None = None) -> Proof:
    """Returns the shortest key that two sources match."""
    return _answer(lambda: shortest([one.automaton, other.automaton], [], budget or Budget()))


def difference(one: Language, other: Language, budget: Budget | None = None) -> Proof:
    """Returns the shortest key that one source matches and the other does not; `NoKey` if the other matches all."""
    return _answer(lambda: shortest([one.automaton], [other.automaton], budget or Budget()))


def _answer(question: Callable[[], str | None]) -> Proof:
    try:
        key = question()
    except automaton.Unproved as error:
        return Unknown(str(error))
    return NoKey() if key is None else Example(key)


class Covered(msgspec.Struct, frozen=True):
    """Earlier sources take every valid key that the source matches; `by` has the indices of as few as were found."""

    by: tuple[int, ...]


Reach = Covered | Proof
"""A key that reaches a source, the earlier sources that take all its keys, no key at all, or nothing proved."""


def reachability(languages: Sequence[Language], first: Callable[[str], int | None], whole: Budget) -> tuple[Reach, ...]:
    """Returns for each source of an ordered list whether a key reaches it.

    `first` is the matcher in use: it returns the index of the first source that matches a key, or None. It
    checks every example, so no example is wrong, and a list with few unreachable sources costs little more than its
    parsing.
    """
    reaches: list[Reach] = []
    unreached: dict[Language, Reach] = {}  # what no key reaches is the same again further down
    for index, each in enumerate(languages):
        reaches.append(unreached.get(each) or reach_of(languages, index, first, whole))
        if isinstance(reaches[-1], Covered | NoKey):
            unreached[each] = reaches[-1]
    return tuple(reaches)


def reach_of(languages: Sequence[Language], index: int, first: Callable[[str], int | None], whole: Budget) -> Reach:
    """Returns for one source of an ordered list whether a key reaches it, as `reachability` does for all."""
    later = languages[index]
    if later.guess is not None and first(later.guess) == index:
        return Example(later.guess)

    def first_match(key: str) -> int | None:
        taken = first(key)
        if taken is None or taken > index:
            raise automaton.Unsupported("the matcher does not find what the automaton finds")
        return None if taken == index else taken

    try:
        return _reach(languages, later, first_match, whole.portion(STEPS_PER_QUESTION))
    except automaton.Unproved as error:
        return Unknown(str(error))


def _reach(
    earlier: Sequence[Language], later: Language, first_match: Callable[[str], int | None], budget: Budget
) -> Reach:
    """Returns whether a key reaches a source; `first_match` finds the earlier one that takes it. Raises `Unproved`."""
    by: list[int] = []
    while (key := _uncovered_key(earlier, later, by, budget)) is not None:
        taken = first_match(key)
        if taken is None:
            return Example(key)
        if taken in by:
            raise automaton.Unsupported("the matcher finds what the automaton does not find")
        by.append(taken)
    return Covered(tuple(sorted(_minimal_cover(earlier, later, by, budget)))) if by else NoKey()


def _uncovered_key(earlier: Sequence[Language], later: Language, by: Sequence[int], budget: Budget) -> str | None:
    return shortest([later.automaton], [earlier[each].automaton for each in by], budget)


def _minimal_cover(earlier: Sequence[Language], later: Language, by: Sequence[int], budget: Budget) -> list[int]:
    """Returns the sources without which a later source would not be covered, as far as the budget allows."""
    needed = list(by)
    try:
        for each in by if len(by) > 1 else ():
            others = [other for other in needed if other != each]
            with suppress(automaton.OnlyOverlong):  # a program may make a key that is too long
                needed = others if _uncovered_key(earlier, later, others, budget) is None else needed
    except automaton.Exhausted:
        pass  # the proof holds; some of its members may be unnecessary
    return needed


# One form for all cases of a letter: A to Z, the Kelvin sign and the long s.
_FOLDED = {ord(each): each.lower() for each in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"} | {0x212A: "k", 0x17F: "s"}


class Overlap(NamedTuple):
    """Two sources of a list, by index, and a key that both match."""

    one: int
    other: int
    key: str


def overlaps(languages: Sequence[Language], finds: Callable[[int, str], bool], whole: Budget) -> Iterator[Overlap]:
    """Yields the pairs of sources that share a key, ordered by the later source.

    `finds` is the matcher in use: whether the source of an index matches a key. It checks guessed keys, so that
    most pairs need no proof. The `whole` budget is for all pairs together. Pairs without a proof are passed over.
    """
    candidates = OverlapCandidates(languages)
    for other in range(len(languages)):
        for one in sorted(candidates.find(other, range(other))):
            try:
                whole.spend(1)
                key = _guessed(one, other, languages, finds)
                if key is None:
                    answer = overlap(languages[one], languages[other], whole.portion(STEPS_PER_QUESTION))
                    key = answer.key if isinstance(answer, Example) else None
            except automaton.Exhausted:
                return
            if key is not None:
                yield Overlap(one, other, key)


def _guessed(one: int, other: int, languages: Sequence[Language], finds: Callable[[int, str], bool]) -> str | None:
    """Returns a key that two sources match, made from a guess at a key of each."""
    first, second = languages[one].guess, languages[other].guess
    if not first or not second:
        return None
    mixed = filter(automaton.is_valid_key, (first + second[1:], second + first[1:]))
    return next((key for key in (first, second, *mixed) if finds(one, key) and finds(other, key)), None)


class OverlapCandidates:
    """An index of sources by their literal prefixes, to find sources that may share a key."""

    def __init__(self, languages: Sequence[Language]) -> None:
        self._prefixes = [folded_edge(each, STARTS) for each in languages]
        self._suffixes = [folded_edge(each, ENDS) for each in languages]
        self._lengths = sorted(set(map(len, self._prefixes)))
        self._by_prefix: defaultdict[str, list[int]] = defaultdict(list)
        for index, text in enumerate(self._prefixes):
            self._by_prefix[text].append(index)
        self._sorted = sorted(self._by_prefix)

    def find(self, index: int, among: range) -> Iterator[int]:
        """Yields the sources of a range that may share a key with a source; no other source of the range does."""
        text, end = self._prefixes[index], self._suffixes[index]
        begun = (text[:each] for each in takewhile(len(text).__gt__, self._lengths))
        places = range(bisect_left(self._sorted, text), len(self._sorted))
        longer = takewhile(lambda each: each.startswith(text), map(self._sorted.__getitem__, places))
        for alike in filter(None, map(self._by_prefix.get, chain(longer, begun))):
            for number in alike[bisect_left(alike, among.start) : bisect_left(alike, among.stop)]:
                other = self._suffixes[number]
                if other.endswith(end) or end.endswith(other):
                    yield number


def folded_edge(source: Language, anchors: frozenset[AssertionKind]) -> str:
    """Returns a text with which all keys of a source begin, or end, case folded; empty if none is certain."""
    return fold_case(literal_edge(source.tree, anchors, folds=True)) if source.tree else ""


def fold_case(text: str) -> str:
    """Returns a text with its ASCII letters, and their other forms in Unicode, in lower case."""
    return text.translate(_FOLDED)
