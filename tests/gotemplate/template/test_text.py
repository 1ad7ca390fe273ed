import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gotemplate.template import text
from gotemplate.template.text import (
    MAX_INT,
    MIN_INT,
    Number,
    NumberError,
    QuotingError,
    can_backquote,
    float_to_int,
    format_float,
    number,
    parse_float,
    parse_int,
    quote,
    quote_rune,
    unquote,
    unquote_char,
    wrap_int,
)


@pytest.mark.parametrize(
    ("string", "runes"),
    [
        (b"abc", "abc"),
        ("é日😀".encode(), "é日😀"),
        (b"a\xffb", "a\ufffdb"),
        (b"\xe6\x97", "\ufffd\ufffd"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
    ],
)
def test_each_invalid_byte_is_one_replacement_character(string, runes):
    """A byte that isn't UTF-8 is one rune, as in Go."""
    assert text.runes(string) == runes


@pytest.mark.parametrize(("source", "string"), [("é", b"\xc3\xa9"), ("a\ud800b", "a\ufffdb".encode())])
def test_a_lone_surrogate_is_replaced(source, string):
    """A lone surrogate becomes U+FFFD, as in a Go string made of runes."""
    assert text.go_string(source) == string


@pytest.mark.parametrize(
    ("string", "starts"), [(b"ab", [0, 1]), ("aéb".encode(), [0, 1, 3]), (b"\xff\xc3\xa9", [0, 1])]
)
def test_runes_start_at_their_first_byte(string, starts):
    """The start of a rune is an offset in bytes."""
    assert text.rune_starts(string) == starts


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
    ("rune", "upper", "lower", "title"),
    [
        ("a", "A", "a", "A"),
        ("ß", "ß", "ß", "ß"),
        ("ŉ", "ŉ", "ŉ", "ŉ"),
        ("ᾀ", "ᾈ", "ᾀ", "ᾈ"),
        ("İ", "İ", "i", "İ"),
        ("ǆ", "Ǆ", "ǆ", "ǅ"),
    ],
)
def test_case_maps_one_rune_to_one_rune(rune, upper, lower, title):
    """A rune whose other case has several letters in Python is unchanged."""
    assert (text.upper(rune), text.lower(rune), text.title(rune)) == (upper, lower, title)


@pytest.mark.parametrize(
    ("string", "upper", "lower"),
    [
        (b"aB1", b"AB1", b"ab1"),
        ("Éß".encode(), "Éß".encode(), "éß".encode()),
        (b"a\xff", "A\ufffd".encode(), "a\ufffd".encode()),
    ],
)
def test_strings_change_case_rune_by_rune(string, upper, lower):
    """A byte that isn't UTF-8 becomes U+FFFD when the case of its string is changed."""
    assert (text.to_upper(string), text.to_lower(string)) == (upper, lower)


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
    """Unprintable characters are escaped, and all characters beyond ASCII on request."""
    assert quote(string) == quoted
    assert quote(string, ascii_only=True) == ascii_only


def test_characters_are_quoted_with_single_quotes():
    """A single quote is escaped in a quoted character, and a double quote is not."""
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
def test_a_raw_string_has_one_printable_line(string, possible):
    """Backticks, control characters, byte order marks and invalid bytes need a quoted string."""
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
    """Escapes stand for characters or bytes; a raw string has no escapes, and loses its carriage returns."""
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
def test_an_invalid_escape_is_reported_with_its_place(literal, offset):
    """The offset of an invalid escape counts from the opening quote."""
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
    """The escape of a byte is the code of the byte."""
    assert unquote_char(literal) == code


@pytest.mark.parametrize("literal", ["''", "'ab'", r"'\"'", r"'a\n'"])
def test_a_character_constant_has_one_character(literal):
    """A constant without a character, with two characters or with the escape of the other quote is an error."""
    with pytest.raises(QuotingError):
        unquote_char(literal)


@given(st.binary(max_size=40))
def test_quoted_strings_are_read_as_the_same_strings(string):
    """Any bytes are the same after quoting and unquoting."""
    assert unquote(quote(string).decode()) == string
    assert unquote(quote(string, ascii_only=True).decode()) == string


def test_outer_spaces_are_those_of_go():
    """The spaces of Go's unicode.IsSpace are those of Python without the information separators."""
    python = {chr(code) for code in range(0x110000) if chr(code).isspace()}
    assert set(text.GO_SPACES) == python - set("\x1c\x1d\x1e\x1f")


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
