from pathlib import Path

from lark import Lark

from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.rules.reading import Reading, rules_parser

GRAMMAR = Path(__file__).parents[2] / "grammar" / "rules.lark"


def test_grammar_is_complete():
    """Lark reads the grammar file without additions, as LALR(1) without conflicts."""
    parser = Lark(GRAMMAR.read_text(encoding="utf-8"), start="document", parser="lalr")
    text = 'target target { rewrite jinja `a` -> jinja "b" # c\n test "/a" as as -> unchanged }'
    assert parser.parse(text).data == "document"


def test_lexer_can_go_back():
    """After a move to an earlier offset, the lexer returns the tokens and comments from there again."""
    text = "# one\n# two\n"
    reading = Reading(SourceFile("a.rules", text), text)
    assert list(reading.tokens()) == []
    reading.move_to(3)
    assert [str(comment) for comment in reading.comments] == ["# one"]
    reading.move_to(0)
    assert list(reading.tokens()) == []
    assert [str(comment) for comment in reading.comments] == ["# one", "# two"]


def test_parser_is_built_once():
    assert rules_parser() is rules_parser()


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
