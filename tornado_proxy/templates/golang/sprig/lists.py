"""Lists and dictionaries (sprig's list.go and dict.go)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tornado_proxy.templates.golang.calling import ANY, INT, MAP, STRING, Function, budgeted, function
from tornado_proxy.templates.golang.formatting import shown
from tornado_proxy.templates.golang.sprig.basics import is_empty, to_int
from tornado_proxy.templates.golang.sprig.strings import strings_of
from tornado_proxy.templates.golang.values import (
    ANY_MAP,
    SLICE_SLICE,
    STRING_SLICE,
    ExecutionError,
    Map,
    Slice,
    Struct,
    Value,
    deep_equal,
    is_string_map,
    string_slice,
    type_name,
)
from tornado_proxy.templates.template import RenderBudget


def _elements(value: Value) -> Slice:
    """Returns the value, which must be a list."""
    if isinstance(value, Slice):
        return value
    raise ExecutionError(f"a `{type_name(value)}` is not a list")


def _contains(budget: RenderBudget, haystack: Sequence[Value], needle: Value) -> bool:
    return any(deep_equal(budget, needle, element) for element in haystack)


def _list(budget: RenderBudget, *values: Value) -> Slice:
    budget.items(len(values))
    return Slice(values)


def _from_list(make: Callable[[Slice], Value]) -> Function:
    """Returns a function of a list, which may copy it."""

    def call(budget: RenderBudget, value: Value) -> Value:
        items = _elements(value)
        budget.items(len(items))
        return make(items)

    return budgeted(call, ANY)


def _with_element(make: Callable[[Slice, Value], list[Value]]) -> Function:
    """Returns a function of a list and one more element."""

    def call(budget: RenderBudget, value: Value, element: Value) -> Slice:
        items = _elements(value)
        budget.items(len(items) + 1)
        return Slice(make(items, element))

    return budgeted(call, ANY, ANY)


def _concat(budget: RenderBudget, *values: Value) -> Slice:
    result = Slice((), nil=True)
    for value in values:
        items = _elements(value)
        budget.items(len(result) + len(items))
        result.extend(items)
        result.nil = not result
    return result


def _uniq(budget: RenderBudget, value: Value) -> Slice:
    unique = Slice()
    for element in _elements(value):
        if not _contains(budget, unique, element):
            unique.append(element)
    return unique


def _without(budget: RenderBudget, value: Value, *omitted: Value) -> Slice:
    items = _elements(value)
    budget.items(len(items))
    return Slice(element for element in items if not _contains(budget, omitted, element))


def _has(budget: RenderBudget, needle: Value, value: Value) -> bool:
    return value is not None and _contains(budget, _elements(value), needle)


def _slice(budget: RenderBudget, value: Value, *indexes: Value) -> Value:
    items = _elements(value)
    budget.items(len(items))
    if not items:
        return None
    bounds = [to_int(each) for each in indexes[:2]]
    start, end = [*bounds, *(0, len(items))[len(bounds) :]]
    if not 0 <= start <= end <= len(items):
        raise ExecutionError(f"the bounds {start} and {end} are outside of the list")
    return Slice(items[start:end], items.type)


def _chunk(budget: RenderBudget, size: int, value: Value) -> Slice:
    items = _elements(value)
    if size <= 0:
        raise ExecutionError(f"chunks of {size} elements are not possible")
    budget.items(len(items))
    budget.spend(len(items) // size)
    return Slice((Slice(items[start : start + size]) for start in range(0, len(items), size)), SLICE_SLICE)


def _sort_alpha(budget: RenderBudget, value: Value) -> Slice:
    if not isinstance(value, Slice):
        return string_slice([shown(value, budget)])
    if value.type is STRING_SLICE:
        budget.items(len(value))
        # Go sorts such a list in place, which is visible wherever the list is used.
        value.sort()
        return value
    return string_slice(sorted(strings_of(budget, value)))


_append = _with_element(lambda items, element: [*items, element])

_TABLE = {
    "append": _append,
    "chunk": budgeted(_chunk, INT, ANY),
    "compact": _from_list(lambda items: Slice(element for element in items if not is_empty(element))),
    "first": function(lambda value: next(iter(_elements(value)), None), ANY),
    "has": budgeted(_has, ANY, ANY),
    "initial": _from_list(lambda items: Slice(items[:-1], nil=not items)),
    "last": function(lambda value: next(reversed(_elements(value)), None), ANY),
    "prepend": _with_element(lambda items, element: [element, *items]),
    "push": _append,
    "rest": _from_list(lambda items: Slice(items[1:], nil=not items)),
    "reverse": _from_list(lambda items: Slice(items[::-1])),
    "slice": budgeted(_slice, ANY, rest=ANY),
    "uniq": budgeted(_uniq, ANY),
    "without": budgeted(_without, ANY, rest=ANY),
}


def _dict(budget: RenderBudget, *values: Value) -> Map:
    budget.items(len(values))
    keys = [shown(value, budget) for value in values[::2]]
    items = [*values[1::2], b""]
    return Map(dict(zip(keys, items, strict=False)))


def _set(budget: RenderBudget, map_: Map, key: bytes, value: Value) -> Map:
    budget.items(len(map_))
    if map_.nil:
        raise ExecutionError("a nil map cannot be changed")
    map_[key] = value
    return map_


def _unset(map_: Map, key: bytes) -> Map:
    map_.pop(key, None)
    return map_


def _pluck(key: bytes, *maps: Map) -> Slice:
    return Slice(map_[key] for map_ in maps if key in map_)


def _keys(budget: RenderBudget, *maps: Map) -> Slice:
    # Go's order is random; here the keys are sorted.
    budget.items(sum(map(len, maps)))
    return string_slice(key for map_ in maps for key in sorted(map_))


def _values(budget: RenderBudget, map_: Map) -> Slice:
    budget.items(len(map_))
    return Slice(map_[key] for key in sorted(map_))


def _pick(map_: Map, *keys: bytes) -> Map:
    return Map({key: map_[key] for key in keys if key in map_})


def _omit(budget: RenderBudget, map_: Map, *keys: bytes) -> Map:
    budget.items(len(map_))
    return Map({key: value for key, value in map_.items() if key not in keys})


def _dig(*values: Value) -> Value:
    if len(values) < 3:
        raise ExecutionError("`dig` takes at least three arguments")
    *keys, fallback, found = values
    for key in keys:
        if type(key) is not bytes:
            raise ExecutionError(f"a key of `dig` is a string, not a `{type_name(key)}`")
    for key in keys:
        if not is_string_map(found):
            raise ExecutionError(f"a `{type_name(found)}` is not a dictionary")
        if key not in found:
            return fallback
        found = found[key]
    return found


def _deep_copy(budget: RenderBudget, value: Value) -> Value:
    if value is None or (isinstance(value, Struct) and value.type.opaque and value.type.kind == "ptr"):
        raise ExecutionError(f"a `{type_name(value)}` cannot be copied")
    return _copy(budget, value, 0)


def _copy(budget: RenderBudget, value: Value, depth: int) -> Value:
    budget.spend(3 if isinstance(value, Slice | Map) else 1)
    budget.nest(depth)
    if isinstance(value, Slice):
        budget.items(len(value))
        return Slice((_copy(budget, element, depth + 1) for element in value), value.type, nil=value.nil)
    if isinstance(value, Map):
        budget.items(len(value))
        copies = {key: _copy(budget, element, depth + 1) for key, element in value.items()}
        return Map(copies, value.type, nil=value.nil)
    return value


def _merged(*, overwrite: bool) -> Callable[..., Map]:
    def merge(budget: RenderBudget, target: Map, *sources: Map) -> Map:
        merged = Map() if target.nil and any(not source.nil for source in sources) else target
        for source in sources:
            _merge(budget, merged, source, 0, overwrite=overwrite)
        return merged

    return merge


def _merge(budget: RenderBudget, target: Map, source: Map, depth: int, *, overwrite: bool) -> None:
    """Package mergo's deepMerge of maps: fills empty entries or overwrites all; merges nested maps in the same way."""
    budget.spend()
    budget.nest(depth)
    budget.items(len(target) + len(source))
    for key, new in list(source.items()):
        old = target.get(key)
        if new is None:
            if overwrite:
                target[key] = None
            continue
        if isinstance(new, Map) and isinstance(old, Map):
            _merge(budget, _assignable(old, new), new, depth + 1, overwrite=overwrite)
            if not is_empty(old):
                continue
        if overwrite or is_empty(old):
            target[key] = new


