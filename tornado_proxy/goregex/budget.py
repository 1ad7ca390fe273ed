"""How much work a proof may cost, and why a question may stay open.

Work is counted in steps and not in seconds, so that the same rules get the same answers on any machine.

Unproved
├── Unsupported     an expression cannot be treated exactly, so nothing is concluded from it
├── Exhausted       the budget is used up
└── OnlyOverlong    what answers the question is longer than keys may be
"""

from __future__ import annotations


class Unproved(Exception):
    """A question that stays open; the text says why, as a fact without a full stop."""


class Unsupported(Unproved):
    """An expression, or a part of one, cannot be treated exactly; nothing is concluded from it."""


class Exhausted(Unproved):
    """The steps of a budget are used up."""

    def __init__(self) -> None:
        super().__init__("the proof would take too long")


class OnlyOverlong(Unproved):
    """Every key that answers the question is longer than keys may be.

    Such a key is refused where a client asks for it, but a rewrite may shorten it. So it is not an example, and does
    not prove that there is no key.
    """

    def __init__(self) -> None:
        super().__init__("only keys that are too long would show it")


QUESTION = 200_000
"""The steps of one question by default: at most a second of plain Python."""

LIST = 2_000_000
"""The steps of all questions about one list by default."""


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
