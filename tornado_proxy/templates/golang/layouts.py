"""Times written and read as the reference time `Mon Jan 2 15:04:05 MST 2006` would be (time.Format, time.Parse)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from tornado_proxy.templates.golang.moments import (
    MONTHS,
    WEEKDAYS,
    Moment,
    date_of,
    days_in,
    days_since_epoch,
    is_leap,
)

ELEMENT = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|0[1-6]|002|15|1|2006|2|_2(?!006)|__2|3|4|5|PM|pm"
    r"|[-Z](?:070000|07:00:00|0700|07:00|07)|[.,](?:0+|9+)(?![0-9])"
)
"""What in a layout stands for a part of a time; all else stands for itself."""


def elements(layout: str) -> Iterator[tuple[str, str]]:
    """What stands before each element, and the element; an empty one at the end."""
    position = 0
    for match in ELEMENT.finditer(layout):
        yield layout[position : match.start()], match[0]
        position = match.end()
    yield layout[position:], ""


def format_moment(moment: Moment, layout: str) -> str:
    """The moment as a layout says (Time.Format)."""
    return "".join(before + (_write(moment, element) if element else "") for before, element in elements(layout))


def _write(moment: Moment, element: str) -> str:
    writer = _WRITERS.get(element)
    if writer is not None:
        return writer(moment)
    return _fraction(moment.nanosecond, element) if element[0] in ".," else _zone(moment.offset, element)


def _signed(number: int, width: int) -> str:
    return f"{'-' if number < 0 else ''}{abs(number):0{width}d}"


def _hour12(moment: Moment) -> int:
    return moment.clock[0] % 12 or 12


_WRITERS: dict[str, Callable[[Moment], str]] = {
    "January": lambda moment: MONTHS[moment.date[1] - 1],
    "Jan": lambda moment: MONTHS[moment.date[1] - 1][:3],
    "1": lambda moment: str(moment.date[1]),
    "01": lambda moment: f"{moment.date[1]:02d}",
    "Monday": lambda moment: WEEKDAYS[moment.weekday],
    "Mon": lambda moment: WEEKDAYS[moment.weekday][:3],
    "2": lambda moment: str(moment.date[2]),
    "_2": lambda moment: f"{moment.date[2]:2d}",
    "02": lambda moment: f"{moment.date[2]:02d}",
    "__2": lambda moment: f"{moment.year_day:3d}",
    "002": lambda moment: f"{moment.year_day:03d}",
    "15": lambda moment: f"{moment.clock[0]:02d}",
    "3": lambda moment: str(_hour12(moment)),
    "03": lambda moment: f"{_hour12(moment):02d}",
    "4": lambda moment: str(moment.clock[1]),
    "04": lambda moment: f"{moment.clock[1]:02d}",
    "5": lambda moment: str(moment.clock[2]),
    "05": lambda moment: f"{moment.clock[2]:02d}",
    "2006": lambda moment: _signed(moment.date[0], 4),
    "06": lambda moment: f"{abs(moment.date[0]) % 100:02d}",
    "PM": lambda moment: "PM" if moment.clock[0] >= 12 else "AM",
    "pm": lambda moment: "pm" if moment.clock[0] >= 12 else "am",
    "MST": lambda moment: moment.zone or _zone(moment.offset, "-0700"),
}


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
    parts = [f"{abs(minutes) // 60:02d}", f"{abs(minutes) % 60:02d}", f"{abs(offset) % 60:02d}"]
    count = (len(element.replace(":", "")) - 1) // 2
    return ("-" if minutes < 0 else "+") + (":" if ":" in element else "").join(parts[:count])


_LONGEST_FRACTION = 9


class TimeError(ValueError):
    """A text that does not match its layout."""


def parse_moment(layout: str, text: str) -> Moment:
    """The moment that a text names; raises `TimeError`."""
    reader = _MomentReader(text)
    parts = list(elements(layout))
    for index, (before, element) in enumerate(parts):
        reader.skip(before)
        if element:
            reader.element(element, parts[index + 1][1])
    return reader.moment()


class _MomentReader:
    """What is left of a text, and what was read of it."""

    def __init__(self, text: str) -> None:
        self._text = self._rest = text
        self._year = self._hour = self._minute = self._second = self._nanosecond = 0
        self._month = self._day = self._year_day = -1
        self._half = ""
        self._offset: int | None = None
        self._zone = ""

    def _fail(self) -> TimeError:
        return TimeError(f"`{self._text}` does not match its layout")

    def skip(self, literal: str) -> None:
        """Take what stands for itself; a run of spaces matches any, and none at the end."""
        for index, char in enumerate(literal):
            if char != " ":
                if not self._rest.startswith(char):
                    raise self._fail()
                self._rest = self._rest[1:]
            elif index == 0 or literal[index - 1] != " ":
                if self._rest and self._rest[0] != " ":
                    raise self._fail()
                self._rest = self._rest.lstrip(" ")

    def element(self, element: str, following: str) -> None:
        """Take what an element stands for; a fraction may follow a second unless the layout speaks of one."""
        reader = self._READERS.get(element)
        if reader is not None:
            reader(self, element)
        elif element[0] in ".,":
            self._read_fraction(element)
        else:
            self._read_offset(element)
        if element in ("5", "05") and following[:1] not in (".", ","):
            self._read_any_fraction()

    def _match(self, pattern: str) -> re.Match[str]:
        match = re.match(pattern, self._rest, re.DOTALL)
        if match is None:
            raise self._fail()
        self._rest = self._rest[match.end() :]
        return match

    def _number(self, *, fixed: bool, most: int) -> int:
        number = int(self._match("[0-9]{2}" if fixed else "[0-9]{1,2}")[0])
        if number > most:
            raise self._fail()
        return number

    def _name(self, names: Sequence[str]) -> int:
        """The index of the name that comes next, in any case of its letters."""
        for index, name in enumerate(names):
            if self._rest[: len(name)].lower() == name.lower() and self._rest[: len(name)].isascii():
                self._rest = self._rest[len(name) :]
                return index
        raise self._fail()

    def _read_year(self, element: str) -> None:
        if element == "2006":
            self._year = int(self._match("[0-9]{4}")[0])
        else:
            year = int(self._match("[0-9]{2}")[0])
            self._year = year + (1900 if year >= 69 else 2000)

    def _read_month(self, element: str) -> None:
        if element[0] == "J":
            self._month = self._name(MONTHS if element == "January" else [name[:3] for name in MONTHS]) + 1
        else:
            self._month = self._number(fixed=element == "01", most=12)
            if self._month == 0:
                raise self._fail()

    def _read_weekday(self, element: str) -> None:
        self._name(WEEKDAYS if element == "Monday" else [name[:3] for name in WEEKDAYS])

    def _read_day(self, element: str) -> None:
        if element == "_2":
            self._rest = self._rest.removeprefix(" ")
        self._day = self._number(fixed=element == "02", most=99)

    def _read_year_day(self, element: str) -> None:
        if element == "__2":
            self._rest = self._rest.removeprefix(" ").removeprefix(" ")
        self._year_day = int(self._match("[0-9]{3}" if element == "002" else "[0-9]{1,3}")[0])

    def _read_hour(self, element: str) -> None:
        self._hour = self._number(fixed=element == "03", most=23 if element == "15" else 12)

    def _read_minute(self, element: str) -> None:
        self._minute = self._number(fixed=element == "04", most=59)

    def _read_second(self, element: str) -> None:
        self._second = self._number(fixed=element == "05", most=59)

    def _read_half(self, element: str) -> None:
        self._half = self._match("[AP]M" if element == "PM" else "[ap]m")[0].lower()

    def _read_fraction(self, element: str) -> None:
        """`.000` wants as many digits, `.999` takes any number of them, even none."""
        if element[1] == "0":
            self._set_fraction(self._match(f"[.,][0-9]{{{len(element) - 1}}}")[0])
        else:
            self._read_any_fraction()

    def _read_any_fraction(self) -> None:
        self._set_fraction(self._match("(?:[.,][0-9]+)?")[0])

    def _set_fraction(self, text: str) -> None:
        if text:
            self._nanosecond = int(text[1 : 1 + _LONGEST_FRACTION].ljust(_LONGEST_FRACTION, "0"))

    def _read_offset(self, element: str) -> None:
        if element[0] == "Z" and self._rest.startswith("Z"):
            self._rest = self._rest[1:]
            self._offset, self._zone = 0, "UTC"
            return
        colon = ":" if ":" in element else ""
        count = (len(element.replace(":", "")) - 1) // 2
        match = self._match("([+-])" + colon.join(["([0-9]{2})"] * count))
        hour, minute, second = (int(number) for number in (*match.groups()[1:], "0", "0")[:3])
        if hour > 24 or minute > 60 or second > 60:
            raise self._fail()
        offset = (hour * 60 + minute) * 60 + second
        self._offset = -offset if match[1] == "-" else offset

    def _read_zone(self, _element: str) -> None:
        if self._rest.startswith("UTC"):
            self._rest = self._rest[3:]
            self._offset, self._zone = 0, "UTC"
            return
        length = _zone_length(self._rest)
        if length == 0:
            raise self._fail()
        self._zone, self._rest = self._rest[:length], self._rest[length:]

    _READERS: ClassVar[dict[str, Callable[[_MomentReader, str], None]]] = {
        **dict.fromkeys(("2006", "06"), _read_year),
        **dict.fromkeys(("January", "Jan", "1", "01"), _read_month),
        **dict.fromkeys(("Monday", "Mon"), _read_weekday),
        **dict.fromkeys(("2", "_2", "02"), _read_day),
        **dict.fromkeys(("__2", "002"), _read_year_day),
        **dict.fromkeys(("15", "3", "03"), _read_hour),
        **dict.fromkeys(("4", "04"), _read_minute),
        **dict.fromkeys(("5", "05"), _read_second),
        **dict.fromkeys(("PM", "pm"), _read_half),
        "MST": _read_zone,
    }

    def moment(self) -> Moment:
        """What was read, if nothing is left."""
        if self._rest:
            raise self._fail()
        if self._half == "pm" and self._hour < 12:
            self._hour += 12
        elif self._half == "am" and self._hour == 12:
            self._hour = 0
        clock = self._hour, self._minute, self._second
        read = Moment.of(self._date(), clock, self._nanosecond)
        return self._in_zone(read)

    def _date(self) -> tuple[int, int, int]:
        month, day = self._month, self._day
        if self._year_day >= 0:
            if not 1 <= self._year_day <= 365 + is_leap(self._year):
                raise self._fail()
            _, month, day = date_of(days_since_epoch(self._year, 1, 1) + self._year_day - 1)
            if self._month not in (-1, month) or self._day not in (-1, day):
                raise self._fail()
        month, day = max(month, 1), 1 if day < 0 else day
        if not 1 <= day <= days_in(month, self._year):
            raise self._fail()
        return self._year, month, day

    def _in_zone(self, read: Moment) -> Moment:
        if self._offset is not None:
            zone = "UTC" if self._offset == 0 and not self._zone else self._zone
            return Moment(read.seconds - self._offset, read.nanosecond, self._offset, zone)
        if not self._zone:
            return read
        # What Go makes of a zone that it knows by name only: the time as read, and at most GMT's hours shown.
        hours = _hours(self._zone[3:]) if self._zone.startswith("GMT") else 0
        return Moment(read.seconds, read.nanosecond, hours * 3600, self._zone)


def _zone_length(text: str) -> int:
    """The length of the zone name at the start of a text, 0 without one (parseTimeZone)."""
    if text.startswith(("ChST", "MeST")):
        return 4
    if text.startswith("GMT"):
        return 3 + _signed_length(text[3:])
    if text.startswith(("+", "-")):
        return _signed_length(text) if len(text) >= 3 else 0
    match = re.match("[A-Z]{3,6}", text)
    length = match.end() if match else 0
    if length == 3 or text[:4] == "WITA" == text[:length]:
        return length
    return length if length in (4, 5) and text[length - 1] == "T" else 0


def _hours(text: str) -> int:
    """A sign and a small number, with any zeros between them."""
    hours = int(text[1:].lstrip("0") or "0")
    return -hours if text.startswith("-") else hours


def _signed_length(text: str) -> int:
    match = re.match("[+-]0*([0-9]+)", text)
    return match.end() if match and int(match[1][:3]) <= 23 else 0