def _assignable(target: Map, source: Map) -> Map:
    if target.type is not ANY_MAP and target.type is not source.type and source:
        raise ExecutionError(f"a `{source.type.name}` cannot be merged into a `{target.type.name}`")
    return target


FUNCTIONS: Mapping[str, Function] = {
    **_TABLE,
    # Each has a second name, which returns an error in Go instead of a panic; in a template both fail alike.
    **{f"must{name.capitalize()}": entry for name, entry in _TABLE.items()},
    "concat": budgeted(_concat, rest=ANY),
    "list": budgeted(_list, rest=ANY),
    "sortAlpha": budgeted(_sort_alpha, ANY),
    "tuple": budgeted(_list, rest=ANY),
    "deepCopy": budgeted(_deep_copy, ANY),
    "dict": budgeted(_dict, rest=ANY),
    "dig": function(_dig, rest=ANY),
    "get": function(lambda map_, key: map_.get(key, b""), MAP, STRING),
    "hasKey": function(lambda map_, key: key in map_, MAP, STRING),
    "keys": budgeted(_keys, rest=MAP),
    "merge": budgeted(_merged(overwrite=False), MAP, rest=MAP),
    "mergeOverwrite": budgeted(_merged(overwrite=True), MAP, rest=MAP),
    "mustDeepCopy": budgeted(_deep_copy, ANY),
    "mustMerge": budgeted(_merged(overwrite=False), MAP, rest=MAP),
    "mustMergeOverwrite": budgeted(_merged(overwrite=True), MAP, rest=MAP),
    "omit": budgeted(_omit, MAP, rest=STRING),
    "pick": function(_pick, MAP, rest=STRING),
    "pluck": function(_pluck, STRING, rest=MAP),
    "set": budgeted(_set, MAP, STRING, ANY),
    "unset": function(_unset, MAP, STRING),
    "values": budgeted(_values, MAP),
}
