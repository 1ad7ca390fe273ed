import pytest
from go_programs import budget

from tornado_proxy.templates.golang.calling import INT, budgeted, function
from tornado_proxy.templates.golang.failures import ExecutionError
from tornado_proxy.templates.golang.members import call_method, method_of, read
from tornado_proxy.templates.golang.values import INVALID, Map, Nil, Struct, StructType, Type

PAIR = StructType(
    "*x.Pair",
    "ptr",
    methods={
        b"Sum": function(lambda receiver: sum(receiver.source)),
        b"Times": budgeted(lambda budget, receiver, factor: receiver.source[0] * factor, INT),
    },
    getters={b"First": lambda source: source[0]},
)
VALUE = Struct(PAIR, (1, 2))
HEADER = Type("x.Header", "map", methods={b"Size": function(len)}, refused={b"Add": "nothing grows"})


def test_fields_and_methods_are_read_from_structs():
    """A method without parameters is called at once."""
    assert read(VALUE, b"First", budget()) == 1
    assert read(VALUE, b"Sum", budget()) == 3


def test_keys_and_methods_are_read_from_maps():
    """A missing key is no value, and a method comes before a key of its name."""
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
        (Map({b"Add": 1}, HEADER), b"Add", "the member `Add` is refused: nothing grows"),
        (VALUE, b"Times", "the method `Times` does not take 0 arguments"),
    ],
)
def test_what_cannot_be_read_is_an_error(value, name, message):
    """It says what has no such field."""
    with pytest.raises(ExecutionError) as caught:
        read(value, name, budget())
    assert str(caught.value) == message


def test_a_method_gets_its_arguments_after_the_receiver():
    """And accounts for its work if it wants to."""
    left = budget(steps=10)
    assert call_method(PAIR.methods[b"Times"], VALUE, b"Times", [5], left) == 5
    assert left.left == 9
