"""Conditional requests, ranges (RFC 9110 13 and 14) and freshness (RFC 9111): entity tags, dates, which bytes.

Entity tags (8.8.3) are kept as they are written: `"a"` is strong, `W/"a"` is weak. Dates (5.6.7) are written as
IMF-fixdate; the two obsolete forms are read as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache
from math import inf
from typing import Literal

import msgspec

from tornado_proxy.semantics.limits import DATES_KEPT

# entity-tag = [ weak ] opaque-tag; an opaque-tag has no control characters, spaces or quotes.
_ETAG = r'(?:W/)?"[^\x00-\x20"\x7f]*"'
_ONE = re.compile(_ETAG)
_LIST = re.compile(rf"[ \t,]*(?:{_ETAG}[ \t]*(?:,[ \t,]*|$))*")

CONDITIONAL = frozenset({"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"})

ANY = "*"  # the value of a condition that any existing representation meets
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"

_WEEKDAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_LONG_WEEKDAY = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_DAY, _YEAR = "(?P<day>[0-9]{2})", "(?P<year>[0-9]{4})"

_FORMS = (
    re.compile(rf"{_WEEKDAY}, {_DAY} {_MONTH} {_YEAR} {_TIME} GMT"),  # IMF-fixdate
    re.compile(rf"{_LONG_WEEKDAY}, {_DAY}-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT"),  # RFC 850
    re.compile(rf"{_WEEKDAY} {_MONTH} (?P<day>[0-9]{{2}}| [0-9]) {_TIME} {_YEAR}"),  # asctime
)

_LAST_SECOND = 59


ConditionResult = Literal["proceed", "not modified", "precondition failed"]
"""What the conditions of a GET or HEAD demand."""


class Conditions(msgspec.Struct, frozen=True):
    """The conditions of a request; an invalid date is absent, and so is one that an entity tag overrides.

    `if_match` and `if_none_match` hold entity tags as written (`"a"`, `W/"a"`), or `("*",)`; empty if absent.
    `if_range` is an entity tag or a date. A weak entity tag is kept, and so is a text that is neither; none of the
    ranges that depend on them holds (RFC 9110 13.1.5).
    """

    if_match: tuple[str, ...] = ()
    if_none_match: tuple[str, ...] = ()
    if_modified_since: datetime | None = None
    if_unmodified_since: datetime | None = None
    if_range: str | datetime | None = None

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> Conditions:
        """Returns the conditions in headers whose names are spelt like `If-Match` and whose values are joined."""
        if CONDITIONAL.isdisjoint(headers):
            return UNCONDITIONAL
        # An empty list, as of a client that has lost the entity tag, contains no representation (RFC 9110 13.1.1).
        asked = headers.get("If-Match")
        if_match = () if asked is None else parse_etags(asked) or ("",)
        if_none_match = parse_etags(headers.get("If-None-Match"))
        modified_since = None if if_none_match else parse_date(headers.get("If-Modified-Since"))
        unmodified_since = None if if_match else parse_date(headers.get("If-Unmodified-Since"))
        if_range: str | datetime | None = None
        if (field := headers.get("If-Range")) is not None:
            text = field.strip(" \t")
            # A text that is neither an entity tag nor a date, even an empty one, must not count as absent.
            if_range = text if is_etag(text) else parse_date(text) or text
        return cls(if_match, if_none_match, modified_since, unmodified_since, if_range)

    def decide(self, etag: str | None, last_modified: datetime | None) -> ConditionResult:
        """Evaluates the conditions for an existing representation, in the order of RFC 9110 13.2.2."""
        if self is UNCONDITIONAL:
            return "proceed"
        if not self._is_expected(etag, last_modified):
            return "precondition failed"
        if self.if_none_match:
            is_known = _contains(self.if_none_match, etag, weak=True)
        else:
            since = self.if_modified_since
            is_known = None not in (since, last_modified) and not _is_later(last_modified, since)
        return "not modified" if is_known else "proceed"

    def allow_write(self, etag: str | None, last_modified: datetime | None, *, exists: bool) -> bool:
        """Returns whether a PUT may proceed; `exists` says whether it replaces a representation (RFC 9110 13.2.2).

        A malformed If-None-Match, such as `*, "a"`, may mean what would be replaced.
        """
        if not exists:
            return not self.if_match
        is_new = all(map(is_etag, self.if_none_match)) and not _contains(self.if_none_match, etag, weak=True)
        return is_new and self._is_expected(etag, last_modified)

    def range_holds(self, etag: str | None, last_modified: datetime | None) -> bool:
        """Returns whether a Range applies: If-Range is absent, or names this representation."""
        match self.if_range:
            case None:
                return True
            case str(tag):
                return etag is not None and strong_match(tag, etag)
            case date:
                return last_modified is not None and date == last_modified.replace(microsecond=0)

    def _is_expected(self, etag: str | None, last_modified: datetime | None) -> bool:
        """Returns whether a representation is one that the client means (steps 1 and 2)."""
        if self.if_match:
            return _contains(self.if_match, etag, weak=False)
        return not _is_later(last_modified, self.if_unmodified_since)


UNCONDITIONAL = Conditions()


def _contains(members: tuple[str, ...], etag: str | None, *, weak: bool) -> bool:
    """Returns whether a list has an entity tag as its member; `*` contains any representation that exists."""
    if members == (ANY,):
        return True
    if etag is None:
        return False
    matches = weak_match if weak else strong_match
    # One comparison is usual; `any` with a generator takes as long as four.
    return True in [matches(member, etag) for member in members]


def _is_later(moment: datetime | None, than: datetime | None) -> bool:
    """Returns whether one is known to be after the other, in whole seconds as in headers."""
    return moment is not None and than is not None and moment.replace(microsecond=0) > than


def parse_etags(text: str | None) -> tuple[str, ...]:
    """Returns the entity tags of If-Match or If-None-Match, or `("*",)`; empty if the field has no members.

    A malformed field is its only member. That is not an entity tag, so it matches none: a condition that cannot be
    understood must not count as absent.
    """
    if text is None:
        return ()
    text = text.strip(" \t")
    return tuple(_ONE.findall(text)) if _LIST.fullmatch(text) else (text,)


def is_etag(text: str) -> bool:
    """Returns whether a text is one entity tag."""
    return _ONE.fullmatch(text) is not None


def is_weak(etag: str) -> bool:
    """Returns whether an entity tag is weak: it compares representations by meaning, not by bytes."""
    return etag.startswith("W/")


def strong_match(one: str, other: str) -> bool:
    """Returns whether two are the same and neither is weak (RFC 9110 8.8.3.2)."""
    return one == other and is_etag(one) and not is_weak(one)


def weak_match(one: str, other: str) -> bool:
    """Returns whether two have the same opaque tag (RFC 9110 8.8.3.2)."""
    return one.removeprefix("W/") == other.removeprefix("W/") and is_etag(one)


def parse_date(text: str | None) -> datetime | None:
    """Returns the moment in a header, in UTC; None for an invalid date, and without one."""
    if text is None:
        return None
    match = next(filter(None, (form.fullmatch(text.strip(" \t")) for form in _FORMS)), None)
    if match is None:
        return None
    year, day, hour, minute, second = (int(match[name]) for name in ("year", "day", "hour", "minute", "second"))
    if len(match["year"]) == 2:
        # A year of this century, unless that is more than 50 years ahead (RFC 9110 5.6.7).
        this_year = datetime.now(UTC).year
        year += this_year - this_year % 100
        year -= 100 if year > this_year + 50 else 0
    try:
        moment = datetime(year, _MONTHS.index(match["month"]) + 1, day, hour, minute, tzinfo=UTC)
    except ValueError:
        return None
    # The grammar has a second 60, for leap seconds; a datetime has not.
    return moment.replace(second=min(second, _LAST_SECOND)) if second <= _LAST_SECOND + 1 else None


@lru_cache(DATES_KEPT)
def format_date(moment: datetime) -> str:
    """Returns a moment with a time zone as IMF-fixdate."""
    return format_datetime(moment.astimezone(UTC), usegmt=True)


# cache-directive = token [ "=" ( token / quoted-string ) ] (RFC 9111 5.2).
_DIRECTIVE = re.compile(r'([!#$%&\'*+.^_`|~0-9A-Za-z-]+)(?:=(?:"([^"]*)"|([^\s,"]*)))?')
_FORBIDDING = frozenset({"no-store", "private"})
_ALLOWING = frozenset({"public", "s-maxage"})


def _directives(cache_control: str) -> dict[str, str]:
    return {name.lower(): quoted or bare for name, quoted, bare in _DIRECTIVE.findall(cache_control)}


def for_one_user(cache_control: str) -> str:
    """Returns the Cache-Control of an answer to one user: shared caches keep it only if it says so (RFC 9111 3.5)."""
    directives = _directives(cache_control)
    # `private="a-header"` is about this header only (RFC 9111 5.2.2.7).
    is_settled = not _ALLOWING.isdisjoint(directives) or "no-store" in directives or directives.get("private") == ""
    return cache_control if is_settled else f"private, {cache_control}" if cache_control else "private"


def freshness(cache_control: str | None, expires: str | None, now: float) -> float | None:
    """Returns for how many seconds an answer may be reused; None if a shared cache must not keep it.

    Infinite if the headers set no limit. `now` is Unix time. An invalid time counts as past (RFC 9111 4.2.1, 5.3).
    """
    directives = _directives(cache_control or "")
    if not _FORBIDDING.isdisjoint(directives):
        return None
    if "no-cache" in directives:
        return 0.0
    for name in ("s-maxage", "max-age"):
        if name in directives:
            text = directives[name]
            return float(text) if text.isascii() and text.isdigit() else 0.0
    if expires is None:
        return inf
    date = parse_date(expires)
    return 0.0 if date is None else max(0.0, date.timestamp() - now)


# ranges-specifier with one range-spec of the unit `bytes`, a name in any case (RFC 9110 14.1 and 14.1.2).
_RANGE = re.compile(r"bytes=[ \t]*(?P<first>[0-9]*)-(?P<last>[0-9]*)[ \t]*", re.IGNORECASE)

# Content-Range = range-unit SP ( range-resp / unsatisfied-range ) (RFC 9110 14.4).
_CONTENT_RANGE = re.compile(r"bytes (?:(?P<first>[0-9]+)-(?P<last>[0-9]+)|\*)/(?P<size>[0-9]+|\*)", re.IGNORECASE)

_BEYOND_ANY_OBJECT = 2**63 - 1  # 19 digits


def _number(digits: str) -> int:
    """Returns a number; one of any length that is beyond every object's size becomes one that is."""
    return min(int(digits.lstrip("0")[:20] or "0"), _BEYOND_ANY_OBJECT)


