import pytest
from go_programs import budget, failure, rendered

from gotemplate.sprig.dates import Month
from gotemplate.template.formatting import Printer, printed
from gotemplate.template.values import INVALID, STRING_MAP, ExecutionError, Map, Nil, Slice, Struct, Type, Uint64

PAIR = Type("*x.Pair", "ptr", getters={b"A": lambda source: source[0], b"B": lambda source: source[1]})
OPAQUE = Type("x.Opaque", "struct", opaque=True)
NAMED = Type("*x.Named", "ptr", stringer=lambda value: value.source)
VALUE = Struct(PAIR, (b"a", 1))


def _formatted(value, verb="v", **flags):
    printer = Printer(budget())
    for name, flag in flags.items():
        setattr(printer, name, flag)
    printer.argument(value, verb)
    return b"".join(printer.buffer).decode()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"a", '"a"'),
        (Uint64(10), "0xa"),
        (5, "5"),
        (Slice([1, None]), "[]interface {}{1, interface {}(nil)}"),
        (Slice(nil=True), "[]interface {}(nil)"),
        (Nil(PAIR), "(*x.Pair)(nil)"),
        (Map({b"a": b"x", b"b": b""}, STRING_MAP), 'map[string]string{"a":"x", "b":""}'),
        (Map(nil=True), "map[string]interface {}(nil)"),
        (VALUE, '&x.Pair{A:"a", B:1}'),
        (Month(2), "2"),
    ],
)
def test_values_are_formatted_as_go_source(value, text):
    assert _formatted(value, sharp_v=True) == text


@pytest.mark.parametrize(
    ("value", "verb", "text"),
    [
        (True, "d", "%!d(bool=true)"),
        (1j, "d", "%!d(complex128=(0+1i))"),
        (1, "p", "%!p(int=1)"),
        (Slice([1, b"a", None]), "d", "[1 %!d(string=a) <nil>]"),
        (Nil(PAIR), "s", "%!s(*x.Pair=<nil>)"),
        (Nil(PAIR), "d", "0"),
        (Nil(PAIR), "p", "0x0"),
        (Map(nil=True), "p", "0x0"),
        (Nil(PAIR), "X", "0"),
        (Slice([Nil(PAIR)]), "b", "[0]"),
        (Slice([1]), "w", "%!w([]interface {}=[1])"),
        (Struct(NAMED, b"n"), "x", "6e"),
        (Month(2), "d", "2"),
        (Month(2), "q", '"February"'),
        (65, "c", "A"),
        (65, "q", "'A'"),
        (b"a", "X", "61"),
        (1 + 2j, "f", "(1.000000+2.000000i)"),
    ],
)
def test_a_wrong_verb_is_reported_in_the_text(value, verb, text):
    assert _formatted(value, verb) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (INVALID, "<no value>"),
        (VALUE, "{a 1}"),
        (Struct(PAIR, (1, 2), boxed=True), "&{1 2}"),
        (Struct(NAMED, b"n"), "n"),
    ],
)
def test_actions_write_the_values_of_pointers(value, text):
    """A pointer is written without a `&`, unless an interface with methods holds it."""
    assert printed(value, budget()).decode() == text


@pytest.mark.parametrize(
    ("value", "verb"),
    [(Slice([VALUE]), "v"), (Map({b"a": VALUE}), "v"), (Slice([1]), "p"), (VALUE, "p"), (Struct(OPAQUE, 1), "v")],
)
def test_addresses_and_hidden_fields_cannot_be_written(value, verb):
    """Addresses differ from run to run, and the fields of an opaque struct are unknown."""
    with pytest.raises(ExecutionError):
        _formatted(value, verb)


def test_a_nil_interface_with_methods_is_written_as_nil():
    assert _formatted(Nil(Type("x.User", "interface"))) == "<nil>"


def test_an_unwritable_value_fails():
    assert failure('{{printf "%d" (semver "1.2.3")}}').startswith("`*semver.Version` cannot be written as a whole")
    assert rendered('{{semver "1.2.3"}}') == "1.2.3"
