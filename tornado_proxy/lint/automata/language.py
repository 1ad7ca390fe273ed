"""The language of a source: the real keys in which its expression is found."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from tornado_proxy.lint.automata.automaton import Atom, Automaton, atoms, automaton
from tornado_proxy.lint.automata.budget import Budget
from tornado_proxy.lint.automata.errors import Unsupported
from tornado_proxy.lint.automata.gaps import gaps
from tornado_proxy.lint.automata.guess import guess
from tornado_proxy.lint.automata.parser import parse
from tornado_proxy.lint.automata.syntax import Node


@dataclass(frozen=True)  # no slots: what most answers do not need is made when first asked for
class Language:
    """The real keys in which an expression is found; without a `tree`, nothing can be proved of it."""

    text: str
    tree: Node | None = field(compare=False, repr=False)

    @property
    def automaton(self) -> Automaton:
        """What finds its keys; raises `Unsupported`."""
        if isinstance(self._made, str):
            raise Unsupported(self._made)
        return self._made

    @property
    def treatable(self) -> bool:
        """Whether its expression can be treated exactly."""
        return not isinstance(self._made, str)

    @cached_property
    def _made(self) -> Automaton | str:
        """The automaton, or why there is none."""
        try:
            return Automaton(self.atoms) if self.tree else automaton(parse(self.text))
        except Unsupported as error:
            return str(error)

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """The parts of its expression's outermost sequence; none without a tree."""
        return tuple(atoms(self.tree)) if self.tree else ()

    @cached_property
    def guess(self) -> str | None:
        """A short real key that it probably has, had without an automaton; None where none comes to mind."""
        return guess(self.tree) if self.tree else None

    def finds(self, key: str, budget: Budget | None = None) -> bool:
        """Whether its expression is found in a key, real or not, that begins with `/`.

        Raises `Unsupported`, and `Exhausted` where it has a budget and that is used up.
        """
        made = self.automaton
        if not key.startswith(made.opening):
            return False
        start = len(made.opening)
        held = 1 << start >> 1
        for holding, character in gaps(key, start):
            table = made.table(holding)
            if table.stages[-1].ended(held):
                return True
            if budget:
                budget.spend(1 + held.bit_count() // 8)
            if character:
                held = table.heading(held) & made.readers(character)
        return False


def language(text: str) -> Language:
    """The language of an expression that `rules.patterns.compile_pattern` accepts."""
    try:
        return Language(text, parse(text))
    except Unsupported:
        return Language(text, None)
