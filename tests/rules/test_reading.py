from __future__ import annotations

import sys
from importlib.util import cache_from_source
from pathlib import Path

import lark.lark
import pytest
from lark import Lark, Token
from lark.exceptions import UnexpectedToken

from tornado_proxy.rules import reading as rules_reading
from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.rules.reading import Reading, rules_parser

GRAMMAR = Path(__file__).parents[2] / "grammar" / "rules.lark"


def test_grammar_is_complete():
    """Lark reads the grammar file without additions, as LALR(1) without conflicts."""
    parser = Lark(GRAMMAR.read_text(encoding="utf-8"), start="document", parser="lalr")
    text = 'target target { rewrite jinja `a` -> jinja "b" # c\n test "/a" as as -> unchanged }'
    assert parser.parse(text).data == "document"


def _reading(text):
    """Returns a reading that was fed all tokens of a text."""
    reading = Reading(SourceFile("a.rules", text), text)
    for token in reading.tokens():
        reading.feed(token)
    return reading


def test_unexpected_token_is_refused():
    """An unexpected token raises an exception and leaves the state of the reading as it was."""
    reading = _reading("target")
    with pytest.raises(UnexpectedToken):
        reading.feed(Token("RBRACE", "}"))
    assert reading.accepts() == {"NAME", "STRING"}


def test_lexer_can_go_back():
    """After a move to an earlier offset, the lexer returns the tokens and comments from there again."""
    reading = _reading("# one\n# two\n")
    reading.move_to(3)
    assert [str(comment) for comment in reading.comments] == ["# one"]
    reading.move_to(0)
    assert list(reading.tokens()) == []
    assert [str(comment) for comment in reading.comments] == ["# one", "# two"]


def test_parser_is_built_once():
    """All readings share one parser, but not their comments."""
    first, second = _reading("# a"), _reading("")
    assert rules_parser() is rules_parser()
    assert (len(first.comments), len(second.comments)) == (1, 0)


@pytest.fixture
def tables(monkeypatch, tmp_path):
    """The file where the parser keeps its tables, which is not there yet."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    folder = Path(cache_from_source(rules_reading.__file__)).parent
    folder.mkdir(parents=True)
    return folder / f"reading.{sys.implementation.cache_tag}.lark"


def _parses(parser):
    """Whether a parser reads a statement and its comment."""
    rules_reading._comments.set(comments := [])
    parser.parse('target a { rewrite `/` -> "/b" } # c\n')
    return comments == ["# c"]


def test_the_tables_of_the_parser_are_kept(tables, monkeypatch):
    """A second process does not read the grammar again."""
    rules_parser.__wrapped__()
    monkeypatch.setattr(lark.lark, "load_grammar", None)
    assert _parses(rules_parser.__wrapped__())
    assert tables.is_file()


def test_tables_serve_at_another_place(tables, monkeypatch, tmp_path):
    """A package is built in a directory that it is not installed in."""
    rules_parser.__wrapped__()
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "installed"))
    installed = tmp_path / "installed" / tables.relative_to(tmp_path)
    installed.parent.mkdir(parents=True)
    tables.rename(installed)
    monkeypatch.setattr(lark.lark, "load_grammar", None)
    assert _parses(rules_parser.__wrapped__())


@pytest.mark.parametrize("text", [b"", b"0\n", b"another grammar\n\x80\x04]."], ids=["empty", "broken", "of another"])
def test_tables_that_cannot_be_used_are_made_anew(tables, text):
    """A file that is being written, or of another version, does no harm."""
    tables.write_bytes(text)
    assert _parses(rules_parser.__wrapped__())
    assert len(tables.read_bytes()) > 1000


@pytest.mark.parametrize(("writes", "folder"), [(False, True), (True, False)], ids=["told not to", "no folder"])
def test_a_parser_needs_no_kept_tables(tables, monkeypatch, writes, folder):
    """Where no byte code is written, no tables are."""
    monkeypatch.setattr(sys, "dont_write_bytecode", not writes)
    if not folder:
        tables.parent.rmdir()
    assert _parses(rules_parser.__wrapped__())
    assert not tables.exists()


def test_two_files_can_be_read_at_once():
    """Each of two readings keeps its own comments, although they share a parser."""
    texts = [f"target a {{ # one {name}\n}} # two {name}\n" for name in "xy"]
    readings = [Reading(SourceFile(f"{name}.rules", text), text) for name, text in zip("xy", texts, strict=True)]
    for tokens in zip(*(reading.tokens() for reading in readings), strict=True):
        for reading, token in zip(readings, tokens, strict=True):
            reading.feed(token)
    for reading in readings:
        assert list(reading.tokens()) == []
    assert [[*map(str, reading.comments)] for reading in readings] == [["# one x", "# two x"], ["# one y", "# two y"]]


def test_lark_has_the_internals_that_recovery_changes():
    """Recovery changes stacks and the lexer's place, which Lark does not document: pyproject.toml bounds its version."""
    parser = rules_parser().parse_interactive("target a {")
    for token in parser.lexer_thread.lex(parser.parser_state):
        parser.parser_state.feed_token(token)
    assert [str(value) for value in parser.parser_state.value_stack][-3:] == ["target", "a", "{"]
    assert len(parser.parser_state.state_stack) == len(parser.parser_state.value_stack) + 1
    assert parser.lexer_thread.state.line_ctr.char_pos == len("target a {")
    assert "RBRACE" in parser.accepts()
    lines = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert '"lark>=1.2,<1.4"' in lines