class ByteRange(msgspec.Struct, frozen=True):
    """The one range of a Range header, `last` included; without `first` it is the last `last` bytes (a suffix)."""

    first: int | None
    last: int | None

    @classmethod
    def from_header(cls, text: str | None) -> ByteRange | None:
        """Returns the only range of a header, or None: a server may ignore others (RFC 9110 14.2), and S3 knows one."""
        if (match := _RANGE.fullmatch(text or "")) is None:
            return None
        first, last = (_number(digits) if digits else None for digits in match.group("first", "last"))
        is_empty = first is None if last is None else first is not None and last < first
        return None if is_empty else cls(first, last)

    def to_header(self) -> str:
        """Returns the header's value."""
        first, last = ("" if end is None else end for end in (self.first, self.last))
        return f"bytes={first}-{last}"

    def resolve(self, size: int | None) -> ContentRange | None:
        """Returns the bytes of a representation in this range; without `first` if there are none, which is a 416.

        None is the whole representation, as for one of unknown size. The suffix of an empty one is satisfiable, but has
        no bytes that a Content-Range could name (RFC 9110 14.1.2).
        """
        if size is None:
            return None
        if self.first is None:
            length = self.last or 0
            if length and not size:
                return None
            first, last = max(0, size - length), size - 1
        else:
            first, last = self.first, size - 1 if self.last is None else min(self.last, size - 1)
        return ContentRange(first, last, size) if first <= last else ContentRange(None, None, size)


class ContentRange(msgspec.Struct, frozen=True):
    """The bytes in a 206, `last` included, and the size of the whole; without `first` it belongs to a 416."""

    first: int | None
    last: int | None
    size: int | None

    @classmethod
    def from_header(cls, text: str) -> ContentRange:
        """Parses a header; raises ValueError, also for bytes that cannot be (RFC 9110 14.4)."""
        if match := _CONTENT_RANGE.fullmatch(text):
            numbers = match.group("first", "last", "size")
            first, last, size = (None if number in (None, "*") else _number(number) for number in numbers)
            match first, last, size:
                case None, None, int():
                    return cls(first, last, size)
                case int(), int(), _ if first <= last and (size is None or last < size):
                    return cls(first, last, size)
        raise ValueError(f"`{text}` is not a Content-Range of bytes")

    def to_header(self) -> str:
        """Returns the header's value: `bytes 0-9/100`, or `bytes */100`."""
        part = "*" if self.first is None else f"{self.first}-{self.last}"
        return f"bytes {part}/{'*' if self.size is None else self.size}"

    @property
    def length(self) -> int:
        """The number of bytes in the range."""
        return 0 if self.first is None or self.last is None else self.last - self.first + 1
