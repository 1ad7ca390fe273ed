"""Durations as text: `1h15m0.5s` (time.ParseDuration, Duration.String)."""

from __future__ import annotations

import re

from tornado_proxy.templates.golang.constants import MAX_INT

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
    """A text that is no duration."""


def parse_duration(text: str) -> int:
    """The nanoseconds of a text; raises `DurationError`."""
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    if unsigned == "0":
        return 0
    total = position = 0
    while position < len(unsigned) or not unsigned:
        part = _PART.match(unsigned, position)
        if part is None or not (part["whole"] or part["fraction"]) or part["unit"] not in _UNITS:
            raise DurationError(f"`{text}` is no duration")
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
