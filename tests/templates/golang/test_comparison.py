import pytest
from go_programs import budget

from tornado_proxy.templates.golang.comparison import deep_equal, eq, ge, gt, le, lt, ne
from tornado_proxy.templates.golang.failures import ExecutionError
from tornado_proxy.templates.golang.values import (
    INVALID,
    Int64,
    Map,
    Nil,
    Slice,
    Struct,
    StructType,
    Type,
    Uint8,
    string_slice,
)

POINTER, VALUE = StructType("*x.Y", "ptr"), StructType("x.Z", "struct")
SOURCE = ("source",)
NOBODY = Nil(Type("x.User", "interface"))


@pytest.mark.parametrize(
    ("first", "others", "equal"),
    [
        (1, [1], True),
        (1, [2, 1], True),
        (1, [Int64(1)], True),
        (1, [Uint8(1)], True),
        (b"a", [b"b"], False),
        (1.0, [1.0], True),
        (1j, [1j], True),
        (True, [False], False),
        (1, [None], False),
        (INVALID, [1], False),
        (None, [INVALID], True),
        (NOBODY, [None], True),
        (NOBODY, [b"x"], False),
        (None, [Slice()], False),
        (Slice(nil=True), [None], True),
        (Slice(nil=True), [Slice()], False),
        (Struct(POINTER, SOURCE), [Struct(POINTER, SOURCE)], True),
        (Struct(POINTER, [1]), [Struct(POINTER, [1])], False),
        (Struct(VALUE, (1,)), [Struct(VALUE, (1,))], True),
        (Struct(POINTER, SOURCE), [Struct(StructType("*x.A", "ptr"), SOURCE)], False),
    ],
)
def test_equality_asks_for_one_kind(first, others, equal):
    """Integers of any size are one kind; nil equals nil."""
    assert eq(first, *others) is equal


@pytest.mark.parametrize(
    ("first", "others", "message"),
    [
        (1, [], "there is nothing to compare with"),
        (1, [1.0], "a `int` cannot be compared with a `float64`"),
        (b"a", [1], "a `string` cannot be compared with a `int`"),
        (True, [1], "a `bool` cannot be compared with a `int`"),
        (Slice(nil=True), [Nil(POINTER)], "a `[]interface {}` cannot be compared with a `*x.Y`"),
        (Slice(), [1], "a `[]interface {}` cannot be compared with a `int`"),
        (Slice(), [Map()], "a `[]interface {}` cannot be compared with a `map[string]interface {}`"),
        (Slice(), [Slice()], "values of type `[]interface {}` cannot be compared"),
    ],
)
def test_what_cannot_be_compared_fails(first, others, message):
    """Values of two kinds, and lists and maps."""
    with pytest.raises(ExecutionError) as caught:
        eq(first, *others)
    assert str(caught.value) == message


@pytest.mark.parametrize(("first", "other"), [(1, 2), (b"a", b"b"), (1.5, 2.5), (-1, Uint8(1)), (b"A", b"a")])
def test_order_is_that_of_numbers_and_bytes(first, other):
    """Each comparison agrees with the others."""
    assert (lt(first, other), le(first, other), gt(first, other), ge(first, other)) == (True, True, False, False)
    assert (lt(other, first), le(first, first), ge(first, first), ne(first, other)) == (False, True, True, True)


@pytest.mark.parametrize(
    ("first", "other", "message"),
    [
        (1, 1.5, "a `int` cannot be compared with a `float64`"),
        (True, False, "values of type `bool` have no order"),
        (1j, 2j, "values of type `complex128` have no order"),
        (Slice(), Slice(), "values of type `[]interface {}` have no order"),
        (1, None, "values of type `<nil>` have no order"),
    ],
)
def test_what_has_no_order_fails(first, other, message):
    """Only numbers and strings have one."""
    with pytest.raises(ExecutionError) as caught:
        lt(first, other)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("first", "other", "equal"),
    [
        (1, 1, True),
        (1, Int64(1), False),
        (b"a", b"a", True),
        (None, None, True),
        (None, 1, False),
        (Slice([1, Slice([2])]), Slice([1, Slice([2])]), True),
        (Slice([1]), Slice([2]), False),
        (Slice([1]), Slice([1, 2]), False),
        (Slice(), Slice(nil=True), False),
        (Slice([b"a"]), string_slice([b"a"]), False),
        (Map({b"a": 1}), Map({b"a": 1}), True),
        (Map({b"a": 1}), Map({b"b": 1}), False),
        (Map({b"a": 1}), Map({b"a": 2}), False),
        (Map(), Map(nil=True), False),
        (Struct(POINTER, [1]), Struct(POINTER, [1]), True),
    ],
)
def test_deep_equality_asks_for_one_type(first, other, equal):
    """And for equal content, however deep; what is unmade is not empty."""
    assert deep_equal(budget(), first, other) is equal
