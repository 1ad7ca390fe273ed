"""Equality and order of values: `eq`, `lt` and their kin (text/template's funcs.go), and reflect.DeepEqual."""

from __future__ import annotations

from tornado_proxy.templates.golang.failures import ExecutionError
from tornado_proxy.templates.golang.limits import Budget
from tornado_proxy.templates.golang.values import (
    INVALID,
    Map,
    Nil,
    Slice,
    Struct,
    Value,
    is_nil,
    kind_of,
    type_name,
    type_of,
)

# Integers compare whatever their sign and size, as in Go since 1.18.
_BASIC = {
    "bool": "bool",
    "int": "int",
    "int32": "int",
    "int64": "int",
    "uint8": "int",
    "uint64": "int",
    "float64": "float",
    "complex128": "complex",
    "string": "string",
}
_ORDERED = ("int", "float", "string")


def _basic(value: Value) -> str | None:
    return None if is_nil(value) else _BASIC.get(type_of(value).kind)


def eq(first: Value, *others: Value) -> bool:
    """Whether the first argument equals one of the others."""
    if not others:
        raise ExecutionError("there is nothing to compare with")
    return any(_equal(first, other) for other in others)


def _equal(first: Value, other: Value) -> bool:
    kind, other_kind = _basic(first), _basic(other)
    if kind is None and other_kind is None:
        return _same(first, other)
    if kind == other_kind:
        return bool(first == other)
    if _invalid(first) or _invalid(other):
        return False
    raise ExecutionError(f"a `{type_name(first)}` cannot be compared with a `{type_name(other)}`")


def _same(first: Value, other: Value) -> bool:
    """Equality where neither is a number, a string or a bool."""
    nils = is_nil(first), is_nil(other)
    if _no_value(first) or _no_value(other):
        # Whether there is a user is a question that reads nothing from the user.
        return all(nils)
    if not _invalid(first) and not _invalid(other) and kind_of(first) != kind_of(other):
        raise ExecutionError(f"a `{type_name(first)}` cannot be compared with a `{type_name(other)}`")
    if any(nils):
        return all(nils)
    if isinstance(other, Slice | Map):
        raise ExecutionError(f"values of type `{type_name(other)}` cannot be compared")
    return identical(first, other)


def _no_value(value: Value) -> bool:
    return value is None or value is INVALID


def _invalid(value: Value) -> bool:
    """Whether reflection sees no value, nil interfaces among them."""
    return _no_value(value) or (isinstance(value, Nil) and value.type.kind == "interface")


def identical(first: Struct, other: Struct) -> bool:
    """Whether two structs are one: the same pointer, or equal values."""
    if first.type is not other.type:
        return False
    return first.source is other.source if first.type.kind == "ptr" else bool(first.source == other.source)


def ne(first: Value, other: Value) -> bool:
    """Whether the arguments differ."""
    return not eq(first, other)


def lt(first: Value, other: Value) -> bool:
    """Whether the first argument is less than the second."""
    kind, other_kind = _order(first), _order(other)
    if kind != other_kind:
        raise ExecutionError(f"a `{type_name(first)}` cannot be compared with a `{type_name(other)}`")
    if kind not in _ORDERED:
        raise ExecutionError(f"values of type `{type_name(first)}` have no order")
    return bool(first < other)


def _order(value: Value) -> str:
    kind = _basic(value)
    if kind is None:
        raise ExecutionError(f"values of type `{type_name(value)}` have no order")
    return kind


def le(first: Value, other: Value) -> bool:
    """Whether the first argument is less than the second, or equal."""
    return lt(first, other) or eq(first, other)


def gt(first: Value, other: Value) -> bool:
    """Whether the first argument is greater than the second."""
    return not le(first, other)


def ge(first: Value, other: Value) -> bool:
    """Whether the first argument is greater than the second, or equal."""
    return not lt(first, other)


def deep_equal(budget: Budget, first: Value, other: Value) -> bool:
    """reflect.DeepEqual: equal in type and, however deep, in content; an unmade list is no empty one."""
    return _deep_equal(budget, first, other, 0)


def _deep_equal(budget: Budget, first: Value, other: Value, depth: int) -> bool:
    budget.spend()
    budget.nest(depth)
    if first is None or other is None:
        # An absent user is no nil that nobody asked about: asking for its name says so.
        return type_name(first) == type_name(other)
    if type_of(first) is not type_of(other):
        return False
    if isinstance(first, Slice):
        return (
            first.nil == other.nil
            and len(first) == len(other)
            and all(_deep_equal(budget, a, b, depth + 1) for a, b in zip(first, other, strict=True))
        )
    if isinstance(first, Map):
        return (
            first.nil == other.nil
            and first.keys() == other.keys()
            and all(_deep_equal(budget, value, other[key], depth + 1) for key, value in first.items())
        )
    if isinstance(first, Struct):
        return bool(first.source == other.source)
    return bool(first == other)
