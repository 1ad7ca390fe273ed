from __future__ import annotations

import pytest
from lark import Token

from tornado_proxy.lang.diagnostic import SourceFile, Span
from tornado_proxy.lang.literals import literal, name_text, string_text, undelimited
from tornado_proxy.lang.tree import Literal


def _literal(kind, text):
    source = SourceFile("a.rules", text)
    return literal(source, Token(kind, text, start_pos=0, end_pos=len(text)))


@pytest.mark.parametrize(
    ("written", "meant"),
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
def test_escapes_of_a_string_stand_for_their_characters(written, meant):
    """A string knows five escapes; a pair of surrogates is one character."""
    found, mistake = _literal("STRING", written)
    assert (found.value, found.raw, mistake) == (meant, False, None)


@pytest.mark.parametrize(
    ("written", "meant"), [("``", ""), (r"`\.\n`", r"\.\n"), ("`a\nb`", "a\nb"), ("`a\r\nb\rc`", "a\nb\rc")]
)
def test_raw_string_means_what_it_shows(written, meant):
    """Nothing in a raw string is an escape; only the CR of a CR LF is left out."""
    found, mistake = _literal("RAW", written)
    assert (found.value, found.raw, mistake) == (meant, True, None)


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
    found, _ = _literal(kind, written)
    assert len(found.offsets) == len(found.value) + 1
    assert list(found.offsets) == sorted(found.offsets)
    assert found.offsets[-1] in {len(written), len(written) - 1}
    plain = [(index, place) for index, place in enumerate(found.offsets[:-1]) if written[place] != "\\"]
    assert all(found.value[index] == written[place] for index, place in plain)


def test_character_of_an_escape_has_the_escapes_place():
    """A mistake in a pattern behind an escape is shown where it stands in the file."""
    found, _ = _literal("STRING", r'"\\("')
    assert found.at(1, 2).text == "("


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
def test_bad_escape_is_named(written, message, place):
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
def test_bad_escape_comes_with_its_cure(written, help):
    """The help says how to write what was probably meant."""
    _, mistake = _literal("STRING", written)
    assert mistake.help == help


def test_digit_after_a_backslash_is_meant_as_a_group():
    """The help shows how a plain template refers to a group."""
    _, mistake = _literal("STRING", r'"/b/\1"')
    assert mistake.help == "write `${1}` in a plain template for what the group captured"


def test_string_with_a_bad_escape_says_what_was_probably_meant():
    """The rest of the tools can go on with the text as it would stand between backticks."""
    found, _ = _literal("STRING", r'"^/a\.b\"\u12"')
    assert found.value == r'^/a\.b"\u12'


@pytest.mark.parametrize(
    ("text", "meant"),
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
def test_slashes_and_flags_around_a_pattern_are_no_part_of_it(text, meant):
    """Flags that change what is found stand in front, and a slash needs no backslash."""
    assert undelimited(text) == meant


NOWHERE = Span(SourceFile("a.rules", ""), 0, 0)


@pytest.mark.parametrize(
    ("name", "text"),
    [("site", "site"), ("target", "target"), ("a-b.c_1", "a-b.c_1"), ("", '""'), ("1st", '"1st"'), ("a->", '"a->"')],
)
def test_name_stands_bare_if_it_can(name, text):
    """A name that needs no quotes has none."""
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
def test_quoted_string_becomes_raw_where_that_reads_better(value, text):
    """A backslash or a quote needs no escape between backticks, unless the string holds what nobody sees there."""
    assert string_text(Literal(value, NOWHERE)) == text


@pytest.mark.parametrize(
    ("value", "text"), [("/a", "`/a`"), ("a\nb", "`a\nb`"), ("a`b", '"a`b"'), ("a\r\nb", r'"a\u000d\nb"')]
)
def test_raw_string_stays_raw_unless_it_cannot(value, text):
    """Only a backtick or a carriage return makes a raw string quoted."""
    assert string_text(Literal(value, NOWHERE, raw=True)) == text
