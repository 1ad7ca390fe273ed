import re

import pytest
from proving import finds, is_treatable
from recorded import vectors

from gotemplate.regexp.alphabet import Unsupported
from gotemplate.regexp.language import guess, language
from gotemplate.regexp.parser import parse


def _tree(text):
    return parse(text).tree


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


def test_an_unsupported_expression_is_not_treatable():
    """The language of an unsupported expression has neither a tree nor a guess, and its error has the reason."""
    source = language("(?=a)")
    assert (source.tree, is_treatable(source), source.guess) == (None, False, None)
    with pytest.raises(Unsupported, match="look-ahead"):
        source.automaton  # noqa: B018 - the property raises


def test_a_large_expression_is_not_treatable_but_has_a_tree():
    """The language of an expression whose automaton would be too large still has a tree."""
    source = language(".{1000}.{1000}.{1000}")
    assert source.tree
    assert not is_treatable(source)


@pytest.mark.parametrize(("depth", "has_tree"), [(60, True), (61, False)])
def test_a_deep_expression_is_not_treatable(depth, has_tree):
    """The depth of nested groups is limited, because proofs recurse over the tree; groups in a row are not limited."""
    source = language("(" * depth + ")" * depth)
    assert ((source.tree is not None), is_treatable(source)) == (has_tree, has_tree)
    assert is_treatable(language("()" * 61))


def test_languages_are_compared_by_their_text():
    """Languages with the same text are equal, and their representation shows the text only."""
    assert language("a") == language("a")
    assert repr(language("a")) == "Language(text='a')"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (r"^/press/(?P<page>[^/]+)\.html$", "/press/a.html"),
        (r"\.html$", "/.html"),
        ("", "/"),
        (r"^/\d{4}/(?i:IMG|pic)_?", "/0000/img"),
        ("(?:[^\x00-\U0010ffff]|b)c", "/bc"),
        (r"/\pL/.", "/a/a"),
        (r"/\p{Greek}", "/\u0370"),
        (r"[[:punct:]]", "/-"),
        (r"/\W\S\w", "/-aa"),
        ("a{0}b", "/b"),
        (r"(?s)\Ax\z", "/x"),
    ],
)
def test_a_guess_is_short_and_readable(text, key):
    """A guess has the fewest repetitions, the first branches and the most readable characters."""
    assert guess(_tree(text)) == key


@pytest.mark.parametrize(
    "text", [r"/\.", r"/a/\.\./b", r"\n", r"a\nb", r"[\x00-\x1f]+", r"(?:\n|\t)", "/" + "a{1000}" * 2]
)
def test_an_invalid_key_is_not_guessed(text):
    """There is no guess if the guessed text is not a valid key."""
    assert guess(_tree(text)) is None
