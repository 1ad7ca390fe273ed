"""Lists and dictionaries (sprig's list.go and dict.go)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gotemplate.sprig.basics import to_int
from gotemplate.sprig.strings import strings_of
from gotemplate.template import values as go
from gotemplate.template.calling import ANY, INT, MAP, STRING, Function, budgeted, function
from gotemplate.template.errors import RenderBudget
from gotemplate.template.formatting import shown


def _elements(value: go.Value) -> go.Slice:
    if isinstance(value, go.Slice):
        return value
    raise go.ExecutionError(f"`{go.type_name(value)}` is not a list")


def _contains(budget: RenderBudget, haystack: Sequence[go.Value], needle: go.Value) -> bool:
    return any(go.deep_equal(budget, needle, element) for element in haystack)


def _list(budget: RenderBudget, *values: go.Value) -> go.Slice:
    budget.items(len(values))
    return go.Slice(values)


def _from_list(make: Callable[[go.Slice], go.Value]) -> Function:
    def call(budget: RenderBudget, value: go.Value) -> go.Value:
        items = _elements(value)
        budget.items(len(items))
        return make(items)

    return budgeted(call, ANY)


def _with_element(make: Callable[[go.Slice, go.Value], list[go.Value]]) -> Function:
    def call(budget: RenderBudget, value: go.Value, element: go.Value) -> go.Slice:
        items = _elements(value)
        budget.items(len(items) + 1)
        return go.Slice(make(items, element))

    return budgeted(call, ANY, ANY)


def _concat(budget: RenderBudget, *values: go.Value) -> go.Slice:
    result = go.Slice((), nil=True)
    for value in values:
        items = _elements(value)
        budget.items(len(result) + len(items))
        result.extend(items)
        result.nil = not result
    return result


def _uniq(budget: RenderBudget, value: go.Value) -> go.Slice:
    unique = go.Slice()
    for element in _elements(value):
        if not _contains(budget, unique, element):
            unique.append(element)
    return unique


def _without(budget: RenderBudget, value: go.Value, *omitted: go.Value) -> go.Slice:
    items = _elements(value)
    budget.items(len(items))
    return go.Slice(element for element in items if not _contains(budget, omitted, element))


def _slice(budget: RenderBudget, value: go.Value, *indexes: go.Value) -> go.Value:
    items = _elements(value)
    budget.items(len(items))
    if not items:
        return None
    bounds = [to_int(each) for each in indexes[:2]]
    start, end = [*bounds, *(0, len(items))[len(bounds) :]]
    if not 0 <= start <= end <= len(items):
        raise go.ExecutionError(f"the bounds {start} and {end} are outside of the list")
    return go.Slice(items[start:end], items.type)


def _chunk(budget: RenderBudget, size: int, value: go.Value) -> go.Slice:
    items = _elements(value)
    if size <= 0:
        raise go.ExecutionError(f"chunks of {size} elements are not possible")
    budget.items(len(items))
    budget.spend(len(items) // size)
    return go.Slice((go.Slice(items[start : start + size]) for start in range(0, len(items), size)), go.SLICE_SLICE)


def _sort_alpha(budget: RenderBudget, value: go.Value) -> go.Slice:
    if not isinstance(value, go.Slice):
        return go.string_slice([shown(value, budget)])
    if value.type is go.STRING_SLICE:
        budget.items(len(value))
        # Go sorts such a list in place, which is visible wherever the list is used.
        value.sort()
        return value
    return go.string_slice(sorted(strings_of(budget, value)))


def _dict(budget: RenderBudget, *values: go.Value) -> go.Map:
    budget.items(len(values))
    keys = [shown(value, budget) for value in values[::2]]
    items = [*values[1::2], b""]
    return go.Map(dict(zip(keys, items, strict=False)))


def _set(budget: RenderBudget, map_: go.Map, key: bytes, value: go.Value) -> go.Map:
    budget.items(len(map_))
    if map_.nil:
        raise go.ExecutionError("a nil map cannot be changed")
    map_[key] = value
    return map_


def _unset(map_: go.Map, key: bytes) -> go.Map:
    map_.pop(key, None)
    return map_


def _keys(budget: RenderBudget, *maps: go.Map) -> go.Slice:
    # Go's order is random; here the keys are sorted.
    budget.items(sum(map(len, maps)))
    return go.string_slice(key for map_ in maps for key in sorted(map_))


def _values(budget: RenderBudget, map_: go.Map) -> go.Slice:
    budget.items(len(map_))
    return go.Slice(map_[key] for key in sorted(map_))


def _omit(budget: RenderBudget, map_: go.Map, *keys: bytes) -> go.Map:
    budget.items(len(map_))
    return go.Map({key: value for key, value in map_.items() if key not in keys})


def _dig(*values: go.Value) -> go.Value:
    if len(values) < 3:
        raise go.ExecutionError("`dig` takes at least three arguments")
    *keys, fallback, value = values
    for key in keys:
        if type(key) is not bytes:
            raise go.ExecutionError(f"a key of `dig` is a string, not `{go.type_name(key)}`")
    for key in keys:
        if not go.is_string_map(value):
            raise go.ExecutionError(f"`{go.type_name(value)}` is not a dictionary")
        if key not in value:
            return fallback
        value = value[key]
    return value


def _deep_copy(budget: RenderBudget, value: go.Value) -> go.Value:
    if value is None or (isinstance(value, go.Struct) and value.type.opaque and value.type.kind == "ptr"):
        raise go.ExecutionError(f"`{go.type_name(value)}` cannot be copied")
    return _copy(budget, value, 0)


def _copy(budget: RenderBudget, value: go.Value, depth: int) -> go.Value:
    budget.spend(3 if isinstance(value, go.Slice | go.Map) else 1)
    budget.nest(depth)
    if isinstance(value, go.Slice):
        budget.items(len(value))
        return go.Slice((_copy(budget, element, depth + 1) for element in value), value.type, nil=value.nil)
    if isinstance(value, go.Map):
        budget.items(len(value))
        copies = {key: _copy(budget, element, depth + 1) for key, element in value.items()}
        return go.Map(copies, value.type, nil=value.nil)
    return value


def _merged(*, overwrite: bool) -> Function:
    def merge(budget: RenderBudget, target: go.Map, *sources: go.Map) -> go.Map:
        merged = go.Map() if target.nil and any(not source.nil for source in sources) else target
        for source in sources:
            _merge(budget, merged, source, 0, overwrite=overwrite)
        return merged

    return budgeted(merge, MAP, rest=MAP)


def _merge(budget: RenderBudget, target: go.Map, source: go.Map, depth: int, *, overwrite: bool) -> None:
    """Package mergo's deepMerge of maps: fills empty entries or overwrites all; merges nested maps in the same way."""
    budget.spend()
    budget.nest(depth)
    budget.items(len(target) + len(source))
    for key, new in list(source.items()):
        old = target.get(key)
        is_pointer = isinstance(old, go.Struct) and old.type.kind == "ptr"
        points_too = isinstance(new, go.Struct) and new.type.kind == "ptr"
        if is_pointer and (points_too or (not overwrite and isinstance(new, go.Struct | go.Map))):
            # Of two pointers, mergo would write fields of what one leads to, such as the request's URL. Else it fails
            # unless it overwrites the pointer itself; sprig makes that failure an empty text, which would hide it.
            kinds = f"`{go.type_name(new)}` cannot be merged into `{go.type_name(old)}`"
            raise go.ExecutionError(f"{kinds}: only dictionaries can")
        if isinstance(new, go.Map) and isinstance(old, go.Map):
            _merge(budget, old, new, depth + 1, overwrite=overwrite)
            if go.is_true(old):
                continue
        if overwrite or (new is not None and not go.is_true(old)):
            if target.type.element not in (go.ANY, source.type.element):
                raise go.ExecutionError(f"`{source.type.name}` cannot be merged into `{target.type.name}`")
            target[key] = new


