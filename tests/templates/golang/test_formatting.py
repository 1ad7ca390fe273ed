import pytest
from go_programs import budget, failure, written

from tornado_proxy.templates.golang.formatting import Printer, printed, shown, sprint, sprintln
from tornado_proxy.templates.golang.sprig.dates import GoDuration, Month
from tornado_proxy.templates.golang.values import (
    INVALID,
    STRING_MAP,
    ExecutionError,
    Int64,
    Map,
    Nil,
    Slice,
    Struct,
    StructType,
    Type,
    Uint8,
    Uint64,
)

PAIR = StructType("*x.Pair", "ptr", getters={b"A": lambda source: source[0], b"B": lambda source: source[1]})
PLAIN = StructType("x.Plain", "struct", getters={b"A": lambda source: source})
OPAQUE = StructType("x.Opaque", "struct", opaque=True)
NAMED = StructType("*x.Named", "ptr", stringer=lambda value: value.source)
VALUE = Struct(PAIR, (b"a", 1))


def _shown(value, verb="v", **flags):
    printer = Printer(budget())
    for name, flag in flags.items():
        setattr(printer, name, flag)
    printer.argument(value, verb)
    return b"".join(printer.buffer).decode()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"a", "a"),
        (1, "1"),
        (Int64(-2), "-2"),
        (Uint8(3), "3"),
        (True, "true"),
        (1.5, "1.5"),
        (1 - 2j, "(1-2i)"),
        (None, "<nil>"),
        (Slice([1, b"a", None, Slice()]), "[1 a <nil> []]"),
        (Map({b"b": 1, b"a": None}), "map[a:<nil> b:1]"),
        (VALUE, "&{a 1}"),
        (Struct(PLAIN, b"x"), "{x}"),
        (Nil(PAIR), "<nil>"),
        (Struct(NAMED, b"name"), "name"),
        (Slice([Struct(NAMED, b"name")]), "[name]"),
        (Month(2), "February"),
        (GoDuration(1500), "1.5µs"),
    ],
)
def test_values_show_themselves(value, text):
    """As %v does: maps in order, pointers to structs with `&`, and by their own method where they have one."""
    assert shown(value, budget()).decode() == text


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
def test_values_show_their_syntax(value, text):
    """As %#v does."""
    assert _shown(value, sharp_v=True) == text


def test_fields_may_show_their_names():
    """As %+v does."""
    assert _shown(VALUE, plus_v=True) == "&{A:a B:1}"


@pytest.mark.parametrize(
    ("value", "verb", "text"),
    [
        (b"a", "d", "%!d(string=a)"),
        (1, "s", "%!s(int=1)"),
        (1.5, "d", "%!d(float64=1.5)"),
        (True, "d", "%!d(bool=true)"),
        (1j, "d", "%!d(complex128=(0+1i))"),
        (None, "d", "%!d(<nil>)"),
        (None, "T", "<nil>"),
        (1, "T", "int"),
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
        (65, "U", "U+0041"),
        (b"a", "X", "61"),
        (True, "t", "true"),
        (1.5, "F", "1.500000"),
        (1 + 2j, "f", "(1.000000+2.000000i)"),
    ],
)
def test_a_verb_that_does_not_fit_says_so(value, verb, text):
    """With the type and the value; others fit."""
    assert _shown(value, verb) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (INVALID, "<no value>"),
        (VALUE, "{a 1}"),
        (Struct(PAIR, (1, 2), boxed=True), "&{1 2}"),
        (Struct(NAMED, b"n"), "n"),
    ],
)
def test_actions_follow_pointers(value, text):
    """Unless an interface with methods holds them."""
    assert printed(value, budget()).decode() == text


@pytest.mark.parametrize(
    ("value", "verb"),
    [(Slice([VALUE]), "v"), (Map({b"a": VALUE}), "v"), (Slice([1]), "p"), (VALUE, "p"), (Struct(OPAQUE, 1), "v")],
)
def test_addresses_and_what_is_hidden_cannot_be_written(value, verb):
    """Go would write what differs from run to run, or fields that are not known here."""
    with pytest.raises(ExecutionError):
        _shown(value, verb)


def test_print_parts_what_are_no_strings():
    """A space stands between two of which neither is one."""
    assert sprint([1, 2, b"a", 3, 4, b"b", b"c", None, None], budget()) == b"1 2a3 4bc<nil> <nil>"
    assert sprint([], budget()) == b""


def test_println_parts_all():
    """And ends the line."""
    assert sprintln([b"a", b"b", 1], budget()) == b"a b 1\n"


def test_functions_of_the_interface_kind_show_nil():
    """A nil interface with methods is nil wherever it is shown."""
    assert _shown(Nil(Type("x.User", "interface"))) == "<nil>"


def test_what_an_action_cannot_write_fails():
    """It is told with its type."""
    assert failure('{{printf "%d" (semver "1.2.3")}}').startswith("a `*semver.Version` cannot be written as a whole")
    assert written('{{semver "1.2.3"}}') == "1.2.3"
