"""HTTP's dates (RFC 9110 5.6.7): IMF-fixdate is written, the two obsolete forms are read as well."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import format_datetime

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


def format_date(moment: datetime) -> str:
    """The header's value for a moment with a time zone, as IMF-fixdate."""
    return format_datetime(moment.astimezone(UTC), usegmt=True)
