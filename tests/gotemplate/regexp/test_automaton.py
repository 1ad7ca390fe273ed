import re

import pytest
from proving import finds, is_treatable
from recorded import vectors

from gotemplate.regexp.automaton import ASSERTION_BITS, Automaton, Budget, Exhausted, guess, is_valid_key, language
from gotemplate.regexp.parser import parse
from gotemplate.regexp.syntax import AssertionKind as Kind


def _tree(text):
    return parse(text).tree


@pytest.mark.parametrize(
    ("text", "literal_prefix"),
    [
        (r"^/a\.b[c]d", "/a.b"),
        ("^(/a)b+", "/a"),
        ("(?m)^/a", "/a"),
        ("^/(?i)1a", "/"),
        ("^^/a", ""),
        ("/a", ""),
        ("^/a|^/b", ""),
    ],
)
def test_the_literal_prefix_begins_every_key(text, literal_prefix):
    """The literal prefix is the plain text behind an anchor."""
    assert Automaton(_tree(text)).literal_prefix == literal_prefix


VECTORS = [vector for vector in vectors("regexp") if "match" in vector]
NO_KEY = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def test_languages_match_as_go_does():
    """Automata give the recorded answers of Go for all texts of characters that a key may have."""
    searched = [vector for vector in VECTORS if not NO_KEY.search(vector.get("text", "\0"))]
    languages = [(language(vector["pattern"]), vector) for vector in searched]
    assert len(searched) > 1000
    assert sum(not is_treatable(source) for source, _ in languages) <= 1
    assert [
        vector
        for source, vector in languages
        if is_treatable(source) and finds(source, vector["text"]) != vector["match"]
    ] == []


def test_a_large_expression_is_not_treatable_but_has_a_tree():
    """The language of an expression whose automaton would be too large still has a tree."""
    source = language(".{1000}.{1000}.{1000}")
    assert source.tree
    assert not is_treatable(source)


@pytest.mark.parametrize(
    "text", [r"/\.", r"/a/\.\./b", r"\n", r"a\nb", r"[\x00-\x1f]+", r"(?:\n|\t)", "/" + "a{1000}" * 2]
)
def test_an_invalid_key_is_not_guessed(text):
    assert guess(_tree(text)) is None


def test_a_portion_is_limited():
    budget = Budget(10)
    with pytest.raises(Exhausted):
        budget.portion(5).spend(6)
    assert budget.left == 10


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("/", True),
        ("/a/.b/...", True),
        ("", False),
        ("a", False),
        ("/a/./b", False),
        ("/..", False),
        ("/a\n", False),
        ("/\ud800", False),
        ("/" + "é" * 512, True),
        ("/" + "é" * 512 + "a", False),
    ],
)
def test_a_valid_key_is_one_that_rules_accept(text, valid):
    """A key starts with a slash and has no dot segments, no invisible characters and at most 1,025 bytes."""
    assert is_valid_key(text) is valid


def test_a_key_is_one_line():
    """The start and the end of a line are those of the text, because a key has no line end."""
    expected = (ASSERTION_BITS[Kind.TEXT_START], ASSERTION_BITS[Kind.TEXT_END])
    assert (ASSERTION_BITS[Kind.LINE_START], ASSERTION_BITS[Kind.LINE_END]) == expected
