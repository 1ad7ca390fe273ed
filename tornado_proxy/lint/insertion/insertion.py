"""One insertion: what is inserted, and where in the template."""

from __future__ import annotations

from typing import NamedTuple


class Insertion(NamedTuple):
    """A value that a client chooses, as a noun, and its place in the template's text (code points)."""

    what: str
    start: int
    end: int


HEADER = "a header"
QUERY = "a query value"
GROUPS = "a group of the user"
ALL_GROUPS = "all groups of the user"  # a list, which `jinja` cannot write
EMAIL = "an email address"
NAME = "a claim of the user"
