"""Go's values in Python: their types, names and kinds, comparison, and the rules for true, nil and empty.

A Go string is `bytes`, an int is `int`, a float64 is `float`, a bool is `bool`, a complex128 is `complex`; other
integer types are subclasses of `int`. A nil interface is None. Slices, maps and structs know their type. `INVALID` is
reflect's zero Value: the result of reading a missing map key, printed as `<no value>`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from gotemplate.template.errors import RenderBudget, RenderError
from gotemplate.template.text import go_string

Value: TypeAlias = Any  # a Go value, or `INVALID`
Entries: TypeAlias = Mapping[Value, Value] | Iterable[tuple[Value, Value]]


class ExecutionError(RenderError):
    """The error that Go's Execute returns; `context` is the part that failed, None until it is known."""

    def __init__(self, message: str, context: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.context = context

    def __str__(self) -> str:
        return self.message if self.context is None else f"{self.message}, in `{self.context}`"


@dataclass(frozen=True, slots=True, eq=False)
class Type:
    """A Go type: its name as `%T` prints it, its kind as package reflect names it, and the type of its elements.

    Only containers have an element type, and only types of elements a `zero`. `getters` read the fields of a struct, or
    of the struct that a pointer points to, from the Python object behind it, in Go's order.
    """

    name: str
    kind: str
    element: Type | None = None
    zero: Value = None
    stringer: Callable[[Value], bytes] | None = field(default=None, repr=False)
    methods: Mapping[bytes, Any] = field(default_factory=dict, repr=False)
    """The methods by name: instances of `calling.Function` whose first argument is the receiver."""
    getters: Mapping[bytes, Callable[[Any], Value]] = field(default_factory=dict, repr=False)
    json: Callable[[Any], bytes] | None = field(default=None, repr=False)
    """Returns the text of a value whose JSON is a string; None for other types."""
    opaque: bool = False
    """Whether the type has fields in Go that no getter reads, so that a value cannot be written as a whole."""


INT = Type("int", "int", zero=0)
STRING = Type("string", "string", zero=b"")
ANY = Type("interface {}", "interface")


class Int64(int):
    """An int64."""


class Uint8(int):
    """A uint8, the result of indexing a string."""


class Uint64(int):
    """A uint64."""


INVALID: Any = object()


class Slice(list[Value]):
    """A Go slice; `nil` marks a nil slice, which differs from an empty one."""

    def __init__(self, elements: Iterable[Value] = (), type: Type | None = None, *, nil: bool = False) -> None:
        super().__init__(elements)
        self.type = type or ANY_SLICE
        self.nil = nil


class Map(dict[Value, Value]):
    """A Go map; `nil` marks a nil map, which cannot be written to."""

    is_closed: ClassVar[bool] = False  # whether a subclass refuses names that it lacks, when they are read

    def __init__(self, entries: Entries = (), type: Type | None = None, *, nil: bool = False) -> None:
        super().__init__(entries)
        self.type = type or ANY_MAP
        self.nil = nil

    def lookup(self, key: Value) -> Value:
        """Returns the value of a key, or `INVALID` without one."""
        return self.get(key, INVALID)


class Nil:
    """A nil pointer, or a nil interface with methods; unlike None, it has a type."""

    def __init__(self, type: Type) -> None:
        self.type = type


class Struct:
    """A struct, or what a pointer points to; one that is `boxed` in an interface with methods prints as a pointer."""

    def __init__(self, type: Type, source: Any, *, boxed: bool = False) -> None:
        self.type = type
        self.source = source
        self.boxed = boxed


def from_python(value: Any, budget: RenderBudget, depth: int = 0) -> Value:
    """Returns None, a number or bytes as it is, a str as a string, a list as []any and a mapping as map[string]any."""
    budget.nest(depth)
    match value:
        case None | int() | float() | bytes():
            return value
        case str():
            return go_string(value)
        case Mapping():
            budget.items(len(value))
            return Map({go_string(str(key)): from_python(item, budget, depth + 1) for key, item in value.items()})
        case list() | tuple():
            budget.items(len(value))
            return Slice([from_python(item, budget, depth + 1) for item in value])
    raise ExecutionError(f"`{type(value).__name__}` is not a value of a template")


ANY_SLICE = Type("[]interface {}", "slice", ANY)
STRING_SLICE = Type("[]string", "slice", STRING)
INT_SLICE = Type("[]int", "slice", INT)
SLICE_SLICE = Type("[][]interface {}", "slice", ANY_SLICE)
ANY_MAP = Type("map[string]interface {}", "map", ANY)
STRING_MAP = Type("map[string]string", "map", STRING)

PLAIN_TYPES: dict[type, Type] = {
    bytes: STRING,
    int: INT,
    bool: Type("bool", "bool"),
    float: Type("float64", "float64"),
    complex: Type("complex128", "complex128"),
    Int64: Type("int64", "int64"),
    Uint8: Type("uint8", "uint8"),
    Uint64: Type("uint64", "uint64"),
}
"""The types of values that do not know theirs; subclasses of `int` are added, such as time.Month."""


def type_of(value: Value) -> Type:
    """Returns the type of a value that is neither None nor `INVALID`."""
    plain = PLAIN_TYPES.get(type(value))
    return value.type if plain is None else plain


def kind_of(value: Value) -> str:
    """Returns the kind of a value, `invalid` for None and `INVALID`."""
    return "invalid" if _no_value(value) else type_of(value).kind


def type_name(value: Value) -> str:
    """Returns the name of a value's type as `%T` prints it."""
    return "<nil>" if _no_value(value) else type_of(value).name


def is_nil(value: Value) -> bool:
    """Whether a value is nil of its type, or no value at all."""
    return value is None or value is INVALID or isinstance(value, Nil) or (isinstance(value, Slice | Map) and value.nil)


def is_true(value: Value) -> bool:
    """Whether `if` treats a value as true: zero, nil and empty values are false, a struct is true."""
    return False if value is INVALID or isinstance(value, Nil) else isinstance(value, Struct) or bool(value)


def zero(element: Type | None) -> Value:
    """Returns the zero value of a container's element type."""
    if element is None or element.kind == "interface":
        return None
    if element.kind == "slice":
        return Slice((), element, nil=True)
    return element.zero


def is_string_map(value: Value) -> bool:
    """Whether a value is a map[string]interface{}, which most dict functions accept."""
    return isinstance(value, Map) and value.type is ANY_MAP


def string_slice(strings: Iterable[bytes]) -> Slice:
    """Returns a []string."""
    return Slice(strings, STRING_SLICE)


_BASIC = frozenset(("bool", "int", "float", "complex", "string"))


def _basic(value: Value) -> str | None:
    """Returns the kind of a value that can be compared, or None; all integers are of one, as in Go since 1.18."""
    kind = "" if is_nil(value) else type_of(value).kind.strip("u0123456789")
    return kind if kind in _BASIC else None


def equal(first: Value, other: Value) -> bool:
    """Whether two values are equal (the function eq of text/template)."""
    kind, other_kind = _basic(first), _basic(other)
    if kind is None and other_kind is None:
        return _same(first, other)
    if kind == other_kind:
        return bool(first == other)
    if _invalid(first) or _invalid(other):
        return False
    raise ExecutionError(f"`{type_name(first)}` cannot be compared with `{type_name(other)}`")


def _same(first: Value, other: Value) -> bool:
    """Whether two values are equal if neither of them is a number, a string or a bool."""
    nils = is_nil(first), is_nil(other)
    if _no_value(first) or _no_value(other):
        # A comparison with nil asks only whether there is a user, so it must not read anything from the user.
        return all(nils)
    if not _invalid(first) and not _invalid(other) and kind_of(first) != kind_of(other):
        raise ExecutionError(f"`{type_name(first)}` cannot be compared with `{type_name(other)}`")
    if any(nils):
        return all(nils)
    if isinstance(other, Slice | Map):
        raise ExecutionError(f"values of type `{type_name(other)}` cannot be compared")
    if first.type is not other.type:
        return False
    return first.source is other.source if first.type.kind == "ptr" else bool(first.source == other.source)


def _no_value(value: Value) -> bool:
    return value is None or value is INVALID


def _invalid(value: Value) -> bool:
    """Whether reflection sees no value, which includes nil interfaces."""
    return _no_value(value) or (isinstance(value, Nil) and value.type.kind == "interface")


def less(first: Value, other: Value) -> bool:
    """Whether one value is less than another (the function lt of text/template)."""
    for value in (first, other):
        if _basic(value) not in ("int", "float", "string"):
            raise ExecutionError(f"values of type `{type_name(value)}` have no order")
    if _basic(first) != _basic(other):
        raise ExecutionError(f"`{type_name(first)}` cannot be compared with `{type_name(other)}`")
    return bool(first < other)


def deep_equal(budget: RenderBudget, first: Value, other: Value, depth: int = 0) -> bool:
    """Whether types and, at every depth, contents are equal (reflect.DeepEqual); a nil list is no empty one."""
    budget.spend()
    budget.nest(depth)
    if first is None or other is None:
        # type_name raises an error for an absent user, which must not be equal to a nil silently.
        return type_name(first) == type_name(other)
    if type_of(first) is not type_of(other):
        return False
    if not isinstance(first, Slice | Map):
        both = isinstance(first, Struct) and isinstance(other, Struct)
        same = first.source == other.source if both else isinstance(first, Nil) or first == other
        return type(first) is type(other) and bool(same)
    if first.nil != other.nil or len(first) != len(other):
        return False
    if isinstance(first, Map):
        if first.keys() != other.keys():
            return False
        first, other = list(first.values()), [other[key] for key in first]
    return all(deep_equal(budget, one, another, depth + 1) for one, another in zip(first, other, strict=True))