_append = _with_element(lambda items, element: [*items, element])

_TABLE = {
    "append": _append,
    "chunk": budgeted(_chunk, INT, ANY),
    "compact": _from_list(lambda items: go.Slice(element for element in items if go.is_true(element))),
    "deepCopy": budgeted(_deep_copy, ANY),
    "first": function(lambda value: next(iter(_elements(value)), None), ANY),
    "has": budgeted(
        lambda budget, needle, value: value is not None and _contains(budget, _elements(value), needle), ANY, ANY
    ),
    "initial": _from_list(lambda items: go.Slice(items[:-1], nil=not items)),
    "last": function(lambda value: next(reversed(_elements(value)), None), ANY),
    "merge": _merged(overwrite=False),
    "mergeOverwrite": _merged(overwrite=True),
    "prepend": _with_element(lambda items, element: [element, *items]),
    "push": _append,
    "rest": _from_list(lambda items: go.Slice(items[1:], nil=not items)),
    "reverse": _from_list(lambda items: go.Slice(items[::-1])),
    "slice": budgeted(_slice, ANY, rest=ANY),
    "uniq": budgeted(_uniq, ANY),
    "without": budgeted(_without, ANY, rest=ANY),
}

FUNCTIONS: Mapping[str, Function] = {
    **_TABLE,
    # Each has a second name, which returns an error in Go instead of a panic; in a template both fail alike.
    **{f"must{name[0].upper()}{name[1:]}": entry for name, entry in _TABLE.items()},
    "concat": budgeted(_concat, rest=ANY),
    "list": budgeted(_list, rest=ANY),
    "sortAlpha": budgeted(_sort_alpha, ANY),
    "tuple": budgeted(_list, rest=ANY),
    "dict": budgeted(_dict, rest=ANY),
    "dig": function(_dig, rest=ANY),
    "get": function(lambda map_, key: map_.get(key, b""), MAP, STRING),
    "hasKey": function(lambda map_, key: key in map_, MAP, STRING),
    "keys": budgeted(_keys, rest=MAP),
    "omit": budgeted(_omit, MAP, rest=STRING),
    "pick": function(lambda map_, *keys: go.Map({key: map_[key] for key in keys if key in map_}), MAP, rest=STRING),
    "pluck": function(lambda key, *maps: go.Slice(map_[key] for map_ in maps if key in map_), STRING, rest=MAP),
    "set": budgeted(_set, MAP, STRING, ANY),
    "unset": function(_unset, MAP, STRING),
    "values": budgeted(_values, MAP),
}
