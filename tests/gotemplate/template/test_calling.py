import pytest
from go_programs import budget

from gotemplate.sprig.dates import FUNCTIONS as DATES
from gotemplate.sprig.semver import VERSION
from gotemplate.template.calling import (
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
from gotemplate.template.nodes import Constant
from gotemplate.template.standard import STANDARD
from gotemplate.template.text import Number, number
from gotemplate.template.values import (
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
def test_a_value_of_the_parameter_s_type_is_unchanged(parameter, value):
    """A parameter returns a value of its own type unchanged."""
    assert parameter.convert(value) is value


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        (STRING, 1, "expected `string`, found `int`"),
        (STRING, INVALID, "expected `string`, found no value"),
        (STRING, None, "expected `string`, found `<nil>`"),
        (INT, True, "expected `int`, found `bool`"),
        (INT, Int64(1), "expected `int`, found `int64`"),
        (FLOAT, 1, "expected `float64`, found `int`"),
        (MAP, Map((), STRING_MAP), "expected `map[string]interface {}`, found `map[string]string`"),
    ],
)
def test_a_value_of_another_type_is_refused(parameter, value, message):
    """The types of Go do not mix, and neither do integers of different sizes."""
    with pytest.raises(ExecutionError) as caught:
        parameter.convert(value)
    assert str(caught.value) == message


def test_a_missing_value_may_be_nil():
    """A missing value is nil for an interface, and a nil map for a map."""
    assert ANY.convert(INVALID) is None
    assert MAP.convert(INVALID).nil


def test_an_interface_with_methods_is_unwrapped_as_an_argument():
    """A nil interface with methods becomes nil, and a pointer in one is no longer boxed."""
    pointer = Struct(Type("*x.Y", "ptr"), "source", boxed=True)
    assert ANY.convert(Nil(Type("x.Z", "interface"))) is None
    assert (ANY.convert(pointer).boxed, ANY.convert(pointer).source) == (False, "source")
    nil_pointer = Nil(Type("*x.Y", "ptr"))
    assert ANY.convert(nil_pointer) is nil_pointer


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
def test_a_literal_gets_the_type_of_its_parameter(parameter, literal, value):
    """A literal is converted to the type of its parameter, or to its default type."""
    result = parameter.literal(literal)
    assert (result, type(result)) == (value, type(value))


def test_nil_is_a_nil_map_for_a_map_parameter():
    """The literal `nil` is a nil map for a parameter of a map type."""
    assert MAP.literal(NIL).nil


@pytest.mark.parametrize(
    ("parameter", "literal", "message"),
    [
        (STRING, ONE, "expected `string`, found a number"),
        (STRING, NIL, "expected `string`, found nil"),
        (INT, HALF, "expected `int`, found a number"),
        (INT, HUGE, "expected `int`, found a number"),
        (FLOAT, IMAGINARY, "expected `float64`, found a number"),
        (FLOAT, TEXT, "expected `float64`, found a string"),
        (BOOL, TEXT, "expected `bool`, found a string"),
        (MAP, YES, "expected `map[string]interface {}`, found a bool"),
        (ANY, HUGE, "`18446744073709551615` overflows an int"),
        (DATES["unixEpoch"].parameter(0), ONE, "expected `time.Time`, found a number"),
        (VERSION.methods[b"Compare"].parameter(0), ONE, "expected `*semver.Version`, found a number"),
    ],
)
def test_a_literal_of_another_type_is_refused(parameter, literal, message):
    """A literal that cannot be converted to the type of its parameter is an error."""
    with pytest.raises(ExecutionError) as caught:
        parameter.literal(literal)
    assert str(caught.value) == message


def test_nil_has_no_default_type():
    """The literal `nil` without a parameter is an error."""
    with pytest.raises(ExecutionError, match="`nil` is not a command"):
        ideal(NIL)


def test_a_function_counts_its_arguments():
    """A function takes as many arguments as it has parameters, or more if its last parameter repeats."""
    exact, variadic = function(print, INT, STRING), function(print, INT, rest=STRING)
    assert [exact.accepts(count) for count in (1, 2, 3)] == [False, True, False]
    assert [variadic.accepts(count) for count in (0, 1, 5)] == [False, True, True]
    assert (variadic.parameter(0), variadic.parameter(4)) == (INT, STRING)


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
    """A field of a struct is read, and a method without parameters is called."""
    assert read(VALUE, b"First", budget()) == 1
    assert read(VALUE, b"Sum", budget()) == 3


def test_keys_and_methods_are_read_from_maps():
    """A missing key has no value, and a method comes before a key of the same name."""
    value = Map({b"a": 1, b"Size": 5}, HEADER)
    assert read(value, b"a", budget()) == 1
    assert read(value, b"b", budget()) is INVALID
    assert read(value, b"Size", budget()) == 2


def test_fields_of_a_missing_value_are_missing():
    """A field of a missing value has no value, so that paths of missing keys can be read."""
    assert read(INVALID, b"a", budget()) is INVALID
    assert method_of(INVALID, b"a") is None
    assert method_of(None, b"a") is None


@pytest.mark.parametrize(
    ("value", "name", "message"),
    [
        (None, b"a", "`a` is read from nil"),
        (Nil(PAIR), b"First", "`First` is read from nil"),
        (VALUE, b"Second", "`*x.Pair` has no field `Second`"),
        (b"text", b"a", "`string` has no field `a`"),
        (VALUE, b"Times", "wrong number of arguments for the method `Times`: 0"),
    ],
)
def test_a_missing_field_is_an_error(value, name, message):
    """The message has the name of the field and the type that lacks it."""
    with pytest.raises(ExecutionError) as caught:
        read(value, name, budget())
    assert str(caught.value) == message


def test_a_method_gets_its_arguments_after_the_receiver():
    """A method is called with its receiver and its arguments, and charges the budget if it has one."""
    render_budget = budget(steps=10)
    assert (
        call_method(PAIR.methods[b"Times"], VALUE, b"Times", [lambda parameter: parameter.convert(5)], render_budget)
        == 5
    )
    assert render_budget.left == 9


VOCABULARY = Vocabulary(STANDARD, {"now": "it asks the clock"}, {"User", "Key"})
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
def test_an_unknown_name_is_reported_with_a_reason(name, message, help):
    """A name that isn't a function is refused, misspelled, or a keyword in the wrong place."""
    mistake = VOCABULARY.unknown(name, 7)
    assert (str(mistake), mistake.help) == (message, help)
    assert (mistake.offset, mistake.end) == (7, 7 + len(name))
