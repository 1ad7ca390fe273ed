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

No library does this: interegular, greenery, pyformlang and automata-lib read other syntaxes than Go's, support neither
anchors within a searched text nor word boundaries, and most of them list their alphabet character by character.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, takewhile
from typing import NamedTuple

import msgspec

from gotemplate.limits import STEPS_PER_QUESTION
from gotemplate.regexp.automaton import Budget, Exhausted, Language, OnlyOverlong, Unproved, Unsupported, is_valid_key
from gotemplate.regexp.search import shortest
from gotemplate.regexp.syntax import ENDS, STARTS, AssertionKind, literal_edge


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
    except Unproved as error:
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
    return tuple(reach_of(languages, index, first, whole) for index in range(len(languages)))


def reach_of(languages: Sequence[Language], index: int, first: Callable[[str], int | None], whole: Budget) -> Reach:
    """Returns for one source of an ordered list whether a key reaches it, as `reachability` does for all."""
    later = languages[index]
    if later.guess is not None and first(later.guess) == index:
        return Example(later.guess)

    def first_match(key: str) -> int | None:
        taken = first(key)
        if taken is None or taken > index:
            raise Unsupported("the matcher does not find what the automaton finds")
        return None if taken == index else taken

    try:
        return _reach(languages, later, first_match, whole.portion(STEPS_PER_QUESTION))
    except Unproved as error:
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
            raise Unsupported("the matcher finds what the automaton does not find")
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
            with suppress(OnlyOverlong):  # a program may make a key that is too long
                needed = others if _uncovered_key(earlier, later, others, budget) is None else needed
    except Exhausted:
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
            except Exhausted:
                return
            if key is not None:
                yield Overlap(one, other, key)


def _guessed(one: int, other: int, languages: Sequence[Language], finds: Callable[[int, str], bool]) -> str | None:
    """Returns a key that two sources match, made from a guess at a key of each."""
    first, second = languages[one].guess, languages[other].guess
    if not first or not second:
        return None
    mixed = filter(is_valid_key, (first + second[1:], second + first[1:]))
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
        for number in chain.from_iterable(self._by_prefix.get(each, ()) for each in chain(longer, begun)):
            other = self._suffixes[number]
            if number in among and (other.endswith(end) or end.endswith(other)):
                yield number


def folded_edge(source: Language, anchors: frozenset[AssertionKind]) -> str:
    """Returns a text with which all keys of a source begin, or end, case folded; empty if none is certain."""
    return fold_case(literal_edge(source.tree, anchors, folds=True)) if source.tree else ""


def fold_case(text: str) -> str:
    """Returns a text with its ASCII letters, and their other forms in Unicode, in lower case."""
    return text.translate(_FOLDED)
