"""Moments and durations, as Go's package time has them where no clock is read."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tornado_proxy.templates.golang.numbers import MAX_INT

DAY = 86_400
_ERA_DAYS = 146_097  # 400 years
_EPOCH_DAYS = 719_468  # from 0000-03-01 to 1970-01-01
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_leap(year: int) -> bool:
    """Whether a year has a 29th of February."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in(month: int, year: int) -> int:
    """How many days a month has."""
    return 29 if month == 2 and is_leap(year) else _MONTH_DAYS[month - 1]


def days_since_epoch(year: int, month: int, day: int) -> int:
    """The days from 1970-01-01 to a date of the Gregorian calendar; months and days may be out of range."""
    years, month = divmod(month - 1, 12)
    year += years - (month < 2)
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 10) % 12) + 2) // 5 + day - 1
    return era * _ERA_DAYS + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - _EPOCH_DAYS


def date_of(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970-01-01."""
    era, day_of_era = divmod(days + _EPOCH_DAYS, _ERA_DAYS)
    year = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    return era * 400 + year + (month >= 10), (month + 2) % 12 + 1, day


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment in a zone; without a name the zone is known by its offset only."""

    seconds: int
    nanosecond: int = 0
    offset: int = 0
    zone: str = "UTC"

    @classmethod
    def of(cls, date: tuple[int, int, int], clock: tuple[int, int, int] = (0, 0, 0), nanosecond: int = 0) -> Moment:
        """The moment of a date and a time of day in UTC."""
        hour, minute, second = clock
        return cls(days_since_epoch(*date) * DAY + hour * 3600 + minute * 60 + second, nanosecond)

    @property
    def _local(self) -> int:
        return self.seconds + self.offset

    @property
    def date(self) -> tuple[int, int, int]:
        """Year, month and day."""
        return date_of(self._local // DAY)

    @property
    def clock(self) -> tuple[int, int, int]:
        """Hour, minute and second."""
        second = self._local % DAY
        return second // 3600, second // 60 % 60, second % 60

    @property
    def weekday(self) -> int:
        """The day of the week, Sunday being 0."""
        return (self._local // DAY + 4) % 7

    @property
    def year_day(self) -> int:
        """The day of the year, the first being 1."""
        return self._local // DAY - days_since_epoch(self.date[0], 1, 1) + 1

    @property
    def nanoseconds(self) -> int:
        """The nanoseconds since 1970."""
        return self.seconds * 10**9 + self.nanosecond

    def plus(self, nanoseconds: int) -> Moment:
        """The moment so much later, in the same zone."""
        seconds, nanosecond = divmod(self.nanosecond + nanoseconds, 10**9)
        return replace(self, seconds=self.seconds + seconds, nanosecond=nanosecond)

    def plus_date(self, years: int, months: int, days: int) -> Moment:
        """The moment whose date is so much later; what is beyond a month's end runs into the next (Time.AddDate)."""
        year, month, day = self.date
        time_of_day = self._local % DAY
        local = days_since_epoch(year + years, month + months, day + days) * DAY + time_of_day
        return replace(self, seconds=local - self.offset)

    def in_utc(self) -> Moment:
        """The same moment in UTC."""
        return Moment(self.seconds, self.nanosecond)


ZERO = Moment.of((1, 1, 1))
"""Go's zero time."""


_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5
    "μs": 1_000,  # U+03BC
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_SMALL_UNITS = (("ns", 0), ("µs", 3), ("ms", 6))
_SECOND = _UNITS["s"]
_PART = re.compile(r"(?P<whole>[0-9]*)(?:(?P<point>\.)(?P<fraction>[0-9]*))?(?P<unit>[^0-9.]+)")
_LIMIT = 1 << 63


class DurationError(ValueError):
    """A text that is not a duration."""


def parse_duration(text: str) -> int:
    """The nanoseconds of a text; raises `DurationError`."""
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    if unsigned == "0":
        return 0
    total = position = 0
    while position < len(unsigned) or not unsigned:
        part = _PART.match(unsigned, position)
        if part is None or not (part["whole"] or part["fraction"]) or part["unit"] not in _UNITS:
            raise DurationError(f"invalid duration `{text}`")
        total += _nanoseconds(part)
        if total > _LIMIT:
            raise DurationError(f"`{text}` is too long a duration")
        position = part.end()
    if text.startswith("-"):
        return -total
    if total > MAX_INT:
        raise DurationError(f"`{text}` is too long a duration")
    return total


def _nanoseconds(part: re.Match[str]) -> int:
    unit = _UNITS[part["unit"]]
    # A longer number is out of range, whatever its unit.
    whole = int((part["whole"] or "0").lstrip("0")[:20] or "0")
    if whole > _LIMIT // unit:
        return _LIMIT + 1
    value, scale = 0, 1
    for digit in part["fraction"] or "":
        if value > MAX_INT // 10:
            break
        value, scale = value * 10 + int(digit), scale * 10
    # Go takes the fraction as a float, and so its last digits.
    return whole * unit + int(float(value) * (unit / float(scale)))


def format_duration(nanoseconds: int) -> str:
    """The duration as Go prints it; below a second in a smaller unit."""
    sign, rest = ("-" if nanoseconds < 0 else ""), abs(nanoseconds)
    if rest < _SECOND:
        return sign + _small(rest)
    seconds, fraction = divmod(rest, _SECOND)
    minutes, second = divmod(seconds, 60)
    text = f"{_with_fraction(second, fraction, 9)}s"
    if minutes:
        hours, minute = divmod(minutes, 60)
        text = f"{minute}m{text}"
        text = f"{hours}h{text}" if hours else text
    return sign + text


def _small(rest: int) -> str:
    if rest == 0:
        return "0s"
    unit, digits = next((unit, digits) for unit, digits in _SMALL_UNITS if rest < 1000 * 10**digits)
    whole, fraction = divmod(rest, 10**digits)
    return _with_fraction(whole, fraction, digits) + unit


def _with_fraction(whole: int, fraction: int, digits: int) -> str:
    decimals = f"{fraction:0{digits}d}".rstrip("0") if fraction else ""
    return f"{whole}.{decimals}" if decimals else str(whole)
