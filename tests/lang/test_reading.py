from __future__ import annotations

from pathlib import Path

import pytest
from lark import Lark, Token
from lark.exceptions import UnexpectedToken

from tornado_proxy.lang.diagnostic import SourceFile
from tornado_proxy.lang.reading import Reading, Where, rules_parser

GRAMMAR = Path(__file__).parents[2] / "grammar" / "rules.lark"


def test_grammar_stands_by_itself():
    """The file is a whole grammar for Lark, LALR(1) without conflicts."""
    reader = Lark(GRAMMAR.read_text(encoding="utf-8"), start="document", parser="lalr")
    text = 'target target { rewrite jinja `a` -> jinja "b" # c\n test "/a" as as -> unchanged }'
    assert reader.parse(text).data == "document"


def _reading(text):
    """A reading that has been fed all tokens that fit."""
    reading = Reading(SourceFile("a.rules", text), text)
    for token in reading.tokens():
        reading.feed(token)
    return reading


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", Where.FILE),
        ("target a {}", Where.FILE),
        ("target", Where.HEADER),
        ("target a", Where.HEADER),
        ("target a {", Where.BLOCK),
        ('target a { rewrite "x"', Where.REWRITE),
        ('target a { rewrite "x" -> go', Where.REWRITE),
        ('target a { rewrite "x" -> "y"', Where.BLOCK),
        ('target a { test "x" as', Where.TEST),
        ('target a { test "x" -> error', Where.BLOCK),
    ],
)
def test_reading_knows_what_it_is_in_the_middle_of(text, where):
    """A statement that may end is done; one that may not is being read."""
    reading = _reading(text)
    assert reading.where(reading.accepts()) is where


def test_token_that_does_not_fit_is_refused():
    """Feeding a token out of place raises, and the reading stays where it is."""
    reading = _reading("target")
    with pytest.raises(UnexpectedToken):
        reading.feed(Token("RBRACE", "}"))
    assert reading.accepts() == {"NAME", "STRING"}


def test_text_that_is_incomplete_has_no_end():
    """The tree comes out only of a whole document."""
    with pytest.raises(UnexpectedToken):
        _reading("target a {").end()
    assert _reading("target a {}").end().data == "document"


def test_statement_can_be_forgotten():
    """Cutting back leads to where the statement began."""
    reading = _reading('target a { rewrite "x" ->')
    reading.cut_back()
    assert {"REWRITE", "TEST", "RBRACE"} <= reading.accepts()


def test_nothing_is_forgotten_between_blocks():
    """Where nothing has begun, cutting back does nothing."""
    reading = _reading("")
    reading.cut_back()
    assert reading.accepts() == {"TARGET", "$END"}


def test_lexer_can_go_back():
    """After a move the tokens come again from there, and so do the comments."""
    reading = _reading("# one\n# two\n")
    reading.move_to(3)
    assert [str(comment) for comment in reading.comments] == ["# one"]
    reading.move_to(0)
    assert list(reading.tokens()) == []
    assert [str(comment) for comment in reading.comments] == ["# one", "# two"]


def test_made_up_brace_opened_nothing():
    """The brace that a note may point at stands in the text."""
    reading = _reading("target a")
    assert reading.opening_brace() is None
    reading.insert("LBRACE")
    assert reading.opening_brace() is None
    assert _reading("target a {").opening_brace().start_pos == 9


def test_name_can_be_given_back():
    """A word that was taken for a name can be read as something else."""
    reading = _reading("target target")
    reading.give_back()
    assert (str(reading.last), reading.accepts()) == ("target", {"NAME", "STRING"})


def test_parser_is_built_once():
    """All readings share one parser and nothing else."""
    first, second = _reading("# a"), _reading("")
    assert rules_parser() is rules_parser()
    assert (len(first.comments), len(second.comments)) == (1, 0)
