import pytest
from go_programs import budget

from tornado_proxy.templates.golang.calling import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    MAP,
    REFLECTED,
    STRING,
    Vocabulary,
    budgeted,
    call_method,
    function,
    ideal,
    method_of,
    read,
)
from tornado_proxy.templates.golang.nodes import Constant
from tornado_proxy.templates.golang.numbers import Number, number
from tornado_proxy.templates.golang.sprig.dates import FUNCTIONS as DATES
from tornado_proxy.templates.golang.sprig.semver import VERSION
from tornado_proxy.templates.golang.standard import STANDARD
from tornado_proxy.templates.golang.values import (
    INVALID,
    STRING_MAP,
    ExecutionError,
    Int64,
    Map,
    Nil,
    Struct,
    Type,
)

TEXT = Constant(0, 0, b"a")
ONE = Constant(0, 0, number("1"))
HALF = Constant(0, 0, number("0.5"))
HUGE = Constant(0, 0, number("18446744073709551615"))
IMAGINARY = Constant(0, 0, number("2i"))
LETTER = Constant(0, 0, Number("'a'", 97, 97.0))
YES = Constant(0, 0, True)
NIL = Constant(0, 0, None)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [(STRING, b"a"), (INT, 1), (FLOAT, 1.5), (BOOL, True), (MAP, Map()), (ANY, 1), (ANY, None), (REFLECTED, INVALID)],
)
def test_a_value_of_its_type_is_taken_as_it_is(parameter, value):
    """A parameter returns a value of its own type unchanged."""
    assert parameter.convert(value) is value


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        (STRING, 1, "a `string` is expected, not a `int`"),
        (STRING, INVALID, "there is no value where a `string` is expected"),
        (STRING, None, "a `string` is expected, not a `<nil>`"),
        (INT, True, "a `int` is expected, not a `bool`"),
        (INT, Int64(1), "a `int` is expected, not a `int64`"),
        (FLOAT, 1, "a `float64` is expected, not a `int`"),
        (MAP, Map((), STRING_MAP), "a `map[string]interface {}` is expected, not a `map[string]string`"),
    ],
)
def test_a_value_of_another_type_is_refused(parameter, value, message):
    """Go's types do not mix, integers of different size neither."""
    with pytest.raises(ExecutionError) as caught:
        parameter.convert(value)
    assert str(caught.value) == message


def test_no_value_is_nil_where_nil_can_be():
    """An interface is nil then, and a map unmade."""
    assert ANY.convert(INVALID) is None
    assert MAP.convert(INVALID).nil


def test_an_interface_with_methods_loses_them_as_an_argument():
    """A nil one is nil, and a pointer no longer boxed."""
    pointer = Struct(Type("*x.Y", "ptr"), "source", boxed=True)
    assert ANY.convert(Nil(Type("x.Z", "interface"))) is None
    assert (ANY.convert(pointer).boxed, ANY.convert(pointer).source) == (False, "source")
    kept = Nil(Type("*x.Y", "ptr"))
    assert ANY.convert(kept) is kept


@pytest.mark.parametrize(
    ("parameter", "literal", "value"),
    [
        (STRING, TEXT, b"a"),
        (INT, ONE, 1),
        (INT, LETTER, 97),
        (FLOAT, ONE, 1.0),
        (FLOAT, HALF, 0.5),
        (BOOL, YES, True),
        (ANY, HALF, 0.5),
        (ANY, ONE, 1),
        (ANY, TEXT, b"a"),
        (ANY, YES, True),
        (ANY, IMAGINARY, 2j),
        (ANY, NIL, None),
        (REFLECTED, NIL, INVALID),
        (REFLECTED, ONE, 1),
    ],
)
def test_a_literal_is_what_the_parameter_makes_of_it(parameter, literal, value):
    """Constants are ideal until they have a type."""
    result = parameter.literal(literal)
    assert (result, type(result)) == (value, type(value))


def test_nil_is_an_unmade_map():
    """A nil map can be read and is empty."""
    assert MAP.literal(NIL).nil


