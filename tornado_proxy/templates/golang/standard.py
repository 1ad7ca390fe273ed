"""The functions that text/template brings itself."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tornado_proxy.templates.golang.calling import ANY, REFLECTED, STRING, Function, budgeted, function
from tornado_proxy.templates.golang.comparison import eq, ge, gt, le, lt, ne
from tornado_proxy.templates.golang.escaping import escape_html, escape_js
from tornado_proxy.templates.golang.failures import ExecutionError
from tornado_proxy.templates.golang.formatting import sprint, sprintln
from tornado_proxy.templates.golang.limits import Budget
from tornado_proxy.templates.golang.printf import sprintf
from tornado_proxy.templates.golang.specials import AND, OR
from tornado_proxy.templates.golang.urls import query_escape
from tornado_proxy.templates.golang.values import (
    INVALID,
    Map,
    Slice,
    Uint8,
    Value,
    is_true,
    type_name,
    zero,
)


def index(item: Value, *indexes: Value) -> Value:
    """What stands in a list, a string or a map at an index, and so on for further indexes."""
    if item is None or item is INVALID:
        raise ExecutionError("there is no value to index")
    for each in indexes:
        item = _indexed(item, each)
    return item


def _indexed(item: Value, each: Value) -> Value:
    if isinstance(item, Map):
        if type(each) is not bytes:
            raise ExecutionError(f"a map's key is a string, not a `{type_name(each)}`")
        found = item.lookup(each)
        return zero(item.type.element) if found is INVALID else found
    if not isinstance(item, Slice | bytes):
        raise ExecutionError(f"a `{type_name(item)}` cannot be indexed")
    number = _position(each, len(item) - 1)
    return Uint8(item[number]) if isinstance(item, bytes) else item[number]


def _position(each: Value, last: int) -> int:
    if not isinstance(each, int) or isinstance(each, bool):
        raise ExecutionError(f"an index is an integer, not a `{type_name(each)}`")
    if not 0 <= each <= last:
        raise ExecutionError(f"the index {each} is out of range")
    return int(each)


def slice_(item: Value, *indexes: Value) -> Value:
    """A part of a list or a string, between two indexes; a third one would limit a list's capacity."""
    if not isinstance(item, Slice | bytes):
        raise ExecutionError(f"a `{type_name(item)}` cannot be sliced")
    if len(indexes) > (2 if isinstance(item, bytes) else 3):
        raise ExecutionError(f"{len(indexes)} indexes are too many")
    positions = [_position(each, len(item)) for each in indexes]
    start, end, *_ = [*positions, *(0, len(item))[len(positions) :]]
    if [start, end, *positions[2:]] != sorted([start, end, *positions[2:]]):
        raise ExecutionError("the indexes of a slice must not fall")
    return item[start:end] if isinstance(item, bytes) else Slice(item[start:end], item.type, nil=item.nil)


def length(item: Value) -> int:
    """How many elements a list or a map has, or bytes a string."""
    if isinstance(item, Slice | Map | bytes):
        return len(item)
    raise ExecutionError(f"a `{type_name(item)}` has no length")


def call(item: Value, *_arguments: Value) -> Value:
    """Go calls a function that is a value; nothing that a template reads is one."""
    raise ExecutionError(f"a `{type_name(item)}` is no function")


def _print(budget: Budget, *values: Value) -> bytes:
    return sprint(values, budget)


def _println(budget: Budget, *values: Value) -> bytes:
    return sprintln(values, budget)


def _printf(budget: Budget, format: bytes, *values: Value) -> bytes:
    return sprintf(format, values, budget)


def _text(values: tuple[Value, ...], budget: Budget) -> bytes:
    """The arguments as an action would write them."""
    text = sprint([b"<no value>" if value is None else value for value in values], budget, follow=True)
    budget.spend(len(text) >> 2)  # each character may be escaped by itself
    return text


STANDARD: Mapping[str, Function] = MappingProxyType(
    {
        "and": AND,
        "call": function(call, REFLECTED, rest=REFLECTED),
        "eq": function(eq, REFLECTED, rest=REFLECTED),
        "ge": function(ge, REFLECTED, REFLECTED),
        "gt": function(gt, REFLECTED, REFLECTED),
        "html": budgeted(lambda budget, *values: escape_html(_text(values, budget)), rest=ANY),
        "index": function(index, REFLECTED, rest=REFLECTED),
        "js": budgeted(lambda budget, *values: escape_js(_text(values, budget)), rest=ANY),
        "le": function(le, REFLECTED, REFLECTED),
        "len": function(length, REFLECTED),
        "lt": function(lt, REFLECTED, REFLECTED),
        "ne": function(ne, REFLECTED, REFLECTED),
        "not": function(lambda value: not is_true(value), REFLECTED),
        "or": OR,
        "print": budgeted(_print, rest=ANY),
        "printf": budgeted(_printf, STRING, rest=ANY),
        "println": budgeted(_println, rest=ANY),
        "slice": function(slice_, REFLECTED, rest=REFLECTED),
        "urlquery": budgeted(lambda budget, *values: query_escape(_text(values, budget)), rest=ANY),
    }
)
"""The functions by name."""
