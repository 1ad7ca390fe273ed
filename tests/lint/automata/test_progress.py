import pytest

from tornado_proxy.lint.automata import language
from tornado_proxy.lint.automata.progress import longest_matching_part


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
def test_progress_tells_how_far_a_key_got(text, key, part, reached, failing):
    """The longest leading part that is found, where in the key it ends, and what finds nothing after it."""
    progress = longest_matching_part(language(text), key)
    start, end = progress.failing
    assert (text[slice(*progress.part)], key[: progress.reached], text[start:end]) == (part, reached, failing)


@pytest.mark.parametrize("text", ["^/a", "", "a|b", "(?:b|a)"])
def test_nothing_fails_where_the_source_is_found(text):
    """Of a source that matches, the whole is the part, or one of its branches."""
    assert longest_matching_part(language(text), "/a").failing is None


@pytest.mark.parametrize("text", ["(?=a)", "(?:.{1000}){3}", "a|(?:.{1000}){3}"])
def test_a_source_that_cannot_be_treated_has_no_progress(text):
    """Nothing is told rather than something wrong."""
    assert longest_matching_part(language(text), "/a") is None
