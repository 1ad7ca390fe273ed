import pytest
from go_programs import GO, HELM, budget, failure

from gotemplate.template.standard import STANDARD
from gotemplate.template.values import INVALID, ExecutionError, Map, Nil, Slice, Struct, Type, deep_equal, string_slice

eq, ge, gt, le, lt, ne = (STANDARD[name].call for name in ("eq", "ge", "gt", "le", "lt", "ne"))
POINTER, VALUE = Type("*x.Y", "ptr"), Type("x.Z", "struct")
SOURCE = ("source",)
NIL_INTERFACE = Nil(Type("x.User", "interface"))


@pytest.mark.parametrize(
    ("first", "operands", "equal"),
    [
        (INVALID, [1], False),
        (None, [INVALID], True),
        (NIL_INTERFACE, [None], True),
        (NIL_INTERFACE, [b"x"], False),
        (None, [Slice()], False),
        (Slice(nil=True), [None], True),
        (Slice(nil=True), [Slice()], False),
        (Struct(POINTER, SOURCE), [Struct(POINTER, SOURCE)], True),
        (Struct(POINTER, [1]), [Struct(POINTER, [1])], False),
        (Struct(VALUE, (1,)), [Struct(VALUE, (1,))], True),
        (Struct(POINTER, SOURCE), [Struct(Type("*x.A", "ptr"), SOURCE)], False),
    ],
)
def test_values_of_one_kind_are_compared(first, operands, equal):
    """Integers of any size are of one kind, and nil equals nil."""
    assert eq(first, *operands) is equal


@pytest.mark.parametrize(
    ("compare", "operands", "message"),
    [
        (eq, [1], "there is nothing to compare with"),
        (eq, [1, 1.0], "`int` cannot be compared with `float64`"),
        (eq, [b"a", 1], "`string` cannot be compared with `int`"),
        (eq, [True, 1], "`bool` cannot be compared with `int`"),
        (eq, [Slice(nil=True), Nil(POINTER)], "`[]interface {}` cannot be compared with `*x.Y`"),
        (eq, [Slice(), 1], "`[]interface {}` cannot be compared with `int`"),
        (eq, [Slice(), Map()], "`[]interface {}` cannot be compared with `map[string]interface {}`"),
        (eq, [Slice(), Slice()], "values of type `[]interface {}` cannot be compared"),
        (lt, [1, 1.5], "`int` cannot be compared with `float64`"),
        (lt, [True, False], "values of type `bool` have no order"),
        (lt, [1j, 2j], "values of type `complex128` have no order"),
        (lt, [Slice(), Slice()], "values of type `[]interface {}` have no order"),
        (lt, [1, None], "values of type `<nil>` have no order"),
    ],
)
def test_values_that_cannot_be_compared_fail(compare, operands, message):
    with pytest.raises(ExecutionError) as caught:
        compare(*operands)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("first", "other", "equal"),
    [
        (None, 1, False),
        (Slice(), Slice(nil=True), False),
        (Slice([b"a"]), string_slice([b"a"]), False),
        (Map({b"a": 1}), Map({b"b": 1}), False),
        (Map({b"a": 1}), Map({b"a": 2}), False),
        (Map(), Map(nil=True), False),
        (Struct(POINTER, [1]), Struct(POINTER, [1]), True),
        (Nil(POINTER), Nil(POINTER), True),
        (Struct(POINTER, [1]), Nil(POINTER), False),
        (Nil(POINTER), Struct(POINTER, [1]), False),
    ],
)
def test_deep_equality_needs_one_type(first, other, equal):
    """Values of one type with equal contents are deeply equal, and a nil list is not an empty one."""
    assert deep_equal(budget(), first, other) is equal


@pytest.mark.parametrize(
    ("text", "escaped"),
    [(b"\n\x00\x7f", b"\\u000A\\u0000\x7f"), ("é\u2028".encode(), "é\\u2028".encode()), (b"\xff", b"\xff")],
)
def test_javascript_strings_are_escaped(text, escaped):
    """The function `js` escapes unprintable characters, except bytes that aren't UTF-8."""
    assert STANDARD["js"].call(budget(), text) == escaped


DATA = {"L": [1, [2, 3]], "M": {"a": {"b": 5}}, "S": "aé", "N": None, "E": {}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{index nil 1}}", "there is no value to index"),
        ("{{index .L 2}}", "the index 2 is out of range"),
        ("{{index .L -1}}", "the index -1 is out of range"),
        ('{{index .L "a"}}', "an index is an integer, not `string`"),
        ("{{index .L true}}", "an index is an integer, not `bool`"),
        ("{{index .L nil}}", "an index is an integer, not `<nil>`"),
        ("{{index .M 1}}", "a map's key is a string, not `int`"),
        ("{{index .L 0 0}}", "`int` cannot be indexed"),
        ('{{index .M "x" 1}}', "`<nil>` cannot be indexed"),
        ("{{len 1}}", "`int` has no length"),
        ("{{len .N}}", "`<nil>` has no length"),
        ("{{slice nil}}", "`<nil>` cannot be sliced"),
        ("{{slice .M}}", "`map[string]interface {}` cannot be sliced"),
        ("{{slice .S 1 2 3}}", "3 indexes are too many"),
        ("{{slice .L 1 2 2 2}}", "4 indexes are too many"),
        ("{{slice .L 2 1}}", "the indexes of a slice must not decrease"),
        ("{{slice .L 3}}", "the index 3 is out of range"),
        ("{{slice .L 0 2 1}}", "the indexes of a slice must not decrease"),
        ("{{call .N}}", "`<nil>` is not a function"),
        ("{{call .S 1}}", "`string` is not a function"),
    ],
)
def test_go_s_functions_fail_as_in_go(text, message):
    assert failure(text, DATA, GO).startswith(message)


def test_the_functions_of_the_evaluator_are_in_the_vocabulary():
    """Functions that the evaluator runs itself are in the vocabulary, so that their arguments are checked."""
    assert {"and", "or"} <= set(GO.functions)
    assert {"include", "tpl"} <= set(HELM.functions)
