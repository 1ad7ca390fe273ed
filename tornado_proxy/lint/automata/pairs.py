"""Which pairs of sources share a key, without a proof for each pair that obviously does not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, takewhile
from typing import NamedTuple

from tornado_proxy.lint.automata.budget import LIST, QUESTION, Budget
from tornado_proxy.lint.automata.errors import Exhausted
from tornado_proxy.lint.automata.language import Language
from tornado_proxy.lint.automata.proofs import Example, overlap
from tornado_proxy.lint.automata.syntax import Assertion, AssertionKind, FlagChange, Node, Text
from tornado_proxy.rules.keys import objection

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
    """A key that comes to mind and in which both of two sources are found."""
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
        yield from (key for key in (one + other[1:], other + one[1:]) if not objection(key))


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
        """Those that may share a key with a source; all others share none."""
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
