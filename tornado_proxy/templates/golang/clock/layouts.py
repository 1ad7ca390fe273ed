"""Layouts: a time is written, and read, as the reference time `Mon Jan 2 15:04:05 MST 2006` would be (time.Format)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tornado_proxy.templates.golang.clock.moments import MONTHS, WEEKDAYS, Moment

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
