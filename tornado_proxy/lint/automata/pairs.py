"""Which pairs of sources share a key, without a proof for each pair that obviously does not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from tornado_proxy.lint.automata.automaton import atoms
from tornado_proxy.lint.automata.budget import LIST, QUESTION, Budget, Exhausted
from tornado_proxy.lint.automata.language import Language
from tornado_proxy.lint.automata.proofs import Example, overlap
from tornado_proxy.lint.automata.syntax import Assertion, AssertionKind, Character, FlagChange, Node

_STARTS = {AssertionKind.TEXT_START, AssertionKind.LINE_START}
_ENDS = {AssertionKind.TEXT_END, AssertionKind.LINE_END}


class Overlap(NamedTuple):
    """Two sources of a list, as indices in order, and a key in which both are found."""

    one: int
    other: int
    key: str


def overlaps(languages: Sequence[Language], budget: Budget | None = None) -> Iterator[Overlap]:
    """The pairs of sources that share a key, ordered by the later one.

    The budget is for all pairs together; pairs that it does not reach, and pairs of which nothing can be proved, are
    passed over.
    """
    whole = budget or Budget(LIST)
    for one, other in _candidates(languages):
        try:
            whole.spend(1)
        except Exhausted:
            return
        answer = overlap(languages[one], languages[other], whole.portion(QUESTION))
        if isinstance(answer, Example):
            yield Overlap(one, other, answer.key)


def _candidates(languages: Sequence[Language]) -> Iterator[tuple[int, int]]:
    """The pairs whose keys do not begin or end with different texts."""
    closings = [closing(each) for each in languages]
    alike: defaultdict[str, list[int]] = defaultdict(list)  # by opening
    longer: defaultdict[str, list[int]] = defaultdict(list)  # by what an opening goes on from
    for other, each in enumerate(languages):
        text = opening(each)
        earlier = [*longer[text], *(one for end in range(len(text) + 1) for one in alike[text[:end]])]
        for one in sorted(earlier):
            if closings[one].endswith(closings[other]) or closings[other].endswith(closings[one]):
                yield one, other
        alike[text].append(other)
        for end in range(len(text)):
            longer[text[:end]].append(other)


def opening(of: Language) -> str:
    """A text with which all keys begin in which a source is found; empty where none is certain."""
    return _edge(_parts(of), _STARTS)


def closing(of: Language) -> str:
    """A text with which all keys end in which a source is found; empty where none is certain."""
    return _edge(reversed(_parts(of)), _ENDS)[::-1]


def _parts(of: Language) -> list[Node]:
    if of.tree is None:
        return []
    return [each.node for each in atoms(of.tree) if not isinstance(each.node, FlagChange)]


def _edge(parts: Iterable[Node], anchors: set[AssertionKind]) -> str:
    """The plain characters between an anchor that comes first and whatever else comes."""
    rest = iter(parts)
    first = next(rest, None)
    if not isinstance(first, Assertion) or first.kind not in anchors:
        return ""
    plain = takewhile(lambda each: isinstance(each, Character) and not each.folded, rest)
    return "".join(each.character for each in plain if isinstance(each, Character))
