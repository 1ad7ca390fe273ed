"""Dates that do not depend on the clock or the machine (sprig's date.go); the local zone is UTC."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from gotemplate.limits import COST_OF_DATE
from gotemplate.sprig.basics import atoi, forgiving
from gotemplate.template import calling
from gotemplate.template.calling import ANY, INT, STRING, Function, Parameter, budgeted, function, reading
from gotemplate.template.errors import RenderBudget
from gotemplate.template.moments import MONTHS, WEEKDAYS, ZERO, Moment, format_moment, parse_moment
from gotemplate.template.nodes import Constant
from gotemplate.template.text import MAX_INT, MIN_INT, go_string, runes, wrap_int
from gotemplate.template.values import PLAIN_TYPES, ExecutionError, Int64, Struct, Type, Value

_SECOND = 10**9
_FARTHEST = 1 << 62  # seconds from 1970; beyond that, Go's calendar overflows
_UTC = (b"", b"UTC", b"Local")
_STRING_LAYOUT = "2006-01-02 15:04:05.999999999 -0700 MST"


class GoDuration(Int64):
    """A time.Duration, in nanoseconds."""


class Month(int):
    """A time.Month."""


class Weekday(int):
    """A time.Weekday."""


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
_PART = re.compile(r"(?P<whole>[0-9]*)(?:(?P<point>\.)(?P<fraction>[0-9]*))?(?P<unit>[^0-9.]+)")
_MOST_NANOSECONDS = 1 << 63


def parse_duration(text: str) -> int:
    """Returns the nanoseconds of a text such as `1h30m`; raises `ExecutionError`."""
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    if unsigned == "0":
        return 0
    total = position = 0
    while position < len(unsigned) or not unsigned:
        part = _PART.match(unsigned, position)
        if part is None or not (part["whole"] or part["fraction"]) or part["unit"] not in _UNITS:
            raise ExecutionError(f"invalid duration `{text}`")
        total += _nanoseconds(part)
        if total > _MOST_NANOSECONDS:
            raise ExecutionError(f"the duration `{text}` is too long")
        position = part.end()
    if text.startswith("-"):
        return -total
    if total > MAX_INT:
        raise ExecutionError(f"the duration `{text}` is too long")
    return total


def _nanoseconds(part: re.Match[str]) -> int:
    unit = _UNITS[part["unit"]]
    # A longer number is out of range in every unit.
    whole = int((part["whole"] or "0").lstrip("0")[:20] or "0")
    if whole > _MOST_NANOSECONDS // unit:
        return _MOST_NANOSECONDS + 1
    value, scale = 0, 1
    for digit in part["fraction"] or "":
        if value > MAX_INT // 10:
            break
        value, scale = value * 10 + int(digit), scale * 10
    # Go calculates the fraction as a float, which decides the last digits.
    return whole * unit + int(float(value) * (unit / float(scale)))


def format_duration(nanoseconds: int) -> str:
    """Formats a duration as Go does: below a second in a smaller unit."""
    sign, rest = ("-" if nanoseconds < 0 else ""), abs(nanoseconds)
    if rest == 0:
        return "0s"
    for unit, digits in _SMALL_UNITS:
        if rest < 1000 * 10**digits:
            return f"{sign}{_decimal(rest, digits)}{unit}"
    minutes, rest = divmod(rest, 60 * _SECOND)
    hours, minute = divmod(minutes, 60)
    text = f"{_decimal(rest, 9)}s"
    text = f"{minute}m{text}" if minutes else text
    return sign + (f"{hours}h{text}" if hours else text)


def _decimal(number: int, places: int) -> str:
    """Returns a number with its last digits behind the point, without zeros at the end."""
    return f"{Decimal(number).scaleb(-places).normalize():f}"


def _clamped(nanoseconds: int) -> GoDuration:
    return GoDuration(max(MIN_INT, min(nanoseconds, MAX_INT)))


def _rounded(nanoseconds: int, unit: int) -> int:
    """Rounds to a multiple of a positive unit, halves away from zero."""
    size, rest = divmod(abs(nanoseconds), unit)
    rounded = (size + (2 * rest >= unit)) * unit
    return rounded if nanoseconds >= 0 else -rounded


def _to_multiple(moment: Moment, unit: int, *, up: bool) -> Struct:
    """Moves a moment back to a multiple of a unit since the zero time, or to the nearest one (Time.Truncate, Round)."""
    rest = (moment.nanoseconds - ZERO.nanoseconds) % unit if unit > 0 else 0
    return Struct(TIME, moment.plus(unit - rest if up and rest and 2 * rest >= unit else -rest))


def _literal_duration(literal: Constant) -> GoDuration:
    if (number := getattr(literal.value, "integer", None)) is None:
        raise calling.wrong_type(literal, "time.Duration")
    return GoDuration(number)


_TIME = calling.struct_of("time.Time")
_DURATION = Parameter("time.Duration", calling.exactly(GoDuration, "time.Duration").convert, _literal_duration)


def _comparing(holds: Callable[[int, int], Value]) -> Function:
    return function(lambda receiver, other: holds(receiver.source.nanoseconds, other.source.nanoseconds), _TIME)


def _part(name: str, of: Callable[[int], int] = int) -> Function:
    return reading(lambda moment: of(moment.parts()[name]))


def _count(nanoseconds: int) -> Function:
    """Returns the method for the number of units since 1970."""
    return reading(lambda moment: Int64(wrap_int(moment.nanoseconds // nanoseconds)))


TIME: Type = Type(
    "time.Time",
    "struct",
    opaque=True,
    stringer=lambda value: go_string(format_moment(value.source, _STRING_LAYOUT)),
    json=lambda value: _json_of(value.source),
    methods={
        b"Add": function(lambda receiver, duration: Struct(TIME, receiver.source.plus(duration)), _DURATION),
        b"AddDate": function(lambda receiver, *date: Struct(TIME, receiver.source.plus_date(*date)), INT, INT, INT),
        b"After": _comparing(lambda one, other: one > other),
        b"Before": _comparing(lambda one, other: one < other),
        b"Compare": _comparing(lambda one, other: (one > other) - (one < other)),
        b"Day": _part("day"),
        b"Equal": _comparing(lambda one, other: one == other),
        b"Format": budgeted(lambda budget, receiver, layout: _formatted(budget, receiver.source, layout), STRING),
        b"Hour": _part("hour"),
        b"IsDST": reading(lambda _moment: False),
        b"IsZero": reading(lambda moment: moment.nanoseconds == ZERO.nanoseconds),
        b"Local": reading(lambda moment: Struct(TIME, moment.in_utc())),
        b"Minute": _part("minute"),
        b"Month": _part("month", Month),
        b"Nanosecond": reading(lambda moment: moment.nanosecond),
        b"Round": function(lambda receiver, unit: _to_multiple(receiver.source, unit, up=True), _DURATION),
        b"Second": _part("second"),
        b"String": budgeted(lambda budget, receiver: _formatted(budget, receiver.source, _STRING_LAYOUT.encode())),
        b"Sub": _comparing(lambda one, other: _clamped(one - other)),
        b"Truncate": function(lambda receiver, unit: _to_multiple(receiver.source, unit, up=False), _DURATION),
        b"UTC": reading(lambda moment: Struct(TIME, moment.in_utc())),
        b"Unix": reading(lambda moment: Int64(moment.seconds)),
        b"UnixMicro": _count(10**3),
        b"UnixMilli": _count(10**6),
        b"UnixNano": _count(1),
        b"Weekday": _part("weekday", Weekday),
        b"Year": _part("year"),
        b"YearDay": _part("year day"),
    },
)


def _json_of(moment: Moment) -> bytes:
    if not 0 <= moment.parts()["year"] <= 9999:
        raise ExecutionError("a year of more than four digits has no form in JSON")
    return go_string(format_moment(moment, "2006-01-02T15:04:05.999999999Z07:00"))


def _whole(nanoseconds: int, unit: int) -> int:
    """Returns the whole units of a duration, towards zero."""
    return abs(nanoseconds) // unit * (-1 if nanoseconds < 0 else 1)


def _in_units(unit: int) -> Function:
    """Returns the method for a duration in units, calculated as Go does, which decides the last digits."""
    return function(lambda value: float(_whole(value, unit)) + float(value - _whole(value, unit) * unit) / float(unit))


def _in_whole(unit: int) -> Function:
    return function(lambda value: Int64(_whole(value, unit)))


def _printing(stringer: Callable[[Any], bytes]) -> dict[str, Any]:
    """Returns the properties of a type whose only known method is String."""
    return {"stringer": stringer, "methods": {b"String": function(stringer)}}


_OF_DURATION = _printing(lambda value: format_duration(value).encode())
_OF_DURATION["methods"] |= {
    b"Abs": function(lambda value: _clamped(abs(value))),
    b"Hours": _in_units(3600 * _SECOND),
    b"Microseconds": _in_whole(10**3),
    b"Milliseconds": _in_whole(10**6),
    b"Minutes": _in_units(60 * _SECOND),
    b"Nanoseconds": _in_whole(1),
    b"Round": function(lambda value, unit: _clamped(_rounded(value, unit)) if unit > 0 else value, _DURATION),
    b"Seconds": _in_units(_SECOND),
    b"Truncate": function(lambda value, unit: GoDuration(_whole(value, unit) * unit) if unit > 0 else value, _DURATION),
}
DURATION = Type("time.Duration", "int64", **_OF_DURATION)
# A `range` over a month visits a month before January.
MONTH = Type("time.Month", "int", **_printing(lambda value: MONTHS[value - 1].encode() if value else b"%!Month(0)"))
WEEKDAY = Type("time.Weekday", "int", **_printing(lambda value: WEEKDAYS[value].encode()))
PLAIN_TYPES.update({GoDuration: DURATION, Month: MONTH, Weekday: WEEKDAY})


def _formatted(budget: RenderBudget, moment: Moment, layout: bytes) -> bytes:
    budget.spend(COST_OF_DATE + (len(layout) >> 1))
    return format_moment(moment, layout.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _moment_of(value: Value) -> Moment:
    """Returns the moment of a time, or of seconds since 1970; for any other value sprig uses the present."""
    if isinstance(value, Struct) and value.type is TIME:
        moment: Moment = value.source
        return moment
    if type(value) in (int, Int64):
        if abs(value) > _FARTHEST:
            raise ExecutionError(f"the time {value} is out of range")
        return Moment(value)
    raise ExecutionError("the present time is not available: a key must not depend on it")


def _date_in_zone(budget: RenderBudget, layout: bytes, value: Value, zone: bytes = b"UTC") -> bytes:
    if zone not in _UTC:
        raise ExecutionError(f"the time zone `{runes(zone)}` is not supported, only UTC")
    return _formatted(budget, _moment_of(value).in_utc(), layout)


def _must_to_date(budget: RenderBudget, layout: bytes, text: bytes) -> Struct:
    budget.spend(COST_OF_DATE + (len(layout) + len(text) >> 1))
    return Struct(TIME, parse_moment(runes(layout), runes(text)))


def _must_date_modify(_budget: RenderBudget, text: bytes, time: Struct) -> Struct:
    return Struct(TIME, time.source.plus(parse_duration(runes(text))))


_date_modify = budgeted(forgiving(_must_date_modify, lambda _text, time: time), STRING, _TIME)


def time_since(value: Value, now: Moment) -> bytes:
    """Returns the time since a moment in whole seconds, as sprig's `ago`."""
    since = _clamped(now.nanoseconds - _moment_of(value).nanoseconds)
    return format_duration(_clamped(_rounded(since, _SECOND))).encode()


