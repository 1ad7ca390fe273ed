"""The shortest real key that some automata find and others do not: a breadth-first search of their product.

Keys are tried in the order of their length in bytes, up to the longest there may be: where the search ends without one,
there is none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tornado_proxy.lint.automata.automaton import Automaton
from tornado_proxy.lint.automata.budget import Budget
from tornado_proxy.lint.automata.product import Product, State
from tornado_proxy.lint.automata.real_keys import LONGEST

Origin = tuple[State, str]
"""The state before, and the character that led on from it."""


def shortest(inside: Sequence[Automaton], outside: Sequence[Automaton], budget: Budget) -> str | None:
    """The shortest real key that all of `inside` find and none of `outside` does; raises `Exhausted`."""
    product = Product(inside, outside)
    reached: dict[State, Origin | None] = {}
    waiting: defaultdict[int, list[tuple[State, Origin | None]]] = defaultdict(list, {0: [(product.start, None)]})
    for size in range(LONGEST + 1):
        for state, origin in waiting.pop(size, ()):
            if state in reached:
                continue
            reached[state] = origin
            if product.accepts(state):
                return _spelt(reached, state)
            budget.spend(product.cost)
            for following, move in product.successors(state):
                if following not in reached:
                    waiting[size + move.size].append((following, (state, move.character)))
        if not waiting:
            break
    return None


def _spelt(reached: dict[State, Origin | None], state: State) -> str:
    """The key that led to a state."""
    characters = []
    origin = reached[state]
    while origin is not None:
        state, character = origin
        characters.append(character)
        origin = reached[state]
    return "".join(reversed(characters))
