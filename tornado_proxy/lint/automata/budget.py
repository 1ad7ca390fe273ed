"""How much work a proof may cost: counted in steps, so that the same rules get the same answers on any machine."""

from __future__ import annotations

from tornado_proxy.lint.automata.errors import Exhausted

QUESTION = 200_000
"""The steps that one question gets where its caller says nothing: at most a second of plain Python."""


LIST = 2_000_000
"""The steps that all questions about one list get together where the caller says nothing."""


class Budget:
    """Steps to be spent; a step is some microseconds of a proof."""

    __slots__ = ("_left", "_whole")

    def __init__(self, steps: int = QUESTION, whole: Budget | None = None) -> None:
        self._left = steps
        self._whole = whole

    @property
    def left(self) -> int:
        """The steps that may still be spent."""
        return self._left if self._whole is None else min(self._left, self._whole.left)

    def spend(self, steps: int) -> None:
        """Take steps from this budget and from the one it is part of; raises `Exhausted` where too few are left."""
        self._left -= steps
        if self._left < 0:
            raise Exhausted
        if self._whole is not None:
            self._whole.spend(steps)

    def portion(self, steps: int) -> Budget:
        """A budget for one question of many, which spends from this one too."""
        return Budget(steps, self)
