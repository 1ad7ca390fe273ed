from __future__ import annotations

import pytest
from lark.exceptions import UnexpectedToken

from tornado_proxy.lang.reading import Reading, Where
from tornado_proxy.lang.recovery.trouble import Trouble
from tornado_proxy.lang.source import SourceFile


def _trouble(text):
    reading = Reading(SourceFile("a.rules", text), text)
    try:
        for token in reading.tokens():
            reading.feed(token)
        reading.end()
    except UnexpectedToken as error:
        return Trouble.at(reading, error.token)
    raise AssertionError("the text has no mistake")


def test_trouble_knows_token_and_surroundings():
    """It says what the token is, what would have fitted, and in the middle of what."""
    trouble = _trouble('target a { rewrite "x"  => "y"')
    assert (trouble.token, trouble.start, trouble.end, trouble.where) == ("=>", 24, 26, Where.REWRITE)
    assert trouble.accepts == {"ARROW", "STRING", "RAW"}
    assert trouble.follows(3) == '"y"'


@pytest.mark.parametrize(
    ("text", "breaks_off", "place"),
    [
        ('target a { rewrite "x"\n  test', True, (22, 22)),
        ('target a { rewrite "x" test', False, (23, 27)),
        ('target a { rewrite "x"', True, (22, 22)),
        ('target a { rewrite "x"\n  ?', False, (25, 26)),
        ("target a {\n  oops", False, (13, 17)),
    ],
)
def test_statement_breaks_off_where_another_one_begins(text, breaks_off, place):
    """What should have gone on is pointed at where it ends, not at the next line."""
    trouble = _trouble(text)
    assert (trouble.breaks_off, trouble.place) == (breaks_off, place)


def test_first_token_of_a_file_is_first_on_its_line():
    """Before the first token nothing was fed."""
    assert _trouble("?").first_on_line
    assert not _trouble("target ?").first_on_line


@pytest.mark.parametrize(
    ("text", "surplus"),
    [
        ("?", False),
        ("target a { ?", False),
        ('target a { rewrite "x" -> "y" ?', True),
        ('target a { rewrite "x" -> "y"\n?', False),
        ('target a { rewrite "x" ?', False),
    ],
)
def test_token_behind_a_complete_statement_is_surplus(text, surplus):
    """On the line of a complete statement nothing else was meant to begin."""
    assert _trouble(text).is_surplus is surplus


def test_missing_tokens_can_be_put_before_the_token():
    """After an insertion the token is read again, now as what fits."""
    trouble = _trouble("target a test")
    trouble.insert("LBRACE")
    assert next(iter(trouble.reading.tokens())).type == "TEST"


@pytest.mark.parametrize(("token", "letters"), [("=>", False), ("@ann", True), ("é/", True)])
def test_punctuation_has_no_letters(token, letters):
    """Marks are told apart from text without quotes."""
    assert _trouble(f"target {token}").has_letters is letters
