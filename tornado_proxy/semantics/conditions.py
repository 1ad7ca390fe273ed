"""Conditional requests, ranges (RFC 9110 13 and 14) and freshness (RFC 9111): entity tags, dates, which bytes.

Entity tags (8.8.3) are kept as they are written: `"a"` is strong, `W/"a"` is weak. Dates (5.6.7) are written as
IMF-fixdate; the two obsolete forms are read as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from enum import Enum
from functools import lru_cache
from math import inf

# entity-tag = [ weak ] opaque-tag; an opaque-tag holds no control characters, spaces or quotes.
_ETAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\U0010ffff]*"'
_ONE = re.compile(_ETAG)
_LIST = re.compile(rf"[ \t,]*(?:{_ETAG}[ \t]*(?:,[ \t,]*|$))*")

_IF = frozenset({"If-", "if-", "IF-", "iF-"})

ANY = "*"
"""What stands in a condition for whatever there is."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"

_IMF_FIXDATE = re.compile(
    rf"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT"
)
_RFC_850 = re.compile(
    rf"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT"
)
_ASCTIME = re.compile(
    rf"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) {_MONTH} (?P<day>[0-9]{{2}}| [0-9]) {_TIME} (?P<year>[0-9]{{4}})"
)
_FORMS = (_IMF_FIXDATE, _RFC_850, _ASCTIME)

_LAST_SECOND = 59

# Objects that are asked for often are few, and so are their dates.
_DATES_KEPT = 1024


class ConditionResult(Enum):
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
        for name in headers:
            if name[:3] in _IF:
                break
        else:
            return UNCONDITIONAL
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

    def decide(self, etag: str | None, last_modified: datetime | None) -> ConditionResult:
        """What they say of a representation, in the order of RFC 9110 13.2.2; ask only where there is one (13.2.1)."""
        if self is UNCONDITIONAL:
            return ConditionResult.PROCEED
        if not self._is_expected(etag, last_modified):
            return ConditionResult.PRECONDITION_FAILED
        return ConditionResult.PROCEED if self._is_news(etag, last_modified) else ConditionResult.NOT_MODIFIED

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


UNCONDITIONAL = Conditions()


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


def parse_etags(text: str) -> tuple[str, ...]:
    """The entity tags of If-Match or If-None-Match, or `("*",)`; empty where the field has no members.

    A field that is ill-formed is kept whole as its one member, which is not an entity tag and therefore matches none:
    a condition that cannot be understood must not be taken for one that is absent.
    """
    text = text.strip(" \t")
    if text == ANY:
        return (ANY,)
    if _LIST.fullmatch(text):
        return tuple(_ONE.findall(text))
    return (text,)


def is_etag(text: str) -> bool:
    """Whether a text is one entity tag."""
    return _ONE.fullmatch(text) is not None


def is_weak(etag: str) -> bool:
    """Whether an entity tag is weak: it compares representations by meaning, not by bytes."""
    return etag.startswith("W/")


def opaque(etag: str) -> str:
    """The entity tag without its weakness."""
    return etag.removeprefix("W/")


def strong_match(one: str, other: str) -> bool:
    """Whether two are the same and neither is weak (RFC 9110 8.8.3.2)."""
    return one == other and is_etag(one) and not is_weak(one)


def weak_match(one: str, other: str) -> bool:
    """Whether two have the same opaque tag (RFC 9110 8.8.3.2)."""
    return opaque(one) == opaque(other) and is_etag(one)


def parse_date(text: str, now: datetime | None = None) -> datetime | None:
    """The moment that a header names, in UTC; None where it is not a valid date. `now` places a year of two digits."""
    found = next((match for form in _FORMS if (match := form.fullmatch(text.strip(" \t")))), None)
    if found is None:
        return None
    year, day, hour, minute, second = (int(found[name]) for name in ("year", "day", "hour", "minute", "second"))
    if len(found["year"]) == 2:
        year = _full_year(year, (now or datetime.now(UTC)).year)
    try:
        moment = datetime(year, _MONTHS.index(found["month"]) + 1, day, hour, minute, tzinfo=UTC)
    except ValueError:
        return None
    # The grammar has a second 60, for leap seconds; a datetime has not.
    return moment.replace(second=min(second, _LAST_SECOND)) if second <= _LAST_SECOND + 1 else None


def _full_year(short: int, this_year: int) -> int:
    """The year of two digits: of this century, unless that were more than 50 years ahead (RFC 9110 5.6.7)."""
    year = this_year - this_year % 100 + short
    return year - 100 if year > this_year + 50 else year


@lru_cache(_DATES_KEPT)
def format_date(moment: datetime) -> str:
    """The header's value for a moment with a time zone, as IMF-fixdate."""
    return format_datetime(moment.astimezone(UTC), usegmt=True)


# cache-directive = token [ "=" ( token / quoted-string ) ] (RFC 9111 5.2).
_DIRECTIVE = re.compile(r'([!#$%&\'*+.^_`|~0-9A-Za-z-]+)(?:=(?:"([^"]*)"|([^\s,"]*)))?')

_FORBIDDING = frozenset({"no-store", "private"})
_MOST_DIGITS = 9  # some 30 years


