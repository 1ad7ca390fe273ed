"""Conditional requests (RFC 9110 13): the headers as one value, and one decision with three outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from tornado_proxy.semantics.dates import parse_date
from tornado_proxy.semantics.etags import ANY, is_etag, parse_etags, strong_match, weak_match


class Outcome(Enum):
    """What conditions say of a GET or HEAD."""

    PROCEED = "proceed"
    NOT_MODIFIED = "not modified"
    PRECONDITION_FAILED = "precondition failed"


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a request, normalized: an unparsable date is absent, a date that an ETag overrides too.

    `if_match` and `if_none_match` hold ETags as written (`"a"`, `W/"a"`), or `("*",)`; empty where absent.
    `if_range` is an ETag or a date; a weak ETag never holds and is kept as such (RFC 9110 13.1.5), as is a text that
    is neither.
    """

    if_match: tuple[str, ...] = ()
    if_none_match: tuple[str, ...] = ()
    if_modified_since: datetime | None = None
    if_unmodified_since: datetime | None = None
    if_range: str | datetime | None = None

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> Conditions:
        """The conditions of a request's headers (names in any case, values joined with `, `)."""
        fields = {name.lower(): value for name, value in headers.items()}
        if_match = parse_etags(fields.get("if-match", ""))
        if_none_match = parse_etags(fields.get("if-none-match", ""))
        return cls(
            if_match,
            if_none_match,
            None if if_none_match else parse_date(fields.get("if-modified-since", "")),
            None if if_match else parse_date(fields.get("if-unmodified-since", "")),
            _if_range(fields.get("if-range")),
        )

    def decide(self, etag: str | None, last_modified: datetime | None) -> Outcome:
        """What they say of a representation, in the order of RFC 9110 13.2.2; ask only where there is one (13.2.1)."""
        if not self._is_expected(etag, last_modified):
            return Outcome.PRECONDITION_FAILED
        return Outcome.PROCEED if self._is_news(etag, last_modified) else Outcome.NOT_MODIFIED

    def allow_write(self, etag: str | None, last_modified: datetime | None, *, exists: bool) -> bool:
        """Whether a PUT may go ahead; `exists` is whether there is a representation to replace (RFC 9110 13.2.2)."""
        if not exists:
            return not self.if_match
        return self._is_expected(etag, last_modified) and not _names(self.if_none_match, etag, weak=True)

    def range_holds(self, etag: str | None, last_modified: datetime | None) -> bool:
        """Whether a Range may be obeyed: no If-Range, or one that names this very representation."""
        match self.if_range:
            case None:
                return True
            case str(named):
                return etag is not None and strong_match(named, etag)
            case date:
                return last_modified is not None and date == last_modified.replace(microsecond=0)

    def _is_expected(self, etag: str | None, last_modified: datetime | None) -> bool:
        """Steps 1 and 2: the representation is one that the client means."""
        if self.if_match:
            return _names(self.if_match, etag, weak=False)
        return not _is_later(last_modified, self.if_unmodified_since)

    def _is_news(self, etag: str | None, last_modified: datetime | None) -> bool:
        """Steps 3 and 4: the representation is not one that the client has."""
        if self.if_none_match:
            return not _names(self.if_none_match, etag, weak=True)
        if self.if_modified_since is None or last_modified is None:
            return True
        return _is_later(last_modified, self.if_modified_since)


def _if_range(field: str | None) -> str | datetime | None:
    """The field's value; what is neither an ETag nor a date, and be it nothing, stays a text, which never holds."""
    if field is None:
        return None
    text = field.strip(" \t")
    return text if is_etag(text) else parse_date(text) or text


def _names(members: tuple[str, ...], etag: str | None, *, weak: bool) -> bool:
    """Whether a list has an ETag as its member, or is `*`, which names any representation that exists."""
    if members == (ANY,):
        return True
    matches = weak_match if weak else strong_match
    return etag is not None and any(matches(member, etag) for member in members)


def _is_later(moment: datetime | None, than: datetime | None) -> bool:
    """Whether one is known to be after the other, in whole seconds, which is all that a header can say."""
    return moment is not None and than is not None and moment.replace(microsecond=0) > than
