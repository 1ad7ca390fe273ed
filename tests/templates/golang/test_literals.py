import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.templates.golang.literals import (
    MAX_INT,
    MIN_INT,
    Number,
    NumberError,
    QuotingError,
    can_backquote,
    character,
    float_to_int,
    number,
    parse_float,
    parse_int,
    quote,
    quote_rune,
    trim_zero_decimals,
    unquote,
    unquote_char,
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
def test_integers_are_read_in_the_base_that_their_prefix_names(text, value):
    """As Go's literals, underscores included."""
    assert parse_int(text) == value


@pytest.mark.parametrize("text", ["", "x", "089", "1__0", "_1", "1_", "0x", "1.5", "0b2", " 1"])
def test_what_is_no_integer_is_refused(text):
    """Digits must fit the base, and underscores stand between digits."""
    with pytest.raises(NumberError):
        parse_int(text)


@pytest.mark.parametrize(("text", "base", "value"), [("010", 10, 10), ("-17", 8, -15), ("+7", 8, 7), ("000", 10, 0)])
def test_a_base_that_is_given_knows_no_prefix(text, base, value):
    """Leading zeros mean nothing then."""
    assert parse_int(text, base) == value


@pytest.mark.parametrize(("text", "base"), [("8", 8), ("1_0", 10), ("", 10), ("+", 10)])
def test_a_base_that_is_given_knows_its_digits_only(text, base):
    """Nothing else may stand there."""
    with pytest.raises(NumberError):
        parse_int(text, base)


@pytest.mark.parametrize("base", [0, 10])
@pytest.mark.parametrize(("text", "clamped"), [("9223372036854775808", MAX_INT), ("-" + "9" * 5000, MIN_INT)])
def test_what_is_out_of_range_is_told_with_the_nearest_integer(text, base, clamped):
    """However many digits there are."""
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
def test_floats_are_read_as_go_literals(text, value):
    """Decimal or hexadecimal, or a name."""
    assert parse_float(text) == value


def test_nan_is_a_float_by_name():
    """In any case of its letters."""
    assert math.isnan(parse_float("NaN"))


@pytest.mark.parametrize("text", ["", "x", "1.5.", "0x1.8", "1e", "1e400", "0x1p9999", "1__0.5", "_1.5"])
def test_what_is_no_finite_float_is_refused(text):
    """A hexadecimal one needs an exponent, and none may be too large."""
    with pytest.raises(NumberError):
        parse_float(text)


@pytest.mark.parametrize(("value", "wrapped"), [(MAX_INT + 1, MIN_INT), (MIN_INT - 1, MAX_INT), (5, 5), (2**64, 0)])
def test_sums_keep_64_bits(value, wrapped):
    """What does not fit is cut off."""
    assert wrap_int(value) == wrapped


@pytest.mark.parametrize(
    ("value", "integer"),
    [(2.9, 2), (-2.9, -2), (1e300, MIN_INT), (2.0**63, MIN_INT), (math.nan, MIN_INT), (math.inf, MIN_INT)],
)
def test_floats_lose_their_fraction(value, integer):
    """What no int can hold is the least of them, as on amd64."""
    assert float_to_int(value) == integer


@pytest.mark.parametrize(
    ("text", "trimmed"), [("1.00", "1"), ("1.50", "1.50"), ("1.", "1."), ("100", "100"), ("1.0.0", "1.0")]
)
def test_zero_decimals_are_no_reason_to_refuse_an_integer(text, trimmed):
    """Package cast takes them off before it reads."""
    assert trim_zero_decimals(text) == trimmed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", Number("5", 5, 5, 5.0)),
        ("-5", Number("-5", -5, None, -5.0)),
        ("-0", Number("-0", 0, 0, 0.0)),
        ("+5", Number("+5", 5, None, 5.0)),
        ("18446744073709551615", Number("18446744073709551615", None, 2**64 - 1, float(2**64 - 1))),
        ("1.5", Number("1.5", None, None, 1.5)),
        ("1e3", Number("1e3", 1000, 1000, 1000.0)),
        ("-2.0", Number("-2.0", -2, None, -2.0)),
        ("1e19", Number("1e19", None, 10**19, 1e19)),
        ("2i", Number("2i", complex=2j)),
        ("0i", Number("0i", 0, 0, 0.0, 0j)),
        ("1+2i", Number("1+2i", complex=1 + 2j)),
        ("1e+2-3i", Number("1e+2-3i", complex=100 - 3j)),
        ("5+0i", Number("5+0i", 5, 5, 5.0, 5 + 0j)),
    ],
)
def test_a_constant_has_a_value_under_each_type_that_can_hold_it(text, expected):
    """Go's constants are ideal: where they stand decides their type."""
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
def test_what_is_no_constant_is_refused(text):
    """Too large, or no number at all."""
    with pytest.raises(NumberError):
        number(text)


