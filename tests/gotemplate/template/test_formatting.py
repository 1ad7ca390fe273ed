import math

import pytest
from go_programs import budget, failure, rendered

from gotemplate.sprig.dates import Month
from gotemplate.template.formatting import Printer, printed
from gotemplate.template.values import (
    INVALID,
    STRING_MAP,
    ExecutionError,
    Map,
    Nil,
    Slice,
    Struct,
    Type,
    Uint64,
)

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
    """The verb %#v writes a value as Go source."""
    assert _formatted(value, sharp_v=True) == text


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
def test_a_wrong_verb_is_reported_in_the_text(value, verb, text):
    """A verb that doesn't fit a value is written with the type and the value."""
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
    """A nil interface with methods is written like nil."""
    assert _formatted(Nil(Type("x.User", "interface"))) == "<nil>"


def test_an_unwritable_value_fails():
    """The message names the type of a value that cannot be written."""
    assert failure('{{printf "%d" (semver "1.2.3")}}').startswith("`*semver.Version` cannot be written as a whole")
    assert rendered('{{semver "1.2.3"}}') == "1.2.3"


def _printed(method, *arguments, **flags):
    printer = Printer(budget())
    for name, value in flags.items():
        setattr(printer, name, value)
    getattr(printer, method)(*arguments)
    return b"".join(printer.buffer).decode()


@pytest.mark.parametrize(
    ("value", "verb", "flags", "text"),
    [
        (-42, "x", {}, "-2a"),
        (42, "X", {"sharp": True}, "0X2A"),
        (5, "b", {"sharp": True}, "0b101"),
        (8, "o", {"sharp": True}, "010"),
        (8, "o", {"sharp": True, "precision": 3}, "010"),
        (8, "O", {}, "0o10"),
        (42, "d", {"sharp": True}, "42"),
        (0, "d", {"precision": 0, "width": 3, "zero": True}, "   "),
        (-5, "d", {"width": 5, "zero": True}, "-0005"),
    ],
)
def test_integers_are_written_in_a_base(value, verb, flags, text):
    """The flag `#` adds the prefix of the base."""
    assert _printed("argument", value, verb, **flags) == text


@pytest.mark.parametrize(
    ("value", "flags", "text"),
    [
        (42, {}, "U+002A"),
        (0x1F600, {"sharp": True}, "U+1F600 '😀'"),
        (10, {"sharp": True}, "U+000A"),
        (0xD800, {"sharp": True}, "U+D800"),
        (-1, {}, "U+FFFFFFFFFFFFFFFF"),
        (42, {"precision": 6, "width": 10, "zero": True}, "  U+00002A"),
    ],
)
def test_integers_are_written_as_code_points(value, flags, text):
    """The flag `#` adds the character of the code point if it is printable."""
    assert _printed("unicode", value, **flags) == text


@pytest.mark.parametrize(
    ("flags", "text"),
    [({}, '"é`"'), ({"plus": True}, r'"\u00e9`"'), ({"sharp": True}, '"é`"'), ({"precision": 1, "sharp": True}, "`é`")],
)
def test_strings_are_quoted(flags, text):
    """With the flag `#`, a string is quoted between backticks if it can be."""
    assert _printed("quoted", "é`".encode(), **flags) == text


@pytest.mark.parametrize(
    ("value", "verb", "precision", "flags", "text"),
    [
        (2.5, "f", 6, {}, "2.500000"),
        (2.5, "f", 6, {"precision": 1}, "2.5"),
        (2.5, "g", -1, {"plus": True}, "+2.5"),
        (2.5, "g", -1, {"space": True}, " 2.5"),
        (-2.5, "g", -1, {"width": 7, "zero": True}, "-0002.5"),
        (2.5, "g", -1, {"width": 7, "zero": True}, "00002.5"),
        (2.5, "g", -1, {"width": 7, "zero": True, "plus": True}, "+0002.5"),
        (2.5, "g", -1, {"width": 7, "minus": True, "plus": True}, "+2.5   "),
        (math.inf, "g", -1, {"width": 6, "zero": True}, "  +Inf"),
        (math.inf, "g", -1, {"space": True}, " Inf"),
        (-math.inf, "g", -1, {}, "-Inf"),
        (math.nan, "g", -1, {}, "NaN"),
        (math.nan, "g", -1, {"plus": True}, "+NaN"),
        (math.nan, "g", -1, {"space": True}, " NaN"),
        (2.5, "g", -1, {"sharp": True}, "2.50000"),
        (100.0, "g", -1, {"sharp": True}, "100.000"),
        (0.0, "g", -1, {"sharp": True}, "0.00000"),
        (1e21, "g", -1, {"sharp": True}, "1.00000e+21"),
        (2.0, "g", -1, {"sharp": True, "precision": 3}, "2.00"),
        (2.0, "f", 6, {"sharp": True, "precision": 0}, "2."),
        (1.0, "x", -1, {"sharp": True}, "0x1.0000p+00"),
        (1.0, "b", -1, {"sharp": True}, "4503599627370496p-52"),
    ],
)
def test_floats_are_padded_and_signed(value, verb, precision, flags, text):
    """Infinity and NaN are padded with spaces, and the flag `#` keeps trailing zeros."""
    assert _printed("floating", value, verb, precision, **flags) == text
