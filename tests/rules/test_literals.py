from __future__ import annotations

import pytest
from lark import Token

from tornado_proxy.rules.diagnostic import SourceFile, Span
from tornado_proxy.rules.literals import literal, name_text, string_text, undelimited
from tornado_proxy.rules.tree import Literal


def _literal(kind, text):
    source = SourceFile("a.rules", text)
    return literal(source, Token(kind, text, start_pos=0, end_pos=len(text)))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('""', ""),
        ('"a b"', "a b"),
        (r'"\\ \" \n \t"', '\\ " \n \t'),
        (r'"\u0041\u00e9"', "Aé"),
        (r'"\uD83D\uDE00"', "\N{GRINNING FACE}"),
        (r'"\\u0041"', r"\u0041"),
        ('"a`b"', "a`b"),
    ],
)
def test_escapes_of_a_string_stand_for_their_characters(written, value):
    """A string has five escapes, and a pair of surrogates is one character."""
    literal, mistake = _literal("STRING", written)
    assert (literal.value, literal.raw, mistake) == (value, False, None)


@pytest.mark.parametrize(
    ("written", "value"), [("``", ""), (r"`\.\n`", r"\.\n"), ("`a\nb`", "a\nb"), ("`a\r\nb\rc`", "a\nb\rc")]
)
def test_raw_string_has_no_escapes(written, value):
    """The value of a raw string is its text, without the CR of a CR LF."""
    literal, mistake = _literal("RAW", written)
    assert (literal.value, literal.raw, mistake) == (value, True, None)


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("NAME", "site"),
        ("STRING", '"abc"'),
        ("STRING", r'"a\\b\u0041c"'),
        ("STRING", r'"\uD83D\uDE00x"'),
        ("STRING", r'"a\.b"'),
        ("RAW", "`abc`"),
        ("RAW", "`a\r\nb`"),
    ],
)
def test_every_character_has_its_offset(kind, written):
    """There is an offset for each character of the value and one for its end, in order, within the text."""
    literal, _ = _literal(kind, written)
    assert len(literal.offsets) == len(literal.value) + 1
    assert list(literal.offsets) == sorted(literal.offsets)
    assert literal.offsets[-1] in {len(written), len(written) - 1}
    plain = [(index, offset) for index, offset in enumerate(literal.offsets[:-1]) if written[offset] != "\\"]
    assert all(literal.value[index] == written[offset] for index, offset in plain)


def test_character_behind_an_escape_has_its_own_place():
    literal, _ = _literal("STRING", r'"\\("')
    assert literal.at(1, 2).text == "("


@pytest.mark.parametrize(
    ("written", "message", "place"),
    [
        (r'"^/a\.b"', r"invalid escape `\.`", r"\."),
        (r'"\x41"', r"invalid escape `\x`", r"\x"),
        (r'"\u12"', r"invalid escape `\u`", r"\u"),
        (r'"\ud83d"', r"invalid escape `\ud83d`", r"\ud83d"),
        (r'"\ude00\ud83d"', r"invalid escape `\ude00`", r"\ude00"),
        (r'"\n\d\w"', r"invalid escape `\d`", r"\d"),
    ],
)
def test_bad_escape_is_reported(written, message, place):
    """The first bad escape of a string is reported at its place."""
    _, mistake = _literal("STRING", written)
    assert (mistake.code, mistake.message, mistake.span.text) == ("bad-escape", message, place)


@pytest.mark.parametrize(
    ("written", "help"),
    [
        (r'"^/a\.b"', r"write the string between backticks, where a backslash is literal: `^/a\.b`"),
        (r'"\"\d"', r'write the string between backticks, where a backslash is literal: `"\d`'),
        (r'"`\d"', r"write `\\d`; a string knows `\\`, `\"`, `\n`, `\t` and `\uXXXX`"),
        (r'"\u"', r"write the character itself, or `\uXXXX`; above U+FFFF it takes a pair, as in `\uD83D\uDE00`"),
    ],
)
def test_bad_escape_has_help(written, help):
    """The help about a bad escape shows the correct way to write the text."""
    _, mistake = _literal("STRING", written)
    assert mistake.help == help


def test_escaped_digit_is_explained_as_a_group():
    """The help about an escaped digit shows how a plain template refers to a group."""
    _, mistake = _literal("STRING", r'"/b/\1"')
    assert mistake.help == "write `${1}` in a plain template for what the group captured"


def test_string_with_a_bad_escape_has_a_value():
    """The value of a string with a bad escape is that of the same text between backticks."""
    literal, _ = _literal("STRING", r'"^/a\.b\"\u12"')
    assert literal.value == r'^/a\.b"\u12'


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        (r"/^\/foo$/i", "(?i)^/foo$"),
        ("/^/foo/", "^/foo"),
        (r"/\/foo\/(\d+)/gi", r"(?i)/foo/(\d+)"),
        ("/^a.b$/smx", None),
        ("/^a.b$/smg", "(?ms)^a.b$"),
        ("/foo/", None),
        ("^/foo/", None),
        ("//i", None),
    ],
)
def test_slashes_and_flags_around_a_pattern_are_removed(text, pattern):
    """Flags that change the matches move to the front, and an escaped slash loses its backslash."""
    assert undelimited(text) == pattern


NOWHERE = Span(SourceFile("a.rules", ""), 0, 0)


@pytest.mark.parametrize(
    ("name", "text"),
    [("site", "site"), ("target", "target"), ("a-b.c_1", "a-b.c_1"), ("", '""'), ("1st", '"1st"'), ("a->", '"a->"')],
)
def test_name_is_quoted_only_if_necessary(name, text):
    """A name that is a word is printed without quotes."""
    assert name_text(Literal(name, NOWHERE)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("/a", '"/a"'),
        (r"^/a\.b", r"`^/a\.b`"),
        ('{{ groups["1"] }}', '`{{ groups["1"] }}`'),
        ("`\\", r'"`\\"'),
        ('\n"', r'"\n\""'),
        ("\t", r'"\t"'),
        ("é\u00a0\u200b", r'"é\u00a0\u200b"'),
    ],
)
def test_quoted_string_is_printed_raw_if_it_has_escapes(value, text):
    """A string with a backslash or a quote is printed between backticks, unless it has invisible characters."""
    assert string_text(Literal(value, NOWHERE)) == text


@pytest.mark.parametrize(
    ("value", "text"), [("/a", "`/a`"), ("a\nb", "`a\nb`"), ("a`b", '"a`b"'), ("a\r\nb", r'"a\u000d\nb"')]
)
def test_raw_string_is_quoted_only_if_necessary(value, text):
    """A raw string is printed between quotes only if it has a backtick or a carriage return."""
    assert string_text(Literal(value, NOWHERE, raw=True)) == text
