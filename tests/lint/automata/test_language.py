import json
import re
from pathlib import Path

import pytest

from tornado_proxy.lint.automata import Budget, language
from tornado_proxy.lint.automata.errors import Exhausted, Unsupported

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "regexp.json").read_text(encoding="utf-8"))["vectors"]
NO_KEY = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def test_texts_are_found_as_go_finds_them():
    """Go's own answers hold for all texts of characters that a key may hold."""
    asked = [each for each in VECTORS if not NO_KEY.search(each.get("text", "\0"))]
    read = [(language(each["pattern"]), each) for each in asked]
    assert len(asked) > 1000
    assert sum(not found.treatable for found, _ in read) <= 1
    assert [each for found, each in read if found.treatable and found.finds(each["text"]) != each["match"]] == []


def test_what_cannot_be_read_is_not_treatable():
    """A language without a tree has no automaton, and says why."""
    found = language("(?=a)")
    assert (found.tree, found.treatable, found.guess) == (None, False, None)
    with pytest.raises(Unsupported, match="look-ahead"):
        found.finds("/a")


def test_what_is_too_large_is_not_treatable_but_has_a_tree():
    """Where the automaton would be too large, the tree can still be shown."""
    found = language("(?:.{1000}){3}")
    assert found.tree
    assert not found.treatable


def test_finding_can_be_bounded():
    """A search in a key spends its steps."""
    with pytest.raises(Exhausted):
        language("b").finds("/" + "a" * 100, Budget(50))


def test_languages_of_one_text_are_equal():
    """A language is compared by its expression, and quoted by it."""
    assert language("a") == language("a")
    assert repr(language("a")) == "Language(text='a')"
