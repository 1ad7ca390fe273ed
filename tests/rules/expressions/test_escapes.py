import pytest

from tornado_proxy.rules.expressions.errors import PatternError
from tornado_proxy.rules.expressions.escapes import read_escape


@pytest.mark.parametrize(
    ("text", "code", "end"),
    [
        (r"\.x", ord("."), 2),
        (r"\\x", ord("\\"), 2),
        (r"\_", ord("_"), 2),
        ("\\\x00", 0, 2),
        ("\\\x7f", 0x7F, 2),
        (r"\nx", 0x0A, 2),
        (r"\a", 0x07, 2),
        (r"\f", 0x0C, 2),
        (r"\r", 0x0D, 2),
        (r"\t", 0x09, 2),
        (r"\v", 0x0B, 2),
        (r"\x41x", 0x41, 4),
        (r"\x{1F600}x", 0x1F600, 9),
        (r"\x{0000041}", 0x41, 11),
        (r"\x{10FFFF}", 0x10FFFF, 10),
        (r"\0", 0, 2),
        (r"\08", 0, 2),
        (r"\012", 0o12, 4),
        (r"\0123", 0o12, 4),
        (r"\12", 0o12, 3),
        (r"\777", 0o777, 4),
        (r"\1234", 0o123, 4),
    ],
)
def test_an_escape_stands_for_one_character(text, code, end):
    """Punctuation is itself, letters have their meaning in C, digits are octal or hexadecimal."""
    assert read_escape(text, 0) == (code, end)


@pytest.mark.parametrize(
    ("text", "message", "end", "help"),
    [
        ("\\", "the expression ends in a backslash", 1, "write `\\\\` for the character itself"),
        (
            r"\1",
            r"`\1` is a back-reference, which Go does not have",
            2,
            "an expression cannot ask for the same text twice; match both, and let the template use one",
        ),
        (r"\18", r"`\1` is a back-reference, which Go does not have", 2, None),
        (r"\8", r"`\8` is a back-reference, which Go does not have", 2, None),
        (
            r"\x",
            r"`\x` needs two hexadecimal digits, or a code point in braces",
            2,
            r"write `\x41` or `\x{1F600}`",
        ),
        (r"\xa", r"`\x` needs two hexadecimal digits, or a code point in braces", 2, None),
        (r"\x{}", r"`\x` needs two hexadecimal digits, or a code point in braces", 2, None),
        (r"\x{110000}", r"`\x` needs two hexadecimal digits, or a code point in braces", 2, None),
        (r"\x{41", r"`\x` needs two hexadecimal digits, or a code point in braces", 2, None),
        (r"\Z", r"`\Z` is no escape that Go knows", 2, r"write `\z` for the end of the text"),
        (r"\C", r"`\C` is no escape that Go knows", 2, "a key is text, not bytes; write `.` for one character"),
        (r"\h", r"`\h` is no escape that Go knows", 2, r"write `[ \t]`"),
        (
            r"\q",
            r"`\q` is no escape that Go knows",
            2,
            r"write `q` for the character itself, `\\q` with a backslash before it",
        ),
        ("\\é", "`\\é` is no escape that Go knows", 2, None),
    ],
)
def test_a_refused_escape_says_what_to_write_instead(text, message, end, help):
    """The message names the escape; the cure is what Go has for it."""
    with pytest.raises(PatternError) as caught:
        read_escape(f"ab{text}", 2)
    assert (str(caught.value), caught.value.offset, caught.value.end) == (message, 2, 2 + end)
    if help is not None:
        assert caught.value.help == help


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        (r"\b", r"`\b` means nothing in a class", r"write `\x08` for a backspace"),
        (r"\A", r"`\A` means nothing in a class", "an assertion cannot stand in a class"),
        (r"\Q", r"`\Q` means nothing in a class", "escape each character with a backslash"),
        (r"\d", r"`\d` is a class, not the end of a range", r"write `\-` for the hyphen"),
        (r"\8", r"`\8` is no escape that Go knows", None),
    ],
)
def test_in_a_class_other_escapes_are_refused(text, message, help):
    """Assertions and classes are told apart from what no dialect knows."""
    with pytest.raises(PatternError, match=r"^`") as caught:
        read_escape(text, 0, in_class=True)
    assert str(caught.value) == message
    if help is not None:
        assert caught.value.help == help
