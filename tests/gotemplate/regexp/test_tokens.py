import pytest

from gotemplate.regexp import parser
from gotemplate.regexp.parser import read_count, read_escape, read_opening, read_posix_class, read_unicode_class
from gotemplate.regexp.syntax import PatternError


@pytest.mark.parametrize(
    ("text", "message", "end", "help"),
    [
        ("\\", "trailing backslash", 1, "write `\\\\` for the character itself"),
        (
            r"\1",
            r"unsupported back-reference `\1`",
            2,
            "an expression cannot require the same text twice; match both, and use one in the template",
        ),
        (r"\18", r"unsupported back-reference `\1`", 2, None),
        (r"\8", r"unsupported back-reference `\8`", 2, None),
        (r"\x", r"invalid escape `\x`", 2, r"write two hexadecimal digits, `\x41`, or a code point in braces, `\x{1F600}`"),
        (r"\xa", r"invalid escape `\x`", 2, None),
        (r"\x{}", r"invalid escape `\x`", 2, None),
        (r"\x{110000}", r"code point out of range `\x{110000}`", 10, r"the greatest is `\x{10FFFF}`"),
        (r"\x{41", r"invalid escape `\x`", 2, None),
        (r"\Z", r"invalid escape `\Z`", 2, r"write `\z` for the end of the text"),
        (r"\h", r"invalid escape `\h`", 2, r"write `[ \t]`"),
        (r"\q", r"invalid escape `\q`", 2, r"write `q` for the character itself, `\\q` with a backslash before it"),
        ("\\é", "invalid escape `\\é`", 2, None),
    ],
)  # fmt: skip
def test_a_refused_escape_has_help(text, message, end, help):
    """The message names the escape, and the help shows the equivalent in Go."""
    with pytest.raises(PatternError) as caught:
        read_escape(f"ab{text}", 2)
    assert (str(caught.value), caught.value.offset, caught.value.end) == (message, 2, 2 + end)
    if help is not None:
        assert caught.value.help == help


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        (r"\b", r"invalid escape `\b` in a class", r"write `\x08` for a backspace"),
        (r"\A", r"invalid escape `\A` in a class", "an assertion is not allowed in a class"),
        (r"\Q", r"invalid escape `\Q` in a class", "escape each character with a backslash"),
        (r"\d", r"invalid range end `\d`", r"write `\-` for the hyphen"),
        (r"\8", r"invalid escape `\8`", None),
    ],
)
def test_assertions_and_classes_are_refused_in_a_class(text, message, help):
    """An escape that is valid only outside of a class has its own help."""
    with pytest.raises(PatternError, match=r"^invalid") as caught:
        read_escape(text, 0, in_class=True)
    assert str(caught.value) == message
    if help is not None:
        assert caught.value.help == help


@pytest.mark.parametrize(
    ("text", "start", "end", "message"),
    [
        ("(?=a)", 0, 3, "unsupported look-ahead `(?=`"),
        ("(?!a)", 0, 3, "unsupported look-ahead `(?!`"),
        ("(?<=a)", 0, 4, "unsupported look-behind `(?<=`"),
        ("(?<!a>b)", 0, 4, "unsupported look-behind `(?<!`"),
        ("(?>a)", 0, 3, "unsupported atomic group `(?>`"),
        ("(?P=n)", 0, 4, "unsupported back-reference `(?P=`"),
        ("(?1)", 0, 3, "unsupported recursion `(?1`"),
        ("(?#a)", 0, 3, "unsupported comment `(?#`"),
        ("(?'n'a)", 0, 3, "unsupported group name in quotes `(?'`"),
        ("(?P<n.1>a)", 4, 7, "invalid group name `n.1`"),
        ("(?<é>a)", 3, 4, "invalid group name `é`"),
        ("(?<>a)", 3, 3, "missing group name"),
        ("(?P<n", 0, 4, "unclosed group name"),
        ("(?<n", 0, 3, "unclosed group name"),
        ("(?x)a", 2, 3, "unknown flag `x`"),
        ("(?iL)a", 3, 4, "unknown flag `L`"),
        ("(?i", 0, 3, "unclosed group"),
        ("(?-)a", 2, 3, "missing flag after `-`"),
        ("(?i-:a)", 3, 4, "missing flag after `-`"),
        ("(?i--s)", 4, 5, "unknown flag `-`"),
        ("(?Px)", 2, 3, "unknown flag `P`"),
    ],
)
def test_a_refused_group_has_a_message_and_a_place(text, start, end, message):
    """The message has the name of the construct in other dialects, at the characters that begin it."""
    with pytest.raises(PatternError) as caught:
        read_opening(text, 0)
    assert (str(caught.value), caught.value.offset, caught.value.end) == (message, start, end)
    assert caught.value.help


