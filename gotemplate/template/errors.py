"""The errors of templates, and the budget of a rendering: steps of work, sizes of texts and lists, nesting.

Mistakes are found when a template is compiled; the other errors when it is rendered.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

import msgspec


class TemplateMistake(Exception):
    """A template that does not compile; `offset` and `end` count code points, `others` are more mistakes."""

    def __init__(self, message: str, offset: int = 0, end: int | None = None, help: str | None = None) -> None:
        super().__init__(message)
        self.offset = offset
        self.end = end
        self.help = help
        self.others: tuple[TemplateMistake, ...] = ()


def refuse(mistakes: Iterable[TemplateMistake]) -> None:
    """Raises the first mistake of a text, with the others; of two at one place, the one found first."""
    by_place: dict[int, TemplateMistake] = {}
    for mistake in mistakes:
        by_place.setdefault(mistake.offset, mistake)
    if by_place:
        first, *others = (by_place[offset] for offset in sorted(by_place))
        first.others = tuple(others)
        raise first.with_traceback(None)  # one of helpers is a mistake of each template that calls them


_meant = lru_cache(64)(get_close_matches)  # a mistake is often made again and again


def help_for_unknown(name: str, names: Iterable[str]) -> str | None:
    """Returns the help for an unknown name: the known name that is most similar to it."""
    meant = _meant(name, tuple(names), n=1)
    return f"did you mean `{meant[0]}`?" if meant else None


class RenderError(Exception):
    """A rendering that failed."""


class LimitError(RenderError):
    """A template takes more steps, or makes more text, than is allowed."""


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


DEFAULT_LIMITS = RenderLimits()

INSERTED, INSERTED_END = "\x02", "\x03"
"""The marks around what the actions of a template insert, where a budget asks for them."""


class RenderBudget:
    """The steps that one rendering has left, and its limits; each method raises `LimitError` beyond them.

    With `marked`, the rendering puts marks around what actions insert.
    """

    def __init__(self, limits: RenderLimits, *, marked: bool = False) -> None:
        self.limits = limits
        self.left = limits.steps
        self.marked = marked

    def inserted(self, text: str) -> str:
        """Returns the text of an action as it is written."""
        return marked(text) if self.marked else text

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


def unmarked(text: str) -> str:
    """Returns a text without marks."""
    return text.replace(INSERTED, "").replace(INSERTED_END, "")


def marked(text: str) -> str:
    """Returns a text between the marks of what is inserted."""
    return f"{INSERTED}{unmarked(text)}{INSERTED_END}"
