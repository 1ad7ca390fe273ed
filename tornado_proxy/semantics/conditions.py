"""Conditional requests (RFC 9110 13): the headers as one value, and one decision with three outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum


class Outcome(Enum):
    """What conditions say of a GET or HEAD."""

    PROCEED = "proceed"
    NOT_MODIFIED = "not modified"
    PRECONDITION_FAILED = "precondition failed"


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a request, normalized: an unparsable date is absent, a date that an ETag overrides too.

    `if_match` and `if_none_match` hold ETags as written (`"a"`, `W/"a"`), or `("*",)`; empty where absent.
    `if_range` is an ETag or a date; a weak ETag never holds and is kept as such (RFC 9110 13.1.5).
    """

    if_match: tuple[str, ...] = ()
    if_none_match: tuple[str, ...] = ()
    if_modified_since: datetime | None = None
    if_unmodified_since: datetime | None = None
    if_range: str | datetime | None = None

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> Conditions:
        """The conditions of a request's headers (names in any case, values joined with `, `)."""
        raise NotImplementedError

    def decide(self, etag: str | None, last_modified: datetime | None) -> Outcome:
        """What they say of a representation, in the order of RFC 9110 13.2.2."""
        raise NotImplementedError

    def range_holds(self, etag: str | None, last_modified: datetime | None) -> bool:
        """Whether a Range may be obeyed: no If-Range, or one that names this very representation."""
        raise NotImplementedError
