"""What templates insert into keys that a client chooses and that may span segments: headers, queries, emails, claims.

An *insertion* is one such value where it becomes part of the result: not where it is only asked about, nor where a
condition has compared it with what is allowed, nor where its slashes are taken out.
"""

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
