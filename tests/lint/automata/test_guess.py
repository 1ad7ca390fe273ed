import pytest

from tornado_proxy.lint.automata.guess import guess
from tornado_proxy.lint.automata.parser import parse


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
    assert guess(parse(text)) == key


@pytest.mark.parametrize(
    "text", [r"/\.", r"/a/\.\./b", r"\n", r"a\nb", r"[\x00-\x1f]+", r"(?:\n|\t)", "/" + "a{1000}" * 2]
)
def test_what_is_no_key_is_not_guessed(text):
    """Where the text that comes to mind is no real key, there is no guess."""
    assert guess(parse(text)) is None
