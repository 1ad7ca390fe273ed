"""Questions about one language or two, answered with a key that shows it, with the proof that there is none, or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tornado_proxy.lint.automata.budget import Budget
from tornado_proxy.lint.automata.errors import Unproved
from tornado_proxy.lint.automata.language import Language
from tornado_proxy.lint.automata.search import shortest


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


Answer = Example | NoKey | Unknown


def shortest_key(of: Language, budget: Budget | None = None) -> Answer:
    """The shortest key in which a source is found; a source with none is unmatchable."""
    return _answer(lambda: shortest([of.automaton], [], budget or Budget()))


def overlap(one: Language, other: Language, budget: Budget | None = None) -> Answer:
    """The shortest key in which both of two sources are found."""
    return _answer(lambda: shortest([one.automaton, other.automaton], [], budget or Budget()))


def difference(one: Language, other: Language, budget: Budget | None = None) -> Answer:
    """The shortest key in which the one source is found and the other is not; none: the other finds them all."""
    return _answer(lambda: shortest([one.automaton], [other.automaton], budget or Budget()))


def _answer(question: Callable[[], str | None]) -> Answer:
    try:
        key = question()
    except Unproved as error:
        return Unknown(str(error))
    return NoKey() if key is None else Example(key)
