from __future__ import annotations

import pytest
from lark import Lark

from tornado_proxy.lang.grammar import FOLDERS, grammar_text


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
