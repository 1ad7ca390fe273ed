import math

import pytest

from gotemplate.template.numbers import (
    MAX_INT,
    MIN_INT,
    Number,
    NumberError,
    float_to_int,
    format_float,
    number,
    parse_float,
    parse_int,
    wrap_int,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42),
        ("-0x1F", -31),
        ("0b1_01", 5),
        ("0o17", 15),
        ("017", 15),
        ("0_1", 1),
        ("1_000", 1000),
        ("+5", 5),
        ("0", 0),
        ("9223372036854775807", MAX_INT),
    ],
)
def test_integers_are_read_in_the_base_of_their_prefix(text, value):
    """An integer is read like a literal of Go, with underscores."""
    assert parse_int(text) == value


@pytest.mark.parametrize("text", ["", "x", "089", "1__0", "_1", "1_", "0x", "1.5", "0b2", " 1"])
def test_invalid_integers_are_refused(text):
    """Digits must fit the base, and underscores must stand between digits."""
    with pytest.raises(NumberError):
        parse_int(text)


@pytest.mark.parametrize(("text", "base", "value"), [("010", 10, 10), ("-17", 8, -15), ("+7", 8, 7), ("000", 10, 0)])
def test_a_given_base_has_no_prefix(text, base, value):
    """In a given base, leading zeros do not change the number."""
    assert parse_int(text, base) == value


@pytest.mark.parametrize(("text", "base"), [("8", 8), ("1_0", 10), ("", 10), ("+", 10)])
def test_a_given_base_has_its_digits_only(text, base):
    """In a given base, a character that isn't one of its digits is an error."""
    with pytest.raises(NumberError):
        parse_int(text, base)


@pytest.mark.parametrize("base", [0, 10])
@pytest.mark.parametrize(("text", "clamped"), [("9223372036854775808", MAX_INT), ("-" + "9" * 5000, MIN_INT)])
def test_an_integer_out_of_range_is_clamped(text, base, clamped):
    """The error of an integer out of range has the nearest integer, for any number of digits."""
    with pytest.raises(NumberError) as caught:
        parse_int(text, base)
    assert caught.value.clamped == clamped


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1_0.5", 10.5),
        ("0x1p-2", 0.25),
        ("-0x.8p1", -1.0),
        ("+Inf", math.inf),
    ],
)
def test_floats_are_read(text, value):
    """A float is read like a decimal or hexadecimal literal of Go, or by the name of infinity."""
    assert parse_float(text) == value


def test_nan_is_read():
    """The text `NaN` is read as a float."""
    assert math.isnan(parse_float("NaN"))


@pytest.mark.parametrize("text", ["", "x", "1.5.", "0x1.8", "1e", "1e400", "0x1p9999", "1__0.5", "_1.5"])
def test_invalid_floats_are_refused(text):
    """A hexadecimal float needs an exponent, and a float that is too large is an error."""
    with pytest.raises(NumberError):
        parse_float(text)


@pytest.mark.parametrize(("value", "wrapped"), [(MAX_INT + 1, MIN_INT), (MIN_INT - 1, MAX_INT), (5, 5), (2**64, 0)])
def test_integers_wrap_at_64_bits(value, wrapped):
    """A result beyond 64 bits wraps."""
    assert wrap_int(value) == wrapped