def freshness(cache_control: str | None, expires: str | None, now: float) -> float | None:
    """The seconds in which an answer may be used again unasked; None where no shared cache may keep it.

    Infinite where the headers set no limit. `now` is Unix time. An invalid time counts as past (RFC 9111 4.2.1, 5.3).
    """
    directives = {name.lower(): quoted or bare for name, quoted, bare in _DIRECTIVE.findall(cache_control or "")}
    if not _FORBIDDING.isdisjoint(directives):
        return None
    if "no-cache" in directives:
        return 0.0
    for name in ("s-maxage", "max-age"):
        if name in directives:
            return _seconds(directives[name])
    if expires is None:
        return inf
    date = parse_date(expires)
    return 0.0 if date is None else max(0.0, date.timestamp() - now)


def _seconds(text: str) -> float:
    """A number of seconds, of any length; 0 for what is not one."""
    if not (text.isascii() and text.isdigit()):
        return 0.0
    return float(text) if len(text) <= _MOST_DIGITS else inf


# ranges-specifier with one range-spec of the unit `bytes`, a name in any case (RFC 9110 14.1 and 14.1.2).
_RANGE = re.compile(r"bytes=[ \t]*(?P<first>[0-9]*)-(?P<last>[0-9]*)[ \t]*", re.IGNORECASE)

# Content-Range = range-unit SP ( range-resp / unsatisfied-range ) (RFC 9110 14.4).
_CONTENT_RANGE = re.compile(r"bytes (?:(?P<first>[0-9]+)-(?P<last>[0-9]+)|\*)/(?P<size>[0-9]+|\*)", re.IGNORECASE)

_BEYOND_ANY_OBJECT = 2**63 - 1
_MOST_SIZE_DIGITS = len(str(_BEYOND_ANY_OBJECT))


def _number(digits: str) -> int:
    """A number as written; one beyond any object's size counts as such, however long."""
    significant = digits.lstrip("0") or "0"
    return min(int(significant), _BEYOND_ANY_OBJECT) if len(significant) <= _MOST_SIZE_DIGITS else _BEYOND_ANY_OBJECT


@dataclass(frozen=True, slots=True)
class ByteRange:
    """One range of a Range header: `first` and `last` inclusive; `first` None is the last `last` bytes (a suffix)."""

    first: int | None
    last: int | None

    def __post_init__(self) -> None:
        """Raise ValueError for what is not a range (RFC 9110 14.1.1)."""
        if self.first is None and self.last is None:
            raise ValueError("a range has a first or a last byte")
        if self.first is not None and self.last is not None and self.last < self.first:
            raise ValueError("a range ends before it begins")

    @classmethod
    def from_header(cls, text: str | None) -> ByteRange | None:
        """The one range that a header asks for; None where it is absent, ill-formed, or asks for several.

        A server may ignore what it does not want to answer in parts (RFC 9110 14.2); S3 knows single ranges only.
        """
        found = _RANGE.fullmatch(text or "")
        if found is None:
            return None
        first, last = (_number(digits) if digits else None for digits in found.group("first", "last"))
        try:
            return cls(first, last)
        except ValueError:
            return None

    def to_header(self) -> str:
        """The header's value."""
        first, last = ("" if end is None else end for end in (self.first, self.last))
        return f"bytes={first}-{last}"

    def resolve(self, size: int) -> ContentRange | None:
        """Which bytes of a representation are asked for; `first` None in the answer where there is none of them: a 416.

        None is the whole representation: the suffix of an empty one is satisfiable, but has no bytes that a
        Content-Range could name (RFC 9110 14.1.2).
        """
        if self.first is None:
            length = self.last or 0
            if length and not size:
                return None
            first, last = max(0, size - length), size - 1
        else:
            first, last = self.first, size - 1 if self.last is None else min(self.last, size - 1)
        return ContentRange(first, last, size) if first <= last else ContentRange(None, None, size)


@dataclass(frozen=True, slots=True)
class ContentRange:
    """Which bytes of how many a 206 carries, `last` inclusive; `first` None is the answer of a 416."""

    first: int | None
    last: int | None
    size: int | None

    def __post_init__(self) -> None:
        """Raise ValueError for what RFC 9110 14.4 calls invalid."""
        match self.first, self.last, self.size:
            case None, None, int():
                return
            case int(first), int(last), None if first <= last:
                return
            case int(first), int(last), int(size) if first <= last < size:
                return
        raise ValueError("the bytes named are none of the representation's")

    @classmethod
    def from_header(cls, text: str) -> ContentRange:
        """The value of a header; raises ValueError."""
        found = _CONTENT_RANGE.fullmatch(text)
        if found is None:
            raise ValueError(f"`{text}` is not a Content-Range of bytes")
        first, last, size = (
            None if number in (None, "*") else _number(number) for number in found.group("first", "last", "size")
        )
        return cls(first, last, size)

    def to_header(self) -> str:
        """The header's value: `bytes 0-9/100`, or `bytes */100`."""
        part = "*" if self.first is None else f"{self.first}-{self.last}"
        return f"bytes {part}/{'*' if self.size is None else self.size}"

    @property
    def length(self) -> int:
        """How many bytes it names."""
        return 0 if self.first is None or self.last is None else self.last - self.first + 1
