import json
import re
from pathlib import Path

import pytest
from proving import is_treatable

from tornado_proxy.goregex.alphabet import Budget, Exhausted, Unsupported
from tornado_proxy.goregex.language import guess, language, longest_matching_part
from tornado_proxy.goregex.parser import parse


def _tree(text):
    return parse(text).tree


VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "regexp.json").read_text(encoding="utf-8"))["vectors"]
NO_KEY = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def test_texts_are_found_as_go_finds_them():
    """Go's own answers hold for all texts of characters that a key may hold."""
    asked = [each for each in VECTORS if not NO_KEY.search(each.get("text", "\0"))]
    read = [(language(each["pattern"]), each) for each in asked]
    assert len(asked) > 1000
    assert sum(not is_treatable(found) for found, _ in read) <= 1
    assert [each for found, each in read if is_treatable(found) and found.finds(each["text"]) != each["match"]] == []


def test_what_cannot_be_read_is_not_treatable():
    """A language without a tree has no automaton, and says why."""
    found = language("(?=a)")
    assert (found.tree, is_treatable(found), found.guess) == (None, False, None)
    with pytest.raises(Unsupported, match="look-ahead"):
        found.finds("/a")


def test_what_is_too_large_is_not_treatable_but_has_a_tree():
    """Where the automaton would be too large, the tree can still be shown."""
    found = language(".{1000}.{1000}.{1000}")
    assert found.tree
    assert not is_treatable(found)


@pytest.mark.parametrize(("depth", "has_tree"), [(60, True), (61, False)])
def test_what_is_too_deep_is_not_treatable(depth, has_tree):
    """Proofs recurse over the tree, so that its groups may only be so deep; groups side by side do not count."""
    found = language("(" * depth + ")" * depth)
    assert ((found.tree is not None), is_treatable(found)) == (has_tree, has_tree)
    assert is_treatable(language("()" * 61))


def test_finding_can_be_bounded():
    """A search in a key spends its steps."""
    with pytest.raises(Exhausted):
        language("b").finds("/" + "a" * 100, Budget(50))


def test_languages_of_one_text_are_equal():
    """A language is compared by its expression, and quoted by it."""
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
def test_a_guess_is_short_and_looks_like_a_key(text, key):
    """The fewest repetitions, the first branch, the most everyday characters."""
    assert guess(_tree(text)) == key


@pytest.mark.parametrize(
    "text", [r"/\.", r"/a/\.\./b", r"\n", r"a\nb", r"[\x00-\x1f]+", r"(?:\n|\t)", "/" + "a{1000}" * 2]
)
def test_what_is_no_key_is_not_guessed(text):
    """Where the text that comes to mind is not a real key, there is no guess."""
    assert guess(_tree(text)) is None


@pytest.mark.parametrize(
    ("text", "key", "part", "reached", "failing"),
    [
        (r"^/press/(?P<page>[^/]+)\.html$", "/preview", "^/pre", "/pre", "s"),
        (r"^/press/(?P<page>[^/]+)\.html$", "/press/", "^/press/", "/press/", "[^/]+"),
        (r"^/press/(?P<page>[^/]+)\.html$", "/press/a/b.html", "^/press/(?P<page>[^/]+)", "/press/a", r"\."),
        (r"^/press/(?P<page>[^/]+)\.html$", "/press/a.htm", r"^/press/(?P<page>[^/]+)\.htm", "/press/a.htm", "l"),
        (r"^/press/(?P<page>[^/]+)\.html$", "/press/a.html5", r"^/press/(?P<page>[^/]+)\.html", "/press/a.html", "$"),
        ("(?i)^/A/(b|c)/d{3}", "/a/c/dd", "(?i)^/A/(b|c)/", "/a/c/", "d{3}"),
        ("^docs/", "/docs/", "^", "", "d"),
        ("foo$", "/foo/x", "foo", "/foo", "$"),
        ("o+x", "/foo/o", "o+", "/foo/o", "x"),
        ("x", "/y", "", "", "x"),
        (r"/\bé", "/é", "/", "/", r"\b"),
        ("^/a/|^/b/c", "/b/x", "^/b/", "/b/", "c"),
        ("(^/a/b|^/a/(c|d)/)", "/a/c", "^/a/(c|d)", "/a/c", "/"),
    ],
)
def test_progress_shows_how_far_a_key_got(text, key, part, reached, failing):
    """The longest leading part that is found, where in the key it ends, and what finds nothing after it."""
    progress = longest_matching_part(language(text), key)
    start, end = progress.failing
    assert (text[slice(*progress.part)], key[: progress.reached], text[start:end]) == (part, reached, failing)


@pytest.mark.parametrize("text", ["^/a", "", "a|b", "(?:b|a)"])
def test_nothing_fails_where_the_source_is_found(text):
    """Of a source that matches, the whole is the part, or one of its branches."""
    assert longest_matching_part(language(text), "/a").failing is None


@pytest.mark.parametrize("text", ["(?=a)", ".{1000}.{1000}.{1000}", "a|.{1000}.{1000}.{1000}"])
def test_a_source_that_cannot_be_treated_has_no_progress(text):
    """Nothing is told rather than something wrong."""
    assert longest_matching_part(language(text), "/a") is None
