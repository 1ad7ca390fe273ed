import pytest

from tornado_proxy.templates.golang.sprig.dates import Month
from tornado_proxy.templates.golang.values import (
    ANY_MAP,
    INVALID,
    SLICE_SLICE,
    STRING_MAP,
    STRING_SLICE,
    Int64,
    Map,
    Nil,
    Slice,
    Struct,
    Type,
    Uint8,
    Uint64,
    is_nil,
    is_string_map,
    is_true,
    kind_of,
    string_slice,
    type_name,
    zero,
)

POINTER = Type("*x.Y", "ptr")


@pytest.mark.parametrize(
    ("value", "name", "kind"),
    [
        (b"a", "string", "string"),
        (1, "int", "int"),
        (True, "bool", "bool"),
        (1.5, "float64", "float64"),
        (1j, "complex128", "complex128"),
        (Int64(1), "int64", "int64"),
        (Uint8(1), "uint8", "uint8"),
        (Uint64(1), "uint64", "uint64"),
        (Month(1), "time.Month", "int"),
        (Slice(), "[]interface {}", "slice"),
        (string_slice([]), "[]string", "slice"),
        (Map(), "map[string]interface {}", "map"),
        (Struct(POINTER, None), "*x.Y", "ptr"),
        (Nil(POINTER), "*x.Y", "ptr"),
        (None, "<nil>", "invalid"),
        (INVALID, "<nil>", "invalid"),
    ],
)
def test_values_know_their_type(value, name, kind):
    """As `%T` and package reflect name it."""
    assert (type_name(value), kind_of(value)) == (name, kind)


@pytest.mark.parametrize(
    ("value", "true", "nil"),
    [
        (b"", False, False),
        (b"a", True, False),
        (0, False, False),
        (-1, True, False),
        (0.0, False, False),
        (False, False, False),
        (Slice(), False, False),
        (Slice([0]), True, False),
        (Slice(nil=True), False, True),
        (Map(), False, False),
        (Map(nil=True), False, True),
        (Struct(POINTER, None), True, False),
        (Nil(POINTER), False, True),
        (None, False, True),
        (INVALID, False, True),
    ],
)
def test_what_is_zero_or_empty_is_false(value, true, nil):
    """A struct is true; nil is another question than empty."""
    assert (is_true(value), is_nil(value)) == (true, nil)


def test_the_zero_value_is_that_of_the_type():
    """An interface's is nil, a list's is an unmade one."""
    assert zero(ANY_MAP.element) is None
    assert zero(None) is None
    assert zero(STRING_MAP.element) == b""
    made = zero(Type("map[string][]string", "map", STRING_SLICE).element)
    assert (made, made.type, made.nil) == ([], STRING_SLICE, True)


def test_only_general_maps_are_dictionaries():
    """A map of strings is another type, and so is a list."""
    assert not is_string_map(Map((), STRING_MAP))
    assert not is_string_map(Slice((), SLICE_SLICE))