def _duration(value: Value) -> bytes:
    """Formats seconds: a string or an int64; for any other value sprig uses 0."""
    seconds = atoi(value) if type(value) is bytes else value if type(value) is Int64 else 0
    return format_duration(wrap_int(seconds * _SECOND)).encode()


_ROUNDED = (
    ("y", 365 * 86_400 * _SECOND),
    ("mo", 30 * 86_400 * _SECOND),
    ("d", 86_400 * _SECOND),
    ("h", 3600 * _SECOND),
    ("m", 60 * _SECOND),
    ("s", _SECOND),
)


def _duration_round(value: Value) -> bytes:
    """Formats a duration in its largest unit, without sign."""
    if isinstance(value, Struct):
        _moment_of(None)
    nanoseconds = value if type(value) is Int64 else 0
    if type(value) is bytes:
        try:
            nanoseconds = parse_duration(runes(value))
        except ExecutionError:
            nanoseconds = 0
    for unit, size in _ROUNDED:
        if abs(nanoseconds) > size:
            return b"%d%b" % (abs(nanoseconds) // size, unit.encode())
    return b"0s"


FUNCTIONS: Mapping[str, Function] = {
    "date": budgeted(_date_in_zone, STRING, ANY),
    "dateInZone": budgeted(_date_in_zone, STRING, ANY, STRING),
    "dateModify": _date_modify,
    "date_in_zone": budgeted(_date_in_zone, STRING, ANY, STRING),
    "date_modify": _date_modify,
    "duration": function(_duration, ANY),
    "durationRound": function(_duration_round, ANY),
    "htmlDate": budgeted(lambda budget, value: _date_in_zone(budget, b"2006-01-02", value), ANY),
    "htmlDateInZone": budgeted(
        lambda budget, value, zone: _date_in_zone(budget, b"2006-01-02", value, zone), ANY, STRING
    ),
    "mustDateModify": budgeted(_must_date_modify, STRING, _TIME),
    "mustToDate": budgeted(_must_to_date, STRING, STRING),
    "must_date_modify": budgeted(_must_date_modify, STRING, _TIME),
    "toDate": budgeted(forgiving(_must_to_date, lambda _layout, _text: Struct(TIME, ZERO)), STRING, STRING),
    "unixEpoch": function(lambda time: b"%d" % time.source.seconds, _TIME),
}
