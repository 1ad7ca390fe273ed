"""Lists: made, cut, joined, searched (sprig's list.go)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tornado_proxy.templates.golang.calling import ANY, INT, Function, budgeted, function
from tornado_proxy.templates.golang.formatting import shown
from tornado_proxy.templates.golang.limits import ExecutionError, RenderBudget
from tornado_proxy.templates.golang.sprig.defaults import is_empty, to_int
from tornado_proxy.templates.golang.sprig.strings import strings_of
from tornado_proxy.templates.golang.standard import deep_equal
from tornado_proxy.templates.golang.values import SLICE_SLICE, STRING_SLICE, Slice, Value, string_slice, type_name


def elements(value: Value, purpose: str) -> Slice:
    """The value, which must be a list."""
    if isinstance(value, Slice):
        return value
    raise ExecutionError(f"a `{type_name(value)}` cannot be {purpose}")


def contains(budget: RenderBudget, haystack: Sequence[Value], needle: Value) -> bool:
    """Whether an element equals the needle, however deep."""
    return any(deep_equal(budget, needle, element) for element in haystack)


def _list(budget: RenderBudget, *values: Value) -> Slice:
    budget.items(len(values))
    return Slice(values)


def _push(budget: RenderBudget, value: Value, element: Value) -> Slice:
    items = elements(value, "appended to")
    budget.items(len(items) + 1)
    return Slice([*items, element])


def _prepend(budget: RenderBudget, value: Value, element: Value) -> Slice:
    items = elements(value, "prepended to")
    budget.items(len(items) + 1)
    return Slice([element, *items])


def _concat(budget: RenderBudget, *values: Value) -> Slice:
    result = Slice((), nil=True)
    for value in values:
        items = elements(value, "concatenated")
        budget.items(len(result) + len(items))
        result.extend(items)
        result.nil = not result
    return result


def _first(value: Value) -> Value:
    return next(iter(elements(value, "cut")), None)


def _last(value: Value) -> Value:
    return next(reversed(elements(value, "cut")), None)


def _rest(budget: RenderBudget, value: Value) -> Slice:
    items = elements(value, "cut")
    budget.items(len(items))
    return Slice(items[1:], nil=not items)


def _initial(budget: RenderBudget, value: Value) -> Slice:
    items = elements(value, "cut")
    budget.items(len(items))
    return Slice(items[:-1], nil=not items)


def _reverse(budget: RenderBudget, value: Value) -> Slice:
    items = elements(value, "reversed")
    budget.items(len(items))
    return Slice(items[::-1])


def _compact(budget: RenderBudget, value: Value) -> Slice:
    items = elements(value, "compacted")
    budget.items(len(items))
    return Slice(element for element in items if not is_empty(element))


def _uniq(budget: RenderBudget, value: Value) -> Slice:
    unique = Slice()
    for element in elements(value, "made unique"):
        if not contains(budget, unique, element):
            unique.append(element)
    return unique


def _without(budget: RenderBudget, value: Value, *omitted: Value) -> Slice:
    items = elements(value, "reduced")
    budget.items(len(items))
    return Slice(element for element in items if not contains(budget, omitted, element))


def _has(budget: RenderBudget, needle: Value, value: Value) -> bool:
    return value is not None and contains(budget, elements(value, "searched"), needle)


def _slice(budget: RenderBudget, value: Value, *indexes: Value) -> Value:
    items = elements(value, "sliced")
    budget.items(len(items))
    if not items:
        return None
    bounds = [to_int(each) for each in indexes[:2]]
    start, end = [*bounds, *(0, len(items))[len(bounds) :]]
    if not 0 <= start <= end <= len(items):
        raise ExecutionError(f"the bounds {start} and {end} are out of the list")
    return Slice(items[start:end], items.type)


def _chunk(budget: RenderBudget, size: int, value: Value) -> Slice:
    items = elements(value, "cut into chunks")
    if size <= 0:
        raise ExecutionError(f"a list cannot be cut into chunks of {size}")
    budget.items(len(items))
    budget.spend(len(items) // size)
    return Slice((Slice(items[start : start + size]) for start in range(0, len(items), size)), SLICE_SLICE)


def _sort_alpha(budget: RenderBudget, value: Value) -> Slice:
    if not isinstance(value, Slice):
        return string_slice([shown(value, budget)])
    if value.type is STRING_SLICE:
        budget.items(len(value))
        # Go sorts such a list in its place, and every holder of the list sees that.
        value.sort()
        return value
    return string_slice(sorted(strings_of(budget, value)))


_TABLE = {
    "append": budgeted(_push, ANY, ANY),
    "chunk": budgeted(_chunk, INT, ANY),
    "compact": budgeted(_compact, ANY),
    "first": function(_first, ANY),
    "has": budgeted(_has, ANY, ANY),
    "initial": budgeted(_initial, ANY),
    "last": function(_last, ANY),
    "prepend": budgeted(_prepend, ANY, ANY),
    "push": budgeted(_push, ANY, ANY),
    "rest": budgeted(_rest, ANY),
    "reverse": budgeted(_reverse, ANY),
    "slice": budgeted(_slice, ANY, rest=ANY),
    "uniq": budgeted(_uniq, ANY),
    "without": budgeted(_without, ANY, rest=ANY),
}

FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    _TABLE
    # Each has a second name whose panic is an error in Go; in a template both fail alike.
    | {f"must{name.capitalize()}": entry for name, entry in _TABLE.items()}
    | {
        "concat": budgeted(_concat, rest=ANY),
        "list": budgeted(_list, rest=ANY),
        "sortAlpha": budgeted(_sort_alpha, ANY),
        "tuple": budgeted(_list, rest=ANY),
    }
)