@pytest.mark.parametrize(
    ("text", "floating"), [("1", False), ("1.", True), ("1e3", True), ("0xe5", False), ("0x1p4", True), ("1E3", True)]
)
def test_the_spelling_makes_a_float(text, floating):
    """A point or an exponent does; the digit `e` of a hexadecimal integer does not."""
    assert number(text).looks_floating is floating


def test_a_character_is_an_integer():
    """However it is spelled."""
    assert character("'.'", 46) == Number("'.'", 46, 46, 46.0)
    assert not character("'.'", 46).looks_floating


@pytest.mark.parametrize(
    ("string", "quoted", "ascii_only"),
    [
        (b'a"\\', rb'"a\"\\"', rb'"a\"\\"'),
        (b"\a\b\f\n\r\t\v", rb'"\a\b\f\n\r\t\v"', rb'"\a\b\f\n\r\t\v"'),
        (b"\x00\x7f", rb'"\x00\x7f"', rb'"\x00\x7f"'),
        ("é😀".encode(), '"é😀"'.encode(), rb'"\u00e9\U0001f600"'),
        ("\u2028".encode(), rb'"\u2028"', rb'"\u2028"'),
        (b"\xff", rb'"\xff"', rb'"\xff"'),
    ],
)
def test_strings_are_quoted_as_in_go_source(string, quoted, ascii_only):
    """What cannot be printed is escaped, beyond ASCII if that is asked for."""
    assert quote(string) == quoted
    assert quote(string, ascii_only=True) == ascii_only


def test_characters_are_quoted_with_their_own_mark():
    """Only the single quote needs an escape there."""
    assert (quote_rune("'"), quote_rune('"'), quote_rune("é", ascii_only=True)) == (rb"'\''", b"'\"'", rb"'\u00e9'")


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
def test_a_raw_string_holds_one_printable_line(string, possible):
    """Backticks, control characters, byte order marks and wrong bytes need a quoted string."""
    assert can_backquote(string) is possible


@pytest.mark.parametrize(
    ("literal", "string"),
    [
        ('"abc"', b"abc"),
        (r'"a\n\t\"\\"', b'a\n\t"\\'),
        (r'"\x41\101\u00e9\U0001F600"', "AAé😀".encode()),
        (r'"\xff"', b"\xff"),
        (r'"\a\b\f\r\v"', b"\a\b\f\r\v"),
        ("`a\\n\r`", b"a\\n"),
    ],
)
def test_strings_are_read_as_in_go_source(literal, string):
    """Escapes name characters or bytes; raw strings know none, and lose carriage returns."""
    assert unquote(literal) == string


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
def test_what_is_no_escape_is_told_with_its_place(literal, offset):
    """The offset counts from the opening quote."""
    with pytest.raises(QuotingError) as caught:
        unquote(literal)
    assert caught.value.offset == offset


@pytest.mark.parametrize(
    ("literal", "code"),
    [
        ("'a'", 97),
        (r"'\n'", 10),
        (r"'\''", 39),
        (r"'\xff'", 255),
        (r"'\377'", 255),
        ("'本'", 0x672C),
        (r"'\u00e9'", 233),
    ],
)
def test_a_character_is_its_code(literal, code):
    """An escape of a byte is that number, not a byte of UTF-8."""
    assert unquote_char(literal) == code


@pytest.mark.parametrize("literal", ["''", "'ab'", r"'\"'", r"'a\n'"])
def test_a_character_constant_holds_one_character(literal):
    """Nothing, two characters and the escape of the other quote are refused."""
    with pytest.raises(QuotingError):
        unquote_char(literal)


@given(st.binary(max_size=40))
def test_reading_what_was_quoted_gives_the_string_again(string):
    """Whatever the bytes are."""
    assert unquote(quote(string).decode()) == string
    assert unquote(quote(string, ascii_only=True).decode()) == string