@pytest.mark.parametrize(
    ("text", "end", "message"),
    [
        (r"\p", 2, "missing character class name"),
        (r"\p{", 3, r"unclosed `\p{`"),
        (r"\P{Lu", 3, r"unclosed `\P{`"),
        (r"\p^", 3, "unknown character class `^`"),
        (r"\p{^^L}", 7, "unknown character class `^L`"),
        (r"\p{}", 4, "missing character class name"),
    ],
)
def test_a_refused_property_is_named(text, end, message):
    with pytest.raises(PatternError) as caught:
        read_unicode_class(text, 0, folded=False)
    assert (str(caught.value), caught.value.offset, caught.value.end) == (message, 0, end)


def test_an_unknown_posix_class_is_refused():
    """The place is the whole class, and a similar name is suggested."""
    with pytest.raises(PatternError, match="unknown character class `alpah`") as caught:
        read_posix_class("[:alpah:]", 0, folded=False)
    assert (caught.value.offset, caught.value.end, caught.value.help) == (0, 9, "did you mean `alpha`?")


def test_a_very_long_class_name_has_no_suggestion():
    """A very long name is not compared with all others, which would take too long."""
    with pytest.raises(PatternError) as caught:
        read_unicode_class(rf"\p{{{'Greek' * 20}}}", 0, folded=False)
    assert caught.value.help is None


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        ("{1001}", "repeat count too large `{1001}`", "the limit is 1000"),
        ("{0,1001}", "repeat count too large `{0,1001}`", "the limit is 1000"),
        ("{1001,}", "repeat count too large `{1001,}`", "the limit is 1000"),
        pytest.param("{" + "9" * 9999 + "}", None, "the limit is 1000", id="thousands of digits"),
        ("{3,2}", "invalid repeat count `{3,2}`", "write `{2,3}`"),
    ],
)
def test_a_refused_count_has_help(text, message, help):
    """As in Go, a count is at most a thousand, and the lower bound comes first."""
    with pytest.raises(PatternError) as caught:
        read_count(text, 0)
    assert message in (None, str(caught.value))
    assert (caught.value.offset, caught.value.end, caught.value.help) == (0, len(text), help)


def test_longer_group_openings_come_first():
    """No entry of the table is a prefix of a later entry, which it would hide."""
    openings = [opening for opening, _, _ in parser._GROUPS]
    hidden = [
        (first, later)
        for number, first in enumerate(openings)
        for later in openings[number + 1 :]
        if later.startswith(first)
    ]
    assert hidden == []


@pytest.mark.parametrize(
    "table", [parser._FLAGS_ELSEWHERE, parser._ESCAPES, parser._ESCAPES_IN_CLASS], ids=["flags", "escapes", "in class"]
)
def test_help_has_no_full_stop(table):
    """The help of every table has no full stop at its end."""
    assert [text for text in table.values() if text.endswith(".")] == []


def test_escapes_and_flags_of_go_have_no_help():
    """The tables of help have no escape or flag that Go supports."""
    assert not set(parser._ESCAPES) & set("AbBzQdDsSwWpPafnrtvx01234567")
    assert not set(parser._FLAGS_ELSEWHERE) & set("imsU")
