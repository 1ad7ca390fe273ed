import pytest

from gotemplate.sprig.dates import Month
from gotemplate.template.values import (
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
def test_values_have_a_type_and_a_kind(value, name, kind):
    """Types have the names of `%T`, and kinds those of package reflect."""
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
def test_zero_and_empty_values_are_false(value, true, nil):
    """A struct is true, and an empty value is not nil."""
    assert (is_true(value), is_nil(value)) == (true, nil)


def test_each_type_has_a_zero_value():
    """The zero value of an interface is nil, and that of a list is a nil list."""
    assert zero(ANY_MAP.element) is None
    assert zero(None) is None
    assert zero(STRING_MAP.element) == b""
    zero_list = zero(Type("map[string][]string", "map", STRING_SLICE).element)
    assert (zero_list, zero_list.type, zero_list.nil) == ([], STRING_SLICE, True)


def test_only_general_maps_are_dictionaries():
    """A map of strings and a list are not dictionaries."""
    assert not is_string_map(Map((), STRING_MAP))
    assert not is_string_map(Slice((), SLICE_SLICE))
