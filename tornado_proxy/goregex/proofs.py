r"""What can be proved of sources: which keys two of them share, and which of a list no key ever reaches.

An answer is a real key that shows it, short and in everyday characters; the proof that no key does; or `Unknown`.

    >>> from tornado_proxy.goregex.language import language
    >>> one, both = language("^/a/"), language("^/[ab]/.+$")
    >>> overlap(one, both)
    Example(key='/a/a')
    >>> difference(one, both)
    Example(key='/a/')
    >>> shortest_key(language("^docs/"))
    NoKey()

For a list, a proof looks for a key that the later source finds and some earlier ones do not, beginning without any.
The earlier source that takes the key that turns up joins them, until none takes it (the key reaches the later one) or
there is no such key (those that joined cover the later one). So a proof only ever deals with the few rewrites that
matter.

Why not a library: interegular, greenery, pyformlang and automata-lib read other syntaxes than Go's, know neither
anchors within a searched text nor word boundaries, and most list their alphabet character by character.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, takewhile
from typing import NamedTuple

from tornado_proxy.goregex.alphabet import (
    LIST,
    QUESTION,
    Budget,
    Exhausted,
    OnlyOverlong,
    Unproved,
    Unsupported,
    is_real,
)
from tornado_proxy.goregex.language import Language
from tornado_proxy.goregex.search import shortest
from tornado_proxy.goregex.syntax import Assertion, AssertionKind, FlagChange, Node, Text


@dataclass(frozen=True, slots=True)
class Example:
    """There is such a key: this one, which is real."""

    key: str


@dataclass(frozen=True, slots=True)
class NoKey:
    """There is no such real key: proved."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither was proved: the expression cannot be treated exactly, or the budget was used up."""

    reason: str


Proof = Example | NoKey | Unknown


def shortest_key(of: Language, budget: Budget | None = None) -> Proof:
    """The shortest key in which a source is found; a source with none is unmatchable."""
    return _answer(lambda: shortest([of.automaton], [], budget or Budget()))


def overlap(one: Language, other: Language, budget: Budget | None = None) -> Proof:
    """The shortest key in which both of two sources are found."""
    return _answer(lambda: shortest([one.automaton, other.automaton], [], budget or Budget()))


def difference(one: Language, other: Language, budget: Budget | None = None) -> Proof:
    """The shortest key in which the one source is found and the other is not; none: the other finds them all."""
    return _answer(lambda: shortest([one.automaton], [other.automaton], budget or Budget()))


def _answer(question: Callable[[], str | None]) -> Proof:
    try:
        key = question()
    except Unproved as error:
        return Unknown(str(error))
    return NoKey() if key is None else Example(key)


@dataclass(frozen=True, slots=True)
class Covered:
    """Every real key in which the source is found is taken by an earlier one; `by` are their indices, all needed."""

    by: tuple[int, ...]


Reach = Covered | Proof
"""A key that reaches a rewrite, the earlier ones that take all its keys, no key at all, or nothing proved."""


def reachability(
    languages: Sequence[Language], first: Callable[[str], int | None], budget: Budget | None = None
) -> tuple[Reach, ...]:
    """For each source of an ordered list, whether a key reaches it.

    `first` is the matcher that will run: the index of the first source found in a key, None for none. It judges every
    example, so no example is wrong, and a list with few unreachable sources costs little more than its parsing.
    """
    whole = budget or Budget(LIST)
    return tuple(_settled(partial(_reached, languages, index, first, whole)) for index in range(len(languages)))


def _settled(question: Callable[[], Reach]) -> Reach:
    try:
        return question()
    except Unproved as error:
        return Unknown(str(error))


def _reached(languages: Sequence[Language], index: int, first: Callable[[str], int | None], whole: Budget) -> Reach:
    later = languages[index]
    key = later.guess
    taken = None if key is None else first(key)
    if key is not None and taken == index:
        return Example(key)
    budget = whole.portion(min(QUESTION, whole.left))
    # A source that takes one key of this source is the first candidate for taking them all.
    suspects = (taken,) if key and taken is not None and taken < index and later.finds(key, budget) else ()

    def taker(key: str) -> int | None:
        taken = first(key)
        if taken is None or taken > index:
            raise Unsupported("the matcher does not find what the automaton finds")
        return None if taken == index else taken

    return _reach(languages, later, taker, suspects, budget)


def _reach(
    earlier: Sequence[Language],
    later: Language,
    taker: Callable[[str], int | None],
    suspects: Iterable[int],
    budget: Budget,
) -> Reach:
    """The answer, by those who take key after key; `suspects` take one of the later source's. Raises as proofs do."""
    by = list(suspects)
    while (key := _escaping(earlier, later, by, budget)) is not None:
        taken = taker(key)
        if taken is None:
            return Example(key)
        if taken in by:
            raise Unsupported("the matcher finds what the automaton does not find")
        by.append(taken)
    return Covered(tuple(sorted(_needed(earlier, later, by, budget)))) if by else NoKey()


def _escaping(earlier: Sequence[Language], later: Language, by: Sequence[int], budget: Budget) -> str | None:
    """A key that a later source finds, and none of some earlier ones."""
    return shortest([later.automaton], [earlier[each].automaton for each in by], budget)


def _leave_any(earlier: Sequence[Language], later: Language, by: Sequence[int], budget: Budget) -> bool:
    """Whether some earlier ones leave a later source any key, even one that is too long."""
    try:
        return _escaping(earlier, later, by, budget) is not None
    except OnlyOverlong:
        return True


