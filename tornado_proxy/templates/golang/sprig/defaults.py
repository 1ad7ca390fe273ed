"""What is empty, what stands in for it, numbers of any value, and types (sprig's defaults.go and reflect.go)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tornado_proxy.templates.golang.calling import ANY, BOOL, STRING, Function, budgeted, function
from tornado_proxy.templates.golang.formatting import shown
from tornado_proxy.templates.golang.literals import (
    NumberError,
    float_to_int,
    parse_float,
    parse_int,
    trim_zero_decimals,
    wrap_int,
)
from tornado_proxy.templates.golang.standard import deep_equal
from tornado_proxy.templates.golang.text import runes
from tornado_proxy.templates.golang.values import ExecutionError, Int64, Value, is_true, kind_of, type_name
from tornado_proxy.templates.template import RenderBudget


def is_empty(value: Value) -> bool:
    """Whether a value is nil, zero, false or without elements; a struct never is."""
    return not is_true(value)


def _default(fallback: Value, *given: Value) -> Value:
    return fallback if not given or is_empty(given[0]) else given[0]


def _coalesce(*values: Value) -> Value:
    return next((value for value in values if not is_empty(value)), None)


def _fail(message: bytes) -> Value:
    raise ExecutionError(runes(message))


def to_int(value: Value) -> int:
    """cast.ToInt: floats lose their fraction, strings are read as Go's integer literals, anything else is 0."""
    if isinstance(value, float):
        return float_to_int(value)
    if isinstance(value, bytes):
        return _read_int(trim_zero_decimals(runes(value)), 0)
    return wrap_int(int(value)) if isinstance(value, int) else 0


def to_int64(value: Value) -> Int64:
    """cast.ToInt64."""
    return Int64(to_int(value))


def to_float(value: Value) -> float:
    """cast.ToFloat64: strings are read as Go's floating-point literals, anything else is 0."""
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


def _to_decimal(budget: RenderBudget, value: Value) -> Int64:
    """The number that a value's text is in octal."""
    return Int64(_read_int(runes(shown(value, budget)), 8))


def _type_of(value: Value) -> bytes:
    return type_name(value).encode()


def _kind_of(value: Value) -> bytes:
    return kind_of(value).encode()


def _type_is_like(name: bytes, value: Value) -> bool:
    return _type_of(value) in (name, b"*" + name)


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "all": function(lambda *values: not any(map(is_empty, values)), rest=ANY),
        "any": function(lambda *values: not all(map(is_empty, values)), rest=ANY),
        "coalesce": function(_coalesce, rest=ANY),
        "default": function(_default, ANY, rest=ANY),
        "empty": function(is_empty, ANY),
        "fail": function(_fail, STRING),
        "ternary": function(lambda yes, no, condition: yes if condition else no, ANY, ANY, BOOL),
        "atoi": function(_atoi, STRING),
        "float64": function(to_float, ANY),
        "int": function(to_int, ANY),
        "int64": function(to_int64, ANY),
        "toDecimal": budgeted(_to_decimal, ANY),
        "deepEqual": budgeted(deep_equal, ANY, ANY),
        "kindIs": function(lambda name, value: name == _kind_of(value), STRING, ANY),
        "kindOf": function(_kind_of, ANY),
        "typeIs": function(lambda name, value: name == _type_of(value), STRING, ANY),
        "typeIsLike": function(_type_is_like, STRING, ANY),
        "typeOf": function(_type_of, ANY),
    }
)
