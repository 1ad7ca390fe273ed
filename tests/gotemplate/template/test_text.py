import pytest
from hypothesis import given
from hypothesis import strategies as st

from gotemplate.template import text
from gotemplate.template.text import QuotingError, can_backquote, quote, quote_rune, unquote, unquote_char


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
