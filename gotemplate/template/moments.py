"""Moments of Go's package time, formatted and parsed by layouts.

A layout shows how the time `Mon Jan 2 15:04:05 MST 2006` would be written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

import msgspec
from msgspec.structs import replace

from gotemplate.template.values import ExecutionError

DAY = 86_400
_ERA_DAYS = 146_097  # 400 years, after which the calendar repeats itself
_EPOCH_DAYS = 719_162  # from 0001-01-01 to 1970-01-01
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


def days_since_epoch(year: int, month: int, day: int) -> int:
    """Returns the days from 1970-01-01 to a Gregorian date, whose year, month and day may be out of range."""
    years, month = divmod(month - 1, 12)
    era, year_of_era = divmod(year + years - 1, 400)
    return era * _ERA_DAYS + date(year_of_era + 1, month + 1, 1).toordinal() + day - 2 - _EPOCH_DAYS


def date_of(days: int) -> tuple[int, int, int]:
    """Returns the year, month and day of a number of days since 1970-01-01."""
    era, day_of_era = divmod(days + _EPOCH_DAYS, _ERA_DAYS)
    day_of_cycle = date.fromordinal(day_of_era + 1)
    return era * 400 + day_of_cycle.year, day_of_cycle.month, day_of_cycle.day


class Moment(msgspec.Struct, frozen=True):
    """A moment; `offset` is in seconds east of UTC. A zone with an empty name is known by its offset only."""

    seconds: int
    nanosecond: int = 0
    offset: int = 0
    zone: str = "UTC"

    @classmethod
    def of(cls, date: tuple[int, int, int], clock: tuple[int, int, int] = (0, 0, 0), nanosecond: int = 0) -> Moment:
        """Returns the moment of a date and a time of day in UTC."""
        hour, minute, second = clock
        return cls(days_since_epoch(*date) * DAY + hour * 3600 + minute * 60 + second, nanosecond)

    def parts(self) -> Mapping[str, int]:
        """Returns the numbers of the date and the clock by name; months and days count from 1, weekdays from 0."""
        days, second = divmod(self.seconds + self.offset, DAY)
        year, month, day = date_of(days)
        date = {"year": year, "month": month, "day": day, "year day": days - days_since_epoch(year, 1, 1) + 1}
        clock = {"hour": second // 3600, "minute": second // 60 % 60, "second": second % 60}
        return date | clock | {"weekday": (days + 4) % 7}

    @property
    def nanoseconds(self) -> int:
        """The nanoseconds since 1970."""
        return self.seconds * 10**9 + self.nanosecond

    def plus(self, nanoseconds: int) -> Moment:
        """Returns the moment that is later by a number of nanoseconds, in the same zone."""
        seconds, nanosecond = divmod(self.nanosecond + nanoseconds, 10**9)
        return replace(self, seconds=self.seconds + seconds, nanosecond=nanosecond)

    def plus_date(self, years: int, months: int, days: int) -> Moment:
        """Returns a moment later by a date (Time.AddDate); a day beyond the end of a month is in the next one."""
        today, time_of_day = divmod(self.seconds + self.offset, DAY)
        year, month, day = date_of(today)
        local = days_since_epoch(year + years, month + months, day + days) * DAY + time_of_day
        return replace(self, seconds=local - self.offset)

    def in_utc(self) -> Moment:
        """Returns the same moment in UTC."""
        return Moment(self.seconds, self.nanosecond)


ZERO = Moment.of((1, 1, 1))

_ELEMENT = re.compile(
    r"(January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|0[1-6]|002|15|1|2006|2|_2(?!006)|__2|3|4|5|PM|pm"
    r"|[-Z](?:070000|07:00:00|0700|07:00|07)|[.,](?:0+|9+)(?![0-9]))"
)


def _elements(layout: str) -> Iterable[tuple[str, str]]:
    """Splits a layout into pairs of literal text and the element after it, which is empty at the end."""
    pieces = _ELEMENT.split(layout)
    return zip(pieces[::2], [*pieces[1::2], ""], strict=True)


def format_moment(moment: Moment, layout: str) -> str:
    """Formats a moment by a layout (Time.Format)."""
    numbers = moment.parts()
    written = ((before, _write(moment, numbers, element) if element else "") for before, element in _elements(layout))
    return "".join(before + text for before, text in written)


_SHORT_MONTHS, _SHORT_WEEKDAYS = ([name[:3] for name in names] for names in (MONTHS, WEEKDAYS))
# The part of a time, its names, and the number of the first.
_NAMES: Mapping[str, tuple[str, Sequence[str], int]] = {
    "January": ("month", MONTHS, 1),
    "Jan": ("month", _SHORT_MONTHS, 1),
    "Monday": ("weekday", WEEKDAYS, 0),
    "Mon": ("weekday", _SHORT_WEEKDAYS, 0),
}
_ONE_OR_TWO, _TWO = "[0-9]{1,2}", "[0-9]{2}"
# The part of a time, the format of its number, the pattern to read it, and the largest number.
_NUMBERS: Mapping[str, tuple[str, str, str, int]] = {
    "2006": ("year", "04d", "[0-9]{4}", 9999),
    "06": ("year", "02d", _TWO, 99),
    "1": ("month", "d", _ONE_OR_TWO, 12),
    "01": ("month", "02d", _TWO, 12),
    "2": ("day", "d", _ONE_OR_TWO, 99),
    "_2": ("day", "2d", " ?[0-9]{1,2}", 99),
    "02": ("day", "02d", _TWO, 99),
    "__2": ("year day", "3d", " {0,2}[0-9]{1,3}", 999),
    "002": ("year day", "03d", "[0-9]{3}", 999),
    "15": ("hour", "02d", _ONE_OR_TWO, 23),
    "3": ("hour", "d", _ONE_OR_TWO, 12),
    "03": ("hour", "02d", _TWO, 12),
    "4": ("minute", "d", _ONE_OR_TWO, 59),
    "04": ("minute", "02d", _TWO, 59),
    "5": ("second", "d", _ONE_OR_TWO, 59),
    "05": ("second", "02d", _TWO, 59),
}


def _write(moment: Moment, numbers: Mapping[str, int], element: str) -> str:
    if element in _NAMES:
        part, names, first = _NAMES[element]
        return names[numbers[part] - first]
    if element in _NUMBERS:
        part, form, *_ = _NUMBERS[element]
        number = numbers[part]
        if element == "06":
            number = abs(number) % 100
        elif element in ("3", "03"):
            number = number % 12 or 12
        return ("-" if number < 0 else "") + format(abs(number), form)
    if element in ("PM", "pm"):
        half = "PM" if numbers["hour"] >= 12 else "AM"
        return half if element == "PM" else half.lower()
    if element == "MST":
        return moment.zone or _zone(moment.offset, "-0700")
    return _fraction(moment.nanosecond, element) if element[0] in ".," else _zone(moment.offset, element)


def _fraction(nanosecond: int, element: str) -> str:
    digits = f"{nanosecond:09d}"[: len(element) - 1].ljust(len(element) - 1, "0")
    if element[1] == "0":
        return element[0] + digits
    digits = digits.rstrip("0")
    return element[0] + digits if digits else ""


def _zone(offset: int, element: str) -> str:
    if element[0] == "Z" and offset == 0:
        return "Z"
    minutes = int(offset / 60)
    digits = [f"{abs(minutes) // 60:02d}", f"{abs(minutes) % 60:02d}", f"{abs(offset) % 60:02d}"]
    count = (len(element.replace(":", "")) - 1) // 2
    return ("-" if minutes < 0 else "+") + (":" if ":" in element else "").join(digits[:count])


_NO_OFFSET = -1  # as in Go, which thus does not know an offset of one second
_LONGEST_FRACTION = 9
_FRACTION = "(?:[.,][0-9]+)?"
_HOURS = "[+-]0*(?:2[0-3]|1?[0-9])(?![0-9])"
# The function parseTimeZone.
_ZONE = rf"UTC|ChST|MeST|GMT(?:{_HOURS})?|(?=[\s\S]{{3}}){_HOURS}|(?:WITA|[A-Z]{{3,4}}T|[A-Z]{{3}})(?![A-Z])"


def parse_moment(layout: str, text: str) -> Moment:
    """Parses a text by a layout; raises `ExecutionError`."""
    reader = _MomentReader(text)
    elements = list(_elements(layout))
    for index, (before, element) in enumerate(elements):
        reader.skip(before)
        if element:
            reader.element(element, elements[index + 1][1])
    return reader.moment()


class _MomentReader:
    def __init__(self, text: str) -> None:
        self._text = self._rest = text
        self._numbers: dict[str, int] = {}
        self._nanosecond = 0
        self._halves: set[str] = set()
        self._offset = _NO_OFFSET
        self._zone = ""
        self._is_utc = False

    def _fail(self) -> ExecutionError:
        return ExecutionError(f"`{self._text}` does not match its layout")

    def skip(self, literal: str) -> None:
        """Reads literal text; a run of spaces matches one of any length, and the empty rest at the end."""
        for piece in re.findall(" +|[^ ]", literal):
            self._match(r" +|\Z" if piece[0] == " " else re.escape(piece))

    def element(self, element: str, following: str) -> None:
        """Reads an element; a fraction may follow a second even if it is not in the layout."""
        if element in _NUMBERS:
            name, _form, pattern, most = _NUMBERS[element]
            number = int(self._match(pattern)[0])
            if number > most or (name == "month" and not number):
                raise self._fail()
            century = (1900 if number >= 69 else 2000) if element == "06" else 0
            self._numbers[name] = century + number
        elif element in _NAMES:
            name, names, first = _NAMES[element]
            read = self._match(f"(?ai:{'|'.join(names)})")[0]
            self._numbers[name] = names.index(read.capitalize()) + first
        elif element in ("PM", "pm"):
            self._halves.add(self._match("[AP]M" if element == "PM" else "[ap]m")[0].lower())
        elif element == "MST":
            self._zone = self._match(_ZONE)[0]
            self._is_utc |= self._zone == "UTC"
        elif element[0] in ".,":
            # `.000` demands exactly that many digits; `.999` accepts any number of them, or no fraction at all.
            self._read_fraction(f"[.,][0-9]{{{len(element) - 1}}}" if element[1] == "0" else _FRACTION)
        else:
            self._read_offset(element)
        if element in ("5", "05") and following[:1] not in (".", ","):
            self._read_fraction(_FRACTION)

    def _match(self, pattern: str) -> re.Match[str]:
        if (match := re.match(pattern, self._rest)) is None:
            raise self._fail()
        self._rest = self._rest[match.end() :]
        return match

    def _read_fraction(self, pattern: str) -> None:
        if text := self._match(pattern)[0]:
            self._nanosecond = int(text[1 : 1 + _LONGEST_FRACTION].ljust(_LONGEST_FRACTION, "0"))

    def _read_offset(self, element: str) -> None:
        if element[0] == "Z" and self._rest.startswith("Z"):
            self._rest = self._rest[1:]
            self._is_utc = True
            return
        colon = ":" if ":" in element else ""
        count = (len(element.replace(":", "")) - 1) // 2
        match = self._match("([+-])" + colon.join(["([0-9]{2})"] * count))
        hour, minute, second = (int(number) for number in (*match.groups()[1:], "0", "0")[:3])
        if hour > 24 or minute > 60 or second > 60:
            raise self._fail()
        offset = (hour * 60 + minute) * 60 + second
        self._offset = -offset if match[1] == "-" else offset

    def moment(self) -> Moment:
        """Returns the moment that was read; raises `ExecutionError` if text is left."""
        if self._rest:
            raise self._fail()
        hour, minute, second = (self._numbers.get(name, 0) for name in ("hour", "minute", "second"))
        if "pm" in self._halves and hour < 12:
            hour += 12
        elif "am" in self._halves and hour == 12:
            hour = 0
        read = Moment.of(self._date(), (hour, minute, second), self._nanosecond)
        if self._is_utc:
            return read
        if self._offset != _NO_OFFSET:
            zone = "UTC" if self._offset == 0 and not self._zone else self._zone
            return Moment(read.seconds - self._offset, read.nanosecond, self._offset, zone)
        if not self._zone:
            return read
        # Go keeps the time as read if it knows a zone by name only; only the hours of GMT+N become an offset.
        hours = self._zone[3:].lstrip("+-").lstrip("0") if self._zone.startswith("GMT") else ""
        sign = -1 if "-" in self._zone else 1
        return Moment(read.seconds, read.nanosecond, sign * int(hours or 0) * 3600, self._zone)

    def _date(self) -> tuple[int, int, int]:
        read = self._numbers
        year, month, day = read.get("year", 0), read.get("month", 1), read.get("day", 1)
        if "year day" in read:
            day_of_year = date_of(days_since_epoch(year, 1, 1) + read["year day"] - 1)
            if day_of_year != (year, read.get("month", day_of_year[1]), read.get("day", day_of_year[2])):
                raise self._fail()
            return day_of_year
        if not (1 <= day <= days_since_epoch(year, month + 1, 1) - days_since_epoch(year, month, 1)):
            raise self._fail()
        return year, month, day
