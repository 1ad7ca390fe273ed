"""Any value as a number, zero where it is none (package cast, as sprig uses it)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tornado_proxy.templates.golang.calling import ANY, STRING, Function, budgeted, function
from tornado_proxy.templates.golang.constants import (
    NumberError,
    float_to_int,
    parse_float,
    parse_int,
    trim_zero_decimals,
    wrap_int,
)
from tornado_proxy.templates.golang.formatting import shown
from tornado_proxy.templates.golang.limits import Budget
from tornado_proxy.templates.golang.text import runes
from tornado_proxy.templates.golang.values import Int64, Value


def to_int(value: Value) -> int:
    """cast.ToInt: floats lose their fraction, strings are read as Go's integer literals, what is none is 0."""
    if isinstance(value, float):
        return float_to_int(value)
    if isinstance(value, bytes):
        return _read_int(trim_zero_decimals(runes(value)), 0)
    return wrap_int(int(value)) if isinstance(value, int) else 0


def to_int64(value: Value) -> Int64:
    """cast.ToInt64."""
    return Int64(to_int(value))


def to_float(value: Value) -> float:
    """cast.ToFloat64: strings are read as Go's floating-point literals, what is none is 0."""
    if isinstance(value, bytes):
        try:
            return parse_float(runes(value))
        except NumberError:
            return 0.0
    return float(value) if isinstance(value, int | float) else 0.0


def _read_int(text: str, base: int) -> int:
    try:
        return parse_int(text, base)
    except NumberError:
        return 0


def _atoi(text: bytes) -> int:
    """strconv.Atoi, its error ignored: what is too large is the largest int."""
    try:
        return parse_int(runes(text), 10)
    except NumberError as error:
        return error.clamped


def _to_decimal(budget: Budget, value: Value) -> Int64:
    """The number that a value's text is in octal."""
    return Int64(_read_int(runes(shown(value, budget)), 8))


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "atoi": function(_atoi, STRING),
        "float64": function(to_float, ANY),
        "int": function(to_int, ANY),
        "int64": function(to_int64, ANY),
        "toDecimal": budgeted(_to_decimal, ANY),
    }
)
