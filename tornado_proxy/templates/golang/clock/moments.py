"""Moments: seconds since 1970, and the offset and name of a time zone."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    """Year, month and day of so many days since 1970-01-01."""
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
