from __future__ import annotations

import os
from pathlib import Path

import pytest
from lark import Lark

from tornado_proxy.lang.grammar import FOLDERS, grammar_text, kept_parser, written
from tornado_proxy.lang.reading import TABLES, rules_parser, tables_text


def test_grammar_is_found():
    """The rule language's grammar is part of the installation."""
    assert "document" in grammar_text("rules.lark")


def test_grammar_in_the_package_comes_first(tmp_path):
    """A wheel's grammar, in the package, is taken before one beside it."""
    for name in ("package", "beside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rules.lark").write_text(name)
    assert grammar_text("rules.lark", [tmp_path / "package", tmp_path / "beside"]) == "package"


def test_grammar_beside_the_package_is_taken_in_a_checkout(tmp_path):
    """Where the package has no grammar, the one beside it serves."""
    (tmp_path / "rules.lark").write_text("beside")
    assert grammar_text("rules.lark", [tmp_path / "package", tmp_path]) == "beside"


def test_missing_grammar_is_named():
    """A grammar that is nowhere is an error that names it."""
    with pytest.raises(FileNotFoundError, match=r"`no\.lark`"):
        grammar_text("no.lark")


def test_both_places_belong_to_the_project():
    """The folders are the package's own and the checkout's."""
    assert [folder.name for folder in FOLDERS] == ["grammar", "grammar"]


def test_grammar_stands_by_itself():
    """The file is a whole grammar for Lark, LALR(1) without conflicts."""
    reader = Lark(grammar_text("rules.lark"), start="document", parser="lalr")
    text = 'target target { rewrite jinja `a` -> jinja "b" # c\n test "/a" as as -> unchanged }'
    assert reader.parse(text).data == "document"


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
    """What is an object is not part of the tables."""
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
