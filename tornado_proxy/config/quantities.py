"""Sizes and durations as people write them: `5GiB`, `100MB`, `15m`, `1h30m`, or a plain number of bytes or seconds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tornado_proxy.config.values import InvalidValue, OutOfBounds

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
DAY = 86400

# The largest first: a quantity is shown in the first unit that divides it.
_BYTES = {
    "TiB": Decimal(1024 * GIB),
    "TB": Decimal(10**12),
    "GiB": Decimal(GIB),
    "GB": Decimal(10**9),
    "MiB": Decimal(MIB),
    "MB": Decimal(10**6),
    "KiB": Decimal(KIB),
    "KB": Decimal(10**3),
    "B": Decimal(1),
}
_SECONDS = {"d": Decimal(DAY), "h": Decimal(3600), "m": Decimal(60), "s": Decimal(1), "ms": Decimal("0.001")}

_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,6})?"
_SIZE = re.compile(rf"({_NUMBER}) ?({'|'.join(_BYTES)})")
_PERIOD = re.compile(rf"({_NUMBER})(ms|[dhms])")
_DURATION = re.compile(rf"(?:{_NUMBER}(?:ms|[dhms]))+")


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes within bounds, as a mark of an option's type."""

    lowest: int
    highest: int | None = None

    def read(self, value: object) -> int:
        """The bytes that a value of the file stands for; raises `InvalidValue`."""
        size = _size(value)
        _check_bounds(Decimal(size), self, _BYTES)
        return size

    def json_schema(self) -> dict[str, Any]:
        """A number within the bounds, or one with a unit."""
        return _json_schema("integer", self, _SIZE)


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds within bounds, as a mark of an option's type."""

    lowest: float
    highest: float | None = None

    def read(self, value: object) -> float:
        """The seconds that a value of the file stands for; raises `InvalidValue`."""
        seconds = _duration(value)
        _check_bounds(seconds, self, _SECONDS)
        return float(seconds)

    def json_schema(self) -> dict[str, Any]:
        """A number within the bounds, or one with units."""
        return _json_schema("number", self, _DURATION)


def _json_schema(number: str, bounds: Size | Duration, pattern: re.Pattern[str]) -> dict[str, Any]:
    numeric = {"type": number, "minimum": bounds.lowest}
    if bounds.highest is not None:
        numeric["maximum"] = bounds.highest
    return {"anyOf": [numeric, {"type": "string", "pattern": f"^{pattern.pattern}$"}]}


def _size(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise InvalidValue("is not a size", "a number of bytes, or one with a unit: `500KB`, `100MB`, `5GiB`")
    return int(Decimal(found[1]) * _BYTES[found[2]])


def _duration(value: object) -> Decimal:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Decimal(str(value))
    if not isinstance(value, str) or not _DURATION.fullmatch(value):
        raise InvalidValue(
            "is not a duration", "a number of seconds, or one with units: `500ms`, `30s`, `5m`, `1h30m`, `7d`"
        )
    return sum((Decimal(number) * _SECONDS[unit] for number, unit in _PERIOD.findall(value)), Decimal(0))


def _check_bounds(quantity: Decimal, bounds: Size | Duration, units: Mapping[str, Decimal]) -> None:
    if quantity < Decimal(str(bounds.lowest)):
        raise OutOfBounds(f"is less than {_shown(bounds.lowest, units)}")
    if bounds.highest is not None and quantity > Decimal(str(bounds.highest)):
        raise OutOfBounds(f"is more than {_shown(bounds.highest, units)}")


def _shown(quantity: float, units: Mapping[str, Decimal]) -> str:
    """A quantity in the largest unit that divides it, as it could stand in the file."""
    exact = Decimal(str(quantity))
    for unit, factor in units.items():
        if exact and not exact % factor:
            return f"{exact // factor}{unit}"
    return "0"
