"""Go's durations, such as `1h30m` and `1.5s`, in seconds."""

from __future__ import annotations

import re
from decimal import Decimal

_UNITS = {
    "h": Decimal(3600),
    "m": Decimal(60),
    "s": Decimal(1),
    "ms": Decimal("1e-3"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "μs": Decimal("1e-6"),
    "ns": Decimal("1e-9"),
}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ms|us|µs|μs|ns|h|m|s)")


def seconds(text: str) -> Decimal | None:
    """The seconds of a duration (time.ParseDuration) that is not negative; None for what is none."""
    if text == "0":
        return Decimal(0)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.removeprefix("+"):
        return None
    return sum((Decimal(number.rstrip(".")) * _UNITS[unit] for number, unit in parts), Decimal(0))
