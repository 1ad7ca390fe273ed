import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.templates.golang import text
from tornado_proxy.templates.golang.text import QuotingError, can_backquote, quote, quote_rune, unquote, unquote_char


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
def test_each_byte_that_is_no_utf8_is_one_replacement_character(string, runes):
    """Go reads a string rune by rune, and a wrong byte alone."""
    assert text.runes(string) == runes


@pytest.mark.parametrize(("source", "string"), [("é", b"\xc3\xa9"), ("a\ud800b", "a\ufffdb".encode())])
def test_a_lone_surrogate_is_no_character(source, string):
    """It becomes U+FFFD, as in a Go string made of runes."""
    assert text.go_string(source) == string


@pytest.mark.parametrize(
    ("string", "starts"), [(b"ab", [0, 1]), ("aéb".encode(), [0, 1, 3]), (b"\xff\xc3\xa9", [0, 1])]
)
def test_runes_start_where_their_first_byte_is(string, starts):
    """Offsets count bytes, not runes."""
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
def test_white_space_is_what_unicode_calls_so(string, trimmed):
    """The separators that Python strips as well stay, as bytes that are no UTF-8 do."""
    assert text.trim_space(string) == trimmed


@pytest.mark.parametrize(
    ("rune", "holding"),
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
def test_runes_are_distinguished_as_by_package_unicode(rune, holding):
    """Each rune is of the classes that Go's functions of these names say."""
    classes = {
        *(text.is_letter, text.is_lower, text.is_upper, text.is_title, text.is_digit),
        *(text.is_space, text.is_print),
    }
    assert {of for of in classes if of(rune)} == holding


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
def test_case_changes_one_rune_for_one(rune, upper, lower, title):
    """What Python would write with several letters keeps its own."""
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
    """A byte that is not UTF-8 becomes U+FFFD on the way."""
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
def test_what_is_no_escape_is_reported_with_its_place(literal, offset):
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
    """This holds for any bytes."""
    assert unquote(quote(string).decode()) == string
    assert unquote(quote(string, ascii_only=True).decode()) == string
