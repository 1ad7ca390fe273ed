"""Which rewrites of an ordered list can ever be reached, where the first source that is found decides.

A proof looks for a key that the later source finds and some earlier ones do not, beginning with none of them. Whoever
takes the key that turns up joins them, until nobody does (the key reaches the later one) or no such key is left (it is
covered by those who joined). So a proof only ever deals with the few rewrites that matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from tornado_proxy.lint.automata.budget import LIST, QUESTION, Budget
from tornado_proxy.lint.automata.errors import Exhausted, OnlyOverlong, Unproved, Unsupported
from tornado_proxy.lint.automata.language import Language
from tornado_proxy.lint.automata.proofs import Answer, Example, NoKey, Unknown
from tornado_proxy.lint.automata.search import shortest


@dataclass(frozen=True, slots=True)
class Covered:
    """Every real key in which the source is found is taken by an earlier one; `by` are their indices, all needed."""

    by: tuple[int, ...]


Reach = Covered | Answer
"""A key that reaches a rewrite, the earlier ones that take all its keys, no key at all, or nothing proved."""


def covered(earlier: Sequence[Language], later: Language, budget: Budget | None = None) -> Reach:
    """Whether earlier sources, one or several together, take every real key that a later one could."""
    spent = budget or Budget()
    treatable = {index: each for index, each in enumerate(earlier) if each.treatable}

    def taker(key: str) -> int | None:
        found = next((index for index, each in treatable.items() if each.finds(key, spent)), None)
        if found is None and len(treatable) < len(earlier):
            raise Unsupported("an earlier expression cannot be treated exactly")
        return found

    return _settled(lambda: _reach(earlier, later, taker, (), spent))


def reachability(
    languages: Sequence[Language], first: Callable[[str], int | None], budget: Budget | None = None
) -> tuple[Reach, ...]:
    """For each source of an ordered list, whether a key reaches it.

    `first` is the matcher that will run: the index of the first source found in a key, None for none. It judges every
    example, so that none is wrong, and a list of which little is unreachable costs little more than its parsing.
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
    # Whoever takes a key of this source is the first to suspect of taking them all.
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
