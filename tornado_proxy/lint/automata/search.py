"""The shortest real key that some automata find and others do not: a breadth-first search of their product.

Keys are tried in the order of their length in bytes, and of any length: where the search ends without one, there is
none. A state is left out where another that is no longer leads wherever it leads: one that differs from it in holding
fewer positions of automata that must not match. So the search mostly stays small where an automaton made deterministic
would be too large.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tornado_proxy.lint.automata.automaton import Automaton
from tornado_proxy.lint.automata.budget import Budget
from tornado_proxy.lint.automata.errors import OnlyOverlong
from tornado_proxy.lint.automata.product import Product, Spot
from tornado_proxy.lint.automata.real_keys import LONGEST

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