def _needed(earlier: Sequence[Language], later: Language, by: Sequence[int], budget: Budget) -> list[int]:
    """Those of some that cover a later source which it takes to cover it, as far as the budget goes."""
    needed = list(by)
    try:
        for each in by if len(by) > 1 else ():
            others = [other for other in needed if other != each]
            if not _leave_any(earlier, later, others, budget):
                needed = others
    except Exhausted:
        pass  # the proof stands; some of its members may be idle
    return needed


_STARTS = {AssertionKind.TEXT_START, AssertionKind.LINE_START}
_ENDS = {AssertionKind.TEXT_END, AssertionKind.LINE_END}
# Of characters that are cases of each other, one stands for all: of those in ASCII and their third forms.
_ONE_CASE = {ord(each): each.lower() for each in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"} | {0x212A: "k", 0x17F: "s"}


class Overlap(NamedTuple):
    """Two sources of a list, as indices in order, and a key in which both are found."""

    one: int
    other: int
    key: str


def overlaps(
    languages: Sequence[Language], finds: Callable[[int, str], bool], budget: Budget | None = None
) -> Iterator[Overlap]:
    """The pairs of sources that share a key, ordered by the later one.

    `finds` is the matcher that will run: whether the source of an index is found in a key. It judges what is guessed,
    so that most pairs need no proof. The budget is for all pairs together; pairs that it does not reach, and pairs of
    which nothing can be proved, are passed over.
    """
    whole = budget or Budget(LIST)
    for one, other in _candidates(languages):
        try:
            whole.spend(1)
            key = _guessed(one, other, languages, finds) or _shared(languages[one], languages[other], whole)
        except Exhausted:
            return
        if key is not None:
            yield Overlap(one, other, key)


def _guessed(one: int, other: int, languages: Sequence[Language], finds: Callable[[int, str], bool]) -> str | None:
    """A guessed key in which both of two sources are found."""
    guesses = _guesses(languages[one].guess, languages[other].guess)
    return next((key for key in guesses if finds(one, key) and finds(other, key)), None)


def _shared(one: Language, other: Language, whole: Budget) -> str | None:
    """A key in which both of two sources are found; raises `Exhausted` with the whole budget."""
    answer = overlap(one, other, whole.portion(min(QUESTION, whole.left)))
    return answer.key if isinstance(answer, Example) else None


def _guesses(one: str | None, other: str | None) -> Iterator[str]:
    """Keys that may belong to two sources, by one that each probably finds."""
    if one and other:
        yield from (one, other)
        yield from (key for key in (one + other[1:], other + one[1:]) if is_real(key))


def _candidates(languages: Sequence[Language]) -> Iterator[tuple[int, int]]:
    """The pairs whose keys do not begin or end with different texts."""
    earlier = Neighbours(languages)
    for other in range(len(languages)):
        yield from ((one, other) for one in sorted(earlier.of(other)))
        earlier.add(other)


class Neighbours:
    """Some sources of a list, found by others of it whose keys may begin and end as theirs do."""

    def __init__(self, languages: Sequence[Language]) -> None:
        self._openings = [opening(each) for each in languages]
        self._closings = [closing(each) for each in languages]
        lengths = sorted(set(map(len, self._openings)))
        # What of an opening may be the whole of another one.
        self._begun = [[text[:each] for each in lengths if each < len(text)] for text in self._openings]
        self._alike: defaultdict[str, list[int]] = defaultdict(list)  # by opening
        self._longer: defaultdict[str, list[int]] = defaultdict(list)  # by what an opening goes on from

    def add(self, index: int) -> None:
        """Take in a source."""
        text = self._openings[index]
        self._alike[text].append(index)
        for begun in self._begun[index]:
            self._longer[begun].append(index)

    def of(self, index: int) -> Iterator[int]:
        """Returns the sources that may share a key with a source; no other does."""
        text, end = self._openings[index], self._closings[index]
        alike = (self._alike[begun] for begun in (text, *self._begun[index]) if begun in self._alike)
        for number in chain(self._longer.get(text, ()), *alike):
            other = self._closings[number]
            if other.endswith(end) or end.endswith(other):
                yield number


def opening(of: Language) -> str:
    """A text with which all keys begin in which a source is found, in one case; empty where none is certain."""
    return _edge(_parts(of), _STARTS)


def closing(of: Language) -> str:
    """A text with which all keys end in which a source is found, in one case; empty where none is certain."""
    return _edge(_parts(of)[::-1], _ENDS, -1)[::-1]


def _parts(of: Language) -> list[Node]:
    return [node for node, _ in of.atoms if not isinstance(node, FlagChange)]


def _edge(parts: Iterable[Node], anchors: set[AssertionKind], step: int = 1) -> str:
    """The plain characters between an anchor that comes first and whatever else comes; `step` is the way to read."""
    rest = iter(parts)
    first = next(rest, None)
    if not isinstance(first, Assertion) or first.kind not in anchors:
        return ""
    found = []
    for each in rest:
        if not isinstance(each, Text):
            break
        text = each.characters[::step]
        certain = takewhile(str.isascii, text) if each.folded else text
        found.append("".join(certain))
        if len(found[-1]) < len(text):
            break
    return in_one_case("".join(found))


def in_one_case(text: str) -> str:
    """A text in which the case of ASCII letters makes no difference."""
    return text.translate(_ONE_CASE)
