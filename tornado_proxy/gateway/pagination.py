"""Where in a listing a page begins and how long it is: `?after=` and `?limit=`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_KEPT = ("limit", "format")


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a listing that is asked for: after which of the store's tokens, and how many entries at most."""

    token: str | None
    limit: int


def read_window(query: Mapping[str, str], most: int) -> Window:
    """The window that a query asks for; a limit that cannot be understood is as if it were absent."""
    text = query.get("limit", "")
    limit = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else most
    return Window(query.get("after") or None, limit if 0 < limit < most else most)


def next_query(query: Mapping[str, str], token: str | None) -> tuple[tuple[str, str], ...]:
    """The query of the page that a token leads to, with what the client chose kept; empty without a token."""
    if token is None:
        return ()
    return (("after", token), *((name, query[name]) for name in _KEPT if name in query))
