import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gotemplate.template import text
from gotemplate.template.text import (
    Number,
    NumberError,
    QuotingError,
    can_backquote,
    format_float,
    number,
    parse_float,
    quote,
    unquote,
    unquote_char,
)


@pytest.mark.parametrize(
    ("string", "trimmed"),
    [
        (b"\t\n\v\f\r a b ", b"a b"),
        ("\u3000\xa0é\u2028".encode(), "é".encode()),
        (b"\x1ca\x1c", b"\x1ca\x1c"),
        (b" \xff ", b"\xff"),
    ],
)
def test_white_space_is_that_of_unicode(string, trimmed):
    """Information separators, which Python strips, and invalid bytes are not white space."""
    assert text.trim_space(string) == trimmed


@pytest.mark.parametrize(
    ("rune", "expected"),
    [
        ("a", {text.is_letter, text.is_lower, text.is_print}),
        ("Ж", {text.is_letter, text.is_upper, text.is_print}),
        ("ǅ", {text.is_letter, text.is_title, text.is_print}),
        ("٣", {text.is_digit, text.is_print}),
        ("½", {text.is_print}),
        ("!", {text.is_print}),
        (" ", {text.is_space, text.is_print}),
        ("\xa0", {text.is_space}),
        ("\x00", set()),
    ],
)
def test_runes_have_the_classes_of_package_unicode(rune, expected):
    """Each rune is in the classes for which Go's functions of the same names return true."""
    predicates = {
        *(text.is_letter, text.is_lower, text.is_upper, text.is_title, text.is_digit),
        *(text.is_space, text.is_print),
    }
    assert {predicate for predicate in predicates if predicate(rune)} == expected


@pytest.mark.parametrize(
    ("string", "possible"),
    [
        (b"a\tb", True),
        ("é".encode(), True),
        (b"a`b", False),
        (b"a\nb", False),
        (b"\x7f", False),
        (b"\xff", False),
        ("\ufeff".encode(), False),
    ],
)
def test_a_raw_string_has_one_printable_line(string, possible):
    """Backticks, control characters, byte order marks and invalid bytes need a quoted string."""
    assert can_backquote(string) is possible


@pytest.mark.parametrize(
    ("literal", "offset"),
    [
        (r'"\q"', 1),
        (r'"a\x4"', 2),
        (r'"\400"', 1),
        (r'"\08"', 1),
        (r'"\ud800"', 1),
        (r'"a\U00110000"', 2),
        (r'"\'"', 1),
    ],
)
def test_an_invalid_escape_is_reported_with_its_place(literal, offset):
    """The offset of an invalid escape counts from the opening quote."""
    with pytest.raises(QuotingError) as caught:
        unquote(literal)
    assert caught.value.offset == offset


@pytest.mark.parametrize("literal", ["''", "'ab'", r"'\"'", r"'a\n'"])
def test_a_character_constant_has_one_character(literal):
    """A constant without a character, with two characters or with the escape of the other quote is an error."""
    with pytest.raises(QuotingError):
        unquote_char(literal)


@given(st.binary(max_size=40))
def test_quoted_strings_are_read_as_the_same_strings(string):
    assert unquote(quote(string).decode()) == string
    assert unquote(quote(string, ascii_only=True).decode()) == string


def test_outer_spaces_are_those_of_go():
    """The spaces of Go's unicode.IsSpace are those of Python without the information separators."""
    python = {chr(code) for code in range(0x110000) if chr(code).isspace()}
    assert set(text.GO_SPACES) == python - set("\x1c\x1d\x1e\x1f")


@pytest.mark.parametrize("text", ["", "x", "1.5.", "0x1.8", "1e", "1e400", "0x1p9999", "1__0.5", "_1.5"])
def test_invalid_floats_are_refused(text):
    """A hexadecimal float needs an exponent, and a float that is too large is an error."""
    with pytest.raises(NumberError):
        parse_float(text)


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
        "18446744073709551616", "+18446744073709551615", "-9223372036854775809", "089", "0x", "1e", "+i", "1x",
        "9" * 5000,
    ],
)  # fmt: skip
def test_invalid_constants_are_refused(text):
    with pytest.raises(NumberError):
        number(text)


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
