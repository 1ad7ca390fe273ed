"""Go's values in Python: what each type is called, what kind it is, and what is true, nil or empty.

A Go string is `bytes`, an int is `int`, a float64 is `float`, a bool is `bool`, a complex128 is `complex`; other
integer types are subclasses of `int`. A nil interface is None. Slices, maps and structs know their type. `INVALID`
is reflect's zero Value: what a missing map key gives, printed as `<no value>`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tornado_proxy.templates.golang.text import go_string
from tornado_proxy.templates.template import RenderBudget, RenderError

Value: TypeAlias = Any
"""A Go value, or `INVALID`."""


class ExecutionError(RenderError):
    """What Go's Execute returns as an error; `context` is the part of the template that failed, once it is known."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.context: str | None = None

    def __str__(self) -> str:
        return self.message if self.context is None else f"{self.message}, in `{self.context}`"


@dataclass(frozen=True, slots=True, eq=False)
class Type:
    """A Go type: its name as `%T` prints it, its kind as package reflect names it, what a container of it holds."""

    name: str
    kind: str
    element: Type | None = None
    zero: Value = None
    stringer: Callable[[Value], bytes] | None = field(default=None, repr=False)
    methods: Mapping[bytes, Any] = field(default_factory=dict, repr=False)
    """Each a `calling.Function` whose implementation takes the receiver before its arguments."""


BOOL = Type("bool", "bool", zero=False)
INT = Type("int", "int", zero=0)
INT32 = Type("int32", "int32", zero=0)
INT64 = Type("int64", "int64", zero=0)
UINT8 = Type("uint8", "uint8", zero=0)
UINT64 = Type("uint64", "uint64", zero=0)
FLOAT64 = Type("float64", "float64", zero=0.0)
COMPLEX128 = Type("complex128", "complex128", zero=0j)
STRING = Type("string", "string", zero=b"")
ANY = Type("interface {}", "interface")


class Int64(int):
    """An int64."""

    __slots__ = ()


class Int32(int):
    """An int32."""

    __slots__ = ()


class Uint8(int):
    """A uint8, which is what indexing a string gives."""

    __slots__ = ()


class Uint64(int):
    """A uint64."""

    __slots__ = ()


class Invalid:
    """The type of `INVALID`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "INVALID"


INVALID = Invalid()


class Slice(list[Value]):
    """A Go slice; `nil` marks an unmade one, which differs from an empty one."""

    __slots__ = ("nil", "type")

    def __init__(self, elements: Iterable[Value] = (), type: Type | None = None, *, nil: bool = False) -> None:
        super().__init__(elements)
        self.type = type or ANY_SLICE
        self.nil = nil


class Map(dict[Value, Value]):
    """A Go map; `nil` marks an unmade one, which cannot be written to."""

    __slots__ = ("nil", "type")

    def __init__(
        self,
        entries: Mapping[Value, Value] | Iterable[tuple[Value, Value]] = (),
        type: Type | None = None,
        *,
        nil: bool = False,
    ) -> None:
        super().__init__(entries)
        self.type = type or ANY_MAP
        self.nil = nil

    def lookup(self, key: Value) -> Value:
        """The value of a key; `INVALID` where there is none."""
        return self.get(key, INVALID)


class Nil:
    """A nil pointer, or a nil interface that has methods: it knows its type, unlike None."""

    __slots__ = ("type",)

    def __init__(self, type: Type) -> None:
        self.type = type


@dataclass(frozen=True, slots=True, eq=False)
class StructType(Type):
    """A struct, or a pointer to one: `getters` read its fields from the Python object behind it, in Go's order."""

    getters: Mapping[bytes, Callable[[Any], Value]] = field(default_factory=dict, repr=False)
    json: Callable[[Any], bytes] | None = field(default=None, repr=False)
    """Its form in JSON, if that is a string."""
    opaque: bool = False
    """Whether it has fields in Go that no getter reads, so that it cannot be written as a whole."""


class Struct:
    """A value of a struct type, or what a pointer to one points to; two are one value if their source is one.

    `boxed` says that an interface with methods holds it: an action then prints a pointer as such.
    """

    __slots__ = ("boxed", "source", "type")

    def __init__(self, type: StructType, source: Any, *, boxed: bool = False) -> None:
        self.type = type
        self.source = source
        self.boxed = boxed


ANY_SLICE = Type("[]interface {}", "slice", ANY)
STRING_SLICE = Type("[]string", "slice", STRING)
INT_SLICE = Type("[]int", "slice", INT)
SLICE_SLICE = Type("[][]interface {}", "slice", ANY_SLICE)
ANY_MAP = Type("map[string]interface {}", "map", ANY)
STRING_MAP = Type("map[string]string", "map", STRING)

_PLAIN_TYPES: dict[type, Type] = {
    bytes: STRING,
    int: INT,
    bool: BOOL,
    float: FLOAT64,
    complex: COMPLEX128,
    Int64: INT64,
    Int32: INT32,
    Uint8: UINT8,
    Uint64: UINT64,
}


def named_integer(cls: type[int], of: Type) -> None:
    """Make a subclass of `int` the Python face of a named integer type, such as time.Month."""
    _PLAIN_TYPES[cls] = of


def type_of(value: Value) -> Type:
    """The type of a value that is neither None nor `INVALID`."""
    plain = _PLAIN_TYPES.get(type(value))
    return value.type if plain is None else plain


def kind_of(value: Value) -> str:
    """The kind of a value, `invalid` for None and `INVALID`."""
    return "invalid" if value is None or value is INVALID else type_of(value).kind


def type_name(value: Value) -> str:
    """The type's name as `%T` prints it."""
    return "<nil>" if value is None or value is INVALID else type_of(value).name


def is_nil(value: Value) -> bool:
    """Whether a value is nil of its type, or no value at all."""
    return value is None or value is INVALID or isinstance(value, Nil) or (isinstance(value, Slice | Map) and value.nil)


def is_true(value: Value) -> bool:
    """Truth as `if` sees it: what is zero, nil or empty is false; a struct is true."""
    return False if value is INVALID or isinstance(value, Nil) else isinstance(value, Struct) or bool(value)


def zero(element: Type | None) -> Value:
    """The zero value of a container's element type."""
    if element is None or element.kind == "interface":
        return None
    if element.kind == "slice":
        return Slice((), element, nil=True)
    return element.zero


def is_string_map(value: Value) -> bool:
    """Whether a value is a map[string]interface{}, which is what most dict functions take."""
    return isinstance(value, Map) and value.type is ANY_MAP


def string_slice(strings: Iterable[bytes]) -> Slice:
    """A []string."""
    return Slice(strings, STRING_SLICE)


def from_json(value: Any, budget: RenderBudget, depth: int = 0) -> Value:
    """The Go value of a decoded JSON text: objects are map[string]any, arrays []any, ints are int, floats float64."""
    budget.nest(depth)
    match value:
        case str():
            return go_string(value)
        case dict():
            budget.items(len(value))
            return Map({go_string(str(key)): from_json(item, budget, depth + 1) for key, item in value.items()})
        case list():
            budget.items(len(value))
            return Slice([from_json(item, budget, depth + 1) for item in value])
        case None | bool() | int() | float():
            return value
    raise ExecutionError(f"a `{type(value).__name__}` is not a JSON value")
