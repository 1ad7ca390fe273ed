import os
from pathlib import Path

import pytest
from lark import Lark

from tornado_proxy.lang.reading import TABLES, rules_parser, tables_text
from tornado_proxy.lang.tables import kept_parser, written

GRAMMAR = """
start: "a" pair*
pair: NAME ":" NAME
NAME: /[a-z]+/
%ignore " "
"""
OPTIONS = {"parser": "lalr", "lexer": "contextual"}


def _keep(hooks, grammar=GRAMMAR, options=OPTIONS):
    """The tables of a parser, as text."""
    return written(Lark(grammar, **options, **hooks), grammar, options, hooks)


def test_the_tables_are_those_of_the_grammar():
    """What is kept beside the grammar was made of it as it is now; `make tables` writes it anew."""
    path = Path(__file__).parents[2] / "grammar" / TABLES
    if os.environ.get("UPDATE_TABLES"):
        path.write_text(tables_text(), encoding="utf-8")
    assert tables_text() == path.read_text(encoding="utf-8")


def test_the_parser_is_made_of_what_is_kept():
    """Nothing is built where the tables are of this grammar and of this Lark."""
    assert rules_parser().source_path == "<deserialized>"


def test_a_parser_of_kept_tables_reads_as_the_one_that_was_built():
    """Tables say all that a parser knows."""
    tables = _keep({})
    text = "a one : two three : four"
    assert kept_parser(tables, GRAMMAR, OPTIONS, {}).parse(text) == Lark(GRAMMAR, **OPTIONS).parse(text)


def test_hooks_are_given_to_the_parser_that_is_made():
    """What is an object is no part of the tables."""
    seen = []
    hooks = {"lexer_callbacks": {"NAME": lambda token: seen.append(str(token)) or token}}
    kept_parser(_keep(hooks), GRAMMAR, OPTIONS, hooks).parse("a one : two")
    assert seen == ["one", "two"]


@pytest.mark.parametrize(
    ("grammar", "options"),
    [(GRAMMAR.replace("pair*", "pair+"), OPTIONS), (GRAMMAR, OPTIONS | {"keep_all_tokens": True})],
)
def test_tables_of_another_grammar_are_passed_over(grammar, options):
    """A grammar that was edited, or is read with other options, is built anew."""
    assert kept_parser(_keep({}), grammar, options, {}) is None


def test_tables_of_another_lark_are_passed_over():
    """What another version of Lark has written is never read."""
    assert kept_parser(_keep({}).replace('"origin":"', '"origin":"0'), GRAMMAR, OPTIONS, {}) is None
