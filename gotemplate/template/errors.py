"""The errors of templates: mistakes are found at load, the others at rendering."""

from __future__ import annotations

from collections.abc import Iterable


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


def help_for_unknown(name: str, names: Iterable[str]) -> str | None:
    """Returns the help for an unknown name: the known name that is most similar to it."""
    from difflib import get_close_matches  # noqa: PLC0415 - a template without mistakes needs no suggestion

    meant = get_close_matches(name, names, n=1)
    return f"did you mean `{meant[0]}`?" if meant else None


class RenderError(Exception):
    """A rendering that failed."""


class LimitError(RenderError):
    """A template takes more steps, or makes more text, than is allowed."""
