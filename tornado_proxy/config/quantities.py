"""Numbers of options: with bounds, and with units for sizes and durations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar

import msgspec

from tornado_proxy.config.values import InvalidValue

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
DAY = 86400

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
_PERIOD = re.compile(rf"({_NUMBER})(ms|[dhms])")


class Bounds(msgspec.Struct, frozen=True):
    """A mark of a number: its smallest and largest value."""

    units: ClassVar[Mapping[str, Decimal]] = {}  # the largest first: a bound is shown in the first that divides it

    lowest: float
    highest: float | None = None

    def read(self, value: Any) -> Decimal:
        """The number of a value of the file; raises `InvalidValue`."""
        number = self._number(value)
        if number < Decimal(str(self.lowest)):
            raise InvalidValue(f"is less than {self._shown(self.lowest)}")
        if self.highest is not None and number > Decimal(str(self.highest)):
            raise InvalidValue(f"is more than {self._shown(self.highest)}")
        return number

    def _number(self, value: Any) -> Decimal:
        return Decimal(str(value))

    def _shown(self, bound: float) -> str:
        exact = Decimal(str(bound))
        unit = next((unit for unit, factor in self.units.items() if exact and not exact % factor), None)
        return f"{exact // self.units[unit]}{unit}" if unit else str(bound)


class Size(Bounds, frozen=True):
    """Bytes within bounds, as a mark of an option's type."""

    units = _BYTES
    notation = rf"({_NUMBER}) ?({'|'.join(_BYTES)})"

    def _number(self, value: Any) -> Decimal:
        if isinstance(value, int) and not isinstance(value, bool):
            return Decimal(value)
        match = re.fullmatch(self.notation, value) if isinstance(value, str) else None
        if not match:
            raise InvalidValue("is not a size", "a number of bytes, or one with a unit: `500KB`, `100MB`, `5GiB`")
        return Decimal(int(Decimal(match[1]) * _BYTES[match[2]]))


class Duration(Bounds, frozen=True):
    """Seconds within bounds, as a mark of an option's type."""

    units = _SECONDS
    notation = rf"(?:{_NUMBER}(?:ms|[dhms]))+"

    def _number(self, value: Any) -> Decimal:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return Decimal(str(value))
        if not isinstance(value, str) or not re.fullmatch(self.notation, value):
            advice = "a number of seconds, or one with units: `500ms`, `30s`, `5m`, `1h30m`, `7d`"
            raise InvalidValue("is not a duration", advice)
        return sum((Decimal(number) * _SECONDS[unit] for number, unit in _PERIOD.findall(value)), Decimal(0))
