"""The functions that text/template brings itself: comparisons, indexing, escaping, printing (funcs.go)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

from tornado_proxy.templates.golang.calling import ANY, REFLECTED, STRING, Function, budgeted, function, special
from tornado_proxy.templates.golang.operands import Evaluate, Run
from tornado_proxy.templates.golang.printf import sprint, sprintf, sprintln
from tornado_proxy.templates.golang.text import is_print, runes
from tornado_proxy.templates.golang.urls import query_escape
from tornado_proxy.templates.golang.values import (
    INVALID,
    ExecutionError,
    Map,
    Nil,
    Slice,
    Struct,
    Uint8,
    Value,
    is_nil,
    is_true,
    kind_of,
    type_name,
    type_of,
    zero,
)
from tornado_proxy.templates.template import RenderBudget

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


def deep_equal(budget: RenderBudget, first: Value, other: Value) -> bool:
    """reflect.DeepEqual: equal in type and, however deep, in content; an unmade list is not an empty one."""
    return _deep_equal(budget, first, other, 0)


def _deep_equal(budget: RenderBudget, first: Value, other: Value, depth: int) -> bool:
    budget.spend()
    budget.nest(depth)
    if first is None or other is None:
        # An absent user is not the nil that nobody asked about: asking for its name says so.
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


_HTML = {
    b"\0": "\ufffd".encode(),
    b'"': b"&#34;",
    b"'": b"&#39;",
    b"&": b"&amp;",
    b"<": b"&lt;",
    b">": b"&gt;",
}
_HTML_SPECIAL = re.compile(b"[\\0\"'&<>]")
_JS = {"\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D"}


def escape_html(text: bytes) -> bytes:
    """template.HTMLEscapeString."""
    return _HTML_SPECIAL.sub(lambda match: _HTML[match[0]], text)


def escape_js(text: bytes) -> bytes:
    """template.JSEscapeString."""
    runes = text.decode("utf-8", "surrogateescape")
    return "".join(map(_js_rune, runes)).encode("utf-8", "surrogateescape")


def _js_rune(rune: str) -> str:
    if rune in _JS:
        return _JS[rune]
    if rune < " ":
        return f"\\u00{ord(rune):02X}"
    # Go escapes only valid characters beyond ASCII, and writes other bytes as they are.
    if rune <= "\x7f" or "\udc80" <= rune <= "\udcff" or is_print(rune):
        return rune
    return f"\\u{ord(rune):04X}"


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
    raise ExecutionError(f"a `{type_name(item)}` is not a function")


def _text(values: tuple[Value, ...], budget: RenderBudget) -> bytes:
    """The arguments as an action would write them."""
    text = sprint(budget, *(b"<no value>" if value is None else value for value in values), follow=True)
    budget.spend(len(text) >> 2)  # each character may be escaped by itself
    return text


def _until(run: Run, dot: Value, arguments: Sequence[Evaluate], *, truth: bool) -> Value:
    """The first argument whose truth is the one asked for, or the last; what follows is not evaluated."""
    value: Value = INVALID
    for evaluate in arguments:
        value = evaluate(run, dot)
        if is_true(value) is truth:
            break
    return value


def _include(run: Run, dot: Value, arguments: Sequence[Evaluate]) -> Value:
    """What a template defined beside the outermost one writes, as a value."""
    name, data = [evaluate(run, dot) for evaluate in arguments]
    body = run.helpers.get(name)
    if body is None:
        raise ExecutionError(f"unknown template `{runes(name)}`")
    templates = run.templates
    run.templates = run.helpers
    text = run.capture(body, INVALID if data is None else data)
    run.templates = templates
    return text


INCLUDE = special(_include, STRING, ANY)
"""What Helm adds to sprig: a template's text as a value."""


STANDARD: Mapping[str, Function] = MappingProxyType(
    {
        "and": special(partial(_until, truth=False), REFLECTED, rest=REFLECTED),
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
        "or": special(partial(_until, truth=True), REFLECTED, rest=REFLECTED),
        "print": budgeted(sprint, rest=ANY),
        "printf": budgeted(sprintf, STRING, rest=ANY),
        "println": budgeted(sprintln, rest=ANY),
        "slice": function(slice_, REFLECTED, rest=REFLECTED),
        "urlquery": budgeted(lambda budget, *values: query_escape(_text(values, budget)), rest=ANY),
    }
)
"""The functions by name."""
