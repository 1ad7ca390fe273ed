"""The limits of one rendering, what is left of them, and the error of one that fails."""

from __future__ import annotations

from dataclasses import dataclass

from tornado_proxy.templates.template import LimitError, RenderError


@dataclass(frozen=True, slots=True)
class RenderLimits:
    """The most that one rendering may take: steps of work, bytes of a text, elements of a list, nested templates.

    A step is an action or an argument evaluated, some elements visited, or a stretch of text read or made. With the
    defaults a hostile template ends within some tens of milliseconds.
    """

    steps: int = 20_000
    text: int = 16_384
    items: int = 4_096
    depth: int = 60


class RenderBudget:
    """What is left of the limits for one rendering."""

    __slots__ = ("left", "limits")

    def __init__(self, limits: RenderLimits) -> None:
        self.limits = limits
        self.left = limits.steps

    def spend(self, steps: int = 1) -> None:
        """Take steps; raises `LimitError` when there are none left."""
        self.left -= steps
        if self.left < 0:
            raise LimitError(f"the template takes more than {self.limits.steps} steps")

    def text(self, size: int) -> None:
        """Accounts for a text that is about to be read or made; in bytes."""
        self.fit(size)
        self.spend(size >> 4)

    def fit(self, size: int) -> None:
        """Check the size of a text that is accounted for elsewhere."""
        if size > self.limits.text:
            raise LimitError(f"the template makes a text of more than {self.limits.text} bytes")

    def items(self, count: int) -> None:
        """Accounts for a list or a map that is about to be made; in elements."""
        if count > self.limits.items:
            raise LimitError(f"the template makes a list of more than {self.limits.items} elements")
        self.spend(count >> 3)

    def nest(self, depth: int) -> None:
        """Check how deep templates call each other, or values hold each other."""
        if depth > self.limits.depth:
            raise LimitError(f"the template nests deeper than {self.limits.depth} levels")


class ExecutionError(RenderError):
    """What Go's Execute returns as an error; `context` is the part of the template that failed, once it is known."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.context: str | None = None

    def __str__(self) -> str:
        return self.message if self.context is None else f"{self.message}, in `{self.context}`"
