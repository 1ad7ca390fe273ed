"""What one rendering may take: steps of work, characters of text, macros within macros."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jinja2.runtime import Context

from tornado_proxy.templates.errors import LimitError

STEPS = 50_000
"""How many parts of a template are evaluated, each loop's as often as it runs; a usual template takes a few dozen."""

CHARACTERS = 65_536
"""How many characters of text are made, in parts and in whole; a key has at most 1024 bytes."""

MOST_BITS = 1024
"""The size of the largest integer."""

MACRO_DEPTH = 20

# Reading so many characters, or making so many, is as much work as one step.
_CHARACTERS_A_STEP = 16

KEY = " budget"
"""The name of the budget among a template's variables: no template can spell it."""


class Budget:
    """What is left for one rendering; each method raises `LimitError` when more is asked for."""

    __slots__ = ("_characters", "_depth", "_steps")

    def __init__(self) -> None:
        self._steps = STEPS
        self._characters = CHARACTERS
        self._depth = 0

    def work(self, steps: int = 1) -> None:
        """Take steps."""
        self._steps -= steps
        if self._steps < 0:
            raise LimitError(f"the template takes more than {STEPS} steps")

    def make(self, characters: int) -> None:
        """Make text; before it is made, if that can be."""
        self._characters -= characters
        if self._characters < 0:
            raise LimitError(f"the template makes more than {CHARACTERS} characters")
        self.work(characters // _CHARACTERS_A_STEP)

    def read(self, *values: object) -> None:
        """Look at values through and through; a list that stands in several places is read in each."""
        rest: list[Any] = list(values)
        while rest:
            value = rest.pop()
            if isinstance(value, str):
                self.work(1 + len(value) // _CHARACTERS_A_STEP)
            elif isinstance(value, (list, tuple, dict)):
                self.work(1 + len(value))
                rest.extend(value.values() if isinstance(value, dict) else value)

    def keep(self, value: object) -> None:
        """Take in a value that has been made from what was read."""
        if isinstance(value, str):
            self.make(len(value))
        elif isinstance(value, (list, tuple)):
            self.work(len(value))

    @contextmanager
    def macro(self) -> Iterator[None]:
        """Run a macro."""
        self._depth += 1
        if self._depth > MACRO_DEPTH:
            raise LimitError(f"macros call one another more than {MACRO_DEPTH} deep")
        try:
            yield
        finally:
            self._depth -= 1


def budget_of(context: Context) -> Budget:
    """The budget of the rendering that a context belongs to."""
    budget = context.parent[KEY]
    assert isinstance(budget, Budget)
    return budget