@pytest.mark.parametrize(
    ("value", "integer"),
    [(2.9, 2), (-2.9, -2), (1e300, MIN_INT), (2.0**63, MIN_INT), (math.nan, MIN_INT), (math.inf, MIN_INT)],
)
def test_floats_are_truncated_to_integers(value, integer):
    """A float that no int can hold becomes the least int, as on amd64."""
    assert float_to_int(value) == integer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", Number("5", 5, 5.0)),
        ("-5", Number("-5", -5, -5.0)),
        ("-0", Number("-0", 0, 0.0)),
        ("+5", Number("+5", 5, 5.0)),
        ("18446744073709551615", Number("18446744073709551615", None, float(2**64 - 1))),
        ("1.5", Number("1.5", None, 1.5)),
        ("1e3", Number("1e3", 1000, 1000.0)),
        ("-2.0", Number("-2.0", -2, -2.0)),
        ("1e19", Number("1e19", None, 1e19)),
        ("2i", Number("2i", complex=2j)),
        ("0i", Number("0i", 0, 0.0, 0j)),
        ("1+2i", Number("1+2i", complex=1 + 2j)),
        ("1e+2-3i", Number("1e+2-3i", complex=100 - 3j)),
        ("5+0i", Number("5+0i", 5, 5.0, 5 + 0j)),
    ],
)
def test_a_constant_has_a_value_of_each_type_that_can_hold_it(text, expected):
    """A constant of Go is ideal: its place decides which of its values is used."""
    assert number(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "18446744073709551616",
        "+18446744073709551615",
        "-9223372036854775809",
        "089",
        "0x",
        "1e",
        "+i",
        "1x",
        "9" * 5000,
    ],
)
def test_invalid_constants_are_refused(text):
    """A constant that is too large or not a number is an error."""
    with pytest.raises(NumberError):
        number(text)


@pytest.mark.parametrize(
    ("text", "looks_floating"),
    [("1", False), ("1.", True), ("1e3", True), ("0xe5", False), ("0x1p4", True), ("1E3", True)],
)
def test_a_point_or_an_exponent_makes_a_float(text, looks_floating):
    """The digit `e` of a hexadecimal integer does not make a constant a float."""
    assert number(text).looks_floating is looks_floating


def test_a_character_constant_is_not_a_float():
    """A point between quotes does not make a constant a float."""
    assert not Number("'.'", 46, 46.0).looks_floating


@pytest.mark.parametrize(
    ("value", "verb", "precision", "text"),
    [
        (0.0, "g", -1, "0"),
        (-0.0, "g", -1, "-0"),
        (1.5, "g", -1, "1.5"),
        (100000.0, "g", -1, "100000"),
        (1e6, "g", -1, "1e+06"),
        (123456789.0, "g", -1, "1.23456789e+08"),
        (0.0001, "g", -1, "0.0001"),
        (0.00001, "g", -1, "1e-05"),
        (1e100, "g", -1, "1e+100"),
        (1e21, "f", -1, "1" + "0" * 21),
        (0.25, "f", -1, "0.25"),
        (12.5, "e", -1, "1.25e+01"),
        (0.0, "e", -1, "0e+00"),
        (3.0, "e", -1, "3e+00"),
        (2.5, "f", 0, "2"),
        (3.14159, "f", 2, "3.14"),
        (1234.5, "e", 3, "1.234e+03"),
        (1234.5, "E", 1, "1.2E+03"),
        (1234.5, "g", 3, "1.23e+03"),
        (1234.5, "G", 2, "1.2E+03"),
        (100.0, "g", 3, "100"),
        (1.0, "b", -1, "4503599627370496p-52"),
        (0.0, "b", -1, "0p-1074"),
        (1.0, "x", -1, "0x1p+00"),
        (2.5, "X", -1, "0X1.4P+01"),
        (0.0, "x", 2, "0x0.00p+00"),
        (0.1, "x", 3, "0x1.99ap-04"),
        (1.9999, "x", 0, "0x1p+01"),
        (1.5, "x", 0, "0x1p+01"),
        (2.0**-1074, "x", -1, "0x1p-1074"),
        (1.0, "x", 15, "0x1." + "0" * 15 + "p+00"),
        (math.inf, "g", -1, "+Inf"),
        (-math.inf, "f", 2, "-Inf"),
        (math.nan, "e", 3, "NaN"),
    ],
)
def test_floats_are_written_in_all_forms_of_go(value, verb, precision, text):
    """A float has the requested digits, or the fewest digits that are read as the same float."""
    assert format_float(value, verb, precision) == text
