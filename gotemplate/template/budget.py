"""What one rendering may cost: steps of work, sizes of texts and lists, nesting."""

from __future__ import annotations

import msgspec

from gotemplate.template.errors import LimitError


class RenderLimits(msgspec.Struct, frozen=True):
    """The limits of one rendering: steps of work, size of a text, elements of a list, nested templates.

    A step is an action or an argument that is evaluated, eight elements, or sixteen bytes of text. With the defaults a
    hostile template ends within some tens of milliseconds.
    """

    steps: int = 20_000
    text: int = 16_384
    items: int = 4_096
    depth: int = 60
    unit: str = "bytes"  # of texts


class RenderBudget:
    """The steps that one rendering has left, and its limits; each method raises `LimitError` beyond them."""

    __slots__ = ("left", "limits")

    def __init__(self, limits: RenderLimits) -> None:
        self.limits = limits
        self.left = limits.steps

    def spend(self, steps: int = 1) -> None:
        """Charges for steps."""
        self.left -= steps
        if self.left < 0:
            raise LimitError(f"the template takes more than {self.limits.steps} steps")

    def text(self, size: int) -> None:
        """Charges for a text before it is read or made."""
        self.check_size(size)
        self.spend(size >> 4)

    def check_size(self, size: int) -> None:
        """Checks the size of a text that is charged for elsewhere."""
        if size > self.limits.text:
            raise LimitError(f"the template makes a text of more than {self.limits.text} {self.limits.unit}")

    def items(self, count: int) -> None:
        """Charges for a list or a map before it is made."""
        if count > self.limits.items:
            raise LimitError(f"the template makes a list of more than {self.limits.items} elements")
        self.spend(count >> 3)

    def nest(self, depth: int) -> None:
        """Checks how deep templates or values nest."""
        if depth > self.limits.depth:
            raise LimitError(f"the template nests deeper than {self.limits.depth} levels")
