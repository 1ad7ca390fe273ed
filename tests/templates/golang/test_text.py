import pytest

from tornado_proxy.templates.golang import text


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
    """Offsets count bytes."""
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
        ("٣", {text.is_digit, text.is_number, text.is_print}),
        ("½", {text.is_number, text.is_print}),
        ("!", {text.is_punct, text.is_print}),
        (" ", {text.is_space, text.is_print}),
        ("\xa0", {text.is_space}),
        ("\x00", set()),
    ],
)
def test_runes_are_told_apart_as_by_package_unicode(rune, holding):
    """Each rune is of the classes that Go's functions of these names say."""
    classes = {
        *(text.is_letter, text.is_lower, text.is_upper, text.is_title, text.is_digit),
        *(text.is_number, text.is_punct, text.is_space, text.is_print),
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
