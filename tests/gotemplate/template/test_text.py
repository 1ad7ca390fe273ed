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


@pytest.mark.parametrize(("string", "trimmed"), [("\u3000\xa0é\u2028".encode(), "é".encode()), (b" \xff ", b"\xff")])
def test_white_space_is_that_of_unicode(string, trimmed):
    """Information separators, which Python strips, and invalid bytes are not white space."""
    assert text.trim_space(string) == trimmed


@pytest.mark.parametrize(
    ("string", "possible"), [(b"a\tb", True), (b"\x7f", False), (b"\xff", False), ("\ufeff".encode(), False)]
)
def test_a_raw_string_has_one_printable_line(string, possible):
    """Backticks, control characters, byte order marks and invalid bytes need a quoted string."""
    assert can_backquote(string) is possible


@pytest.mark.parametrize(("literal", "offset"), [(r'"\q"', 1), (r'"a\x4"', 2), (r'"a\U00110000"', 2)])
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
        ("-0", Number("-0", 0, 0.0)),
        ("18446744073709551615", Number("18446744073709551615", None, float(2**64 - 1))),
        ("-2.0", Number("-2.0", -2, -2.0)),
        ("1e19", Number("1e19", None, 1e19)),
        ("2i", Number("2i", complex=2j)),
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
        (0.00001, "g", -1, "1e-05"),
        (2.5, "f", 0, "2"),
        (1234.5, "G", 2, "1.2E+03"),
        (1.0, "b", -1, "4503599627370496p-52"),
        (0.0, "x", 2, "0x0.00p+00"),
        (0.1, "x", 3, "0x1.99ap-04"),
        (1.9999, "x", 0, "0x1p+01"),
        (2.0**-1074, "x", -1, "0x1p-1074"),
        (1.0, "x", 15, "0x1." + "0" * 15 + "p+00"),
        (-math.inf, "f", 2, "-Inf"),
        (math.nan, "e", 3, "NaN"),
    ],
)
def test_floats_are_written_in_all_forms_of_go(value, verb, precision, text):
    """A float has the requested digits, or the fewest digits that are read as the same float."""
    assert format_float(value, verb, precision) == text
