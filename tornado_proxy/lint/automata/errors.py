"""Why a question stays open.

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

    Such a key is refused where it is asked for as it is, but a rewrite may shorten it; so it is neither an example nor
    none.
    """

    def __init__(self) -> None:
        super().__init__("only keys that are too long would show it")