@pytest.mark.parametrize(
    ("parameter", "literal", "message"),
    [
        (STRING, ONE, "a `string` is expected, not a number"),
        (STRING, NIL, "a `string` is expected, not a nil"),
        (INT, HALF, "a `int` is expected, not a number"),
        (INT, HUGE, "a `int` is expected, not a number"),
        (FLOAT, IMAGINARY, "a `float64` is expected, not a number"),
        (FLOAT, TEXT, "a `float64` is expected, not a string"),
        (BOOL, TEXT, "a `bool` is expected, not a string"),
        (MAP, YES, "a `map[string]interface {}` is expected, not a bool"),
        (ANY, HUGE, "`18446744073709551615` overflows an int"),
        (DATES["unixEpoch"].parameter(0), ONE, "a `time.Time` is expected, not a number"),
        (VERSION.methods[b"Compare"].parameter(0), ONE, "a `*semver.Version` is expected, not a number"),
    ],
)
def test_a_literal_that_cannot_be_it_is_refused(parameter, literal, message):
    """The type that is expected decides."""
    with pytest.raises(ExecutionError) as caught:
        parameter.literal(literal)
    assert str(caught.value) == message


def test_nil_has_no_type_of_its_own():
    """Nothing says what it is the nil of."""
    with pytest.raises(ExecutionError, match="`nil` is not a command"):
        ideal(NIL)


def test_a_function_counts_its_arguments():
    """Exactly as many as there are parameters, or more where the last may repeat."""
    two, more = function(print, INT, STRING), function(print, INT, rest=STRING)
    assert [two.accepts(count) for count in (1, 2, 3)] == [False, True, False]
    assert [more.accepts(count) for count in (0, 1, 5)] == [False, True, True]
    assert (more.parameter(0), more.parameter(4)) == (INT, STRING)


PAIR = Type(
    "*x.Pair",
    "ptr",
    methods={
        b"Sum": function(lambda receiver: sum(receiver.source)),
        b"Times": budgeted(lambda budget, receiver, factor: receiver.source[0] * factor, INT),
    },
    getters={b"First": lambda source: source[0]},
)
VALUE = Struct(PAIR, (1, 2))
HEADER = Type("x.Header", "map", methods={b"Size": function(len)})


def test_fields_and_methods_are_read_from_structs():
    """A method without parameters is called at once."""
    assert read(VALUE, b"First", budget()) == 1
    assert read(VALUE, b"Sum", budget()) == 3


def test_keys_and_methods_are_read_from_maps():
    """A missing key is not a value, and a method comes before a key of its name."""
    value = Map({b"a": 1, b"Size": 5}, HEADER)
    assert read(value, b"a", budget()) == 1
    assert read(value, b"b", budget()) is INVALID
    assert read(value, b"Size", budget()) == 2


def test_what_is_read_from_no_value_is_no_value():
    """So missing keys may be read from further."""
    assert read(INVALID, b"a", budget()) is INVALID
    assert method_of(INVALID, b"a") is None
    assert method_of(None, b"a") is None


@pytest.mark.parametrize(
    ("value", "name", "message"),
    [
        (None, b"a", "`a` is read from nil"),
        (Nil(PAIR), b"First", "`First` is read from nil"),
        (VALUE, b"Second", "a `*x.Pair` has no field `Second`"),
        (b"text", b"a", "a `string` has no field `a`"),
        (VALUE, b"Times", "the method `Times` does not take 0 arguments"),
    ],
)
def test_what_cannot_be_read_is_an_error(value, name, message):
    """The message names the type that has no such field."""
    with pytest.raises(ExecutionError) as caught:
        read(value, name, budget())
    assert str(caught.value) == message


def test_a_method_gets_its_arguments_after_the_receiver():
    """And accounts for its work if it wants to."""
    left = budget(steps=10)
    assert call_method(PAIR.methods[b"Times"], VALUE, b"Times", [lambda parameter: parameter.convert(5)], left) == 5
    assert left.left == 9


VOCABULARY = Vocabulary(STANDARD, {"now": "it asks the clock"})
DOT = "data is read with a dot before its name"


@pytest.mark.parametrize(
    ("name", "message", "help"),
    [
        ("now", "the function `now` is refused: it asks the clock", None),
        ("printff", "unknown function `printff`", "did you mean `printf`?"),
        ("User", "unknown function `User`", f"did you mean `.User`? {DOT}"),
        ("key", "unknown function `key`", f"did you mean `.Key`? {DOT}"),
        ("qqqqq", "unknown function `qqqqq`", None),
        ("if", "the keyword `if` is not allowed here", None),
    ],
)
def test_a_name_that_is_none_is_reported_with_the_reason(name, message, help):
    """Refused with the reason, misspelled, or a keyword in the wrong place."""
    found = VOCABULARY.unknown(name, 7)
    assert (str(found), found.help) == (message, help)
    assert (found.offset, found.end) == (7, 7 + len(name))
