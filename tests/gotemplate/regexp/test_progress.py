import pytest

from gotemplate.regexp.progress import longest_matching_part


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
def test_progress_has_the_longest_matching_part(text, key, part, reached, failing):
    """Progress has the longest leading part that matches, its end in the key, and the part after it that fails."""
    progress = longest_matching_part(text, key)
    start, end = progress.failing
    assert (text[slice(*progress.part)], key[: progress.reached], text[start:end]) == (part, reached, failing)


@pytest.mark.parametrize("text", ["^/a", "", "a|b", "(?:b|a)"])
def test_a_matching_source_has_no_failing_part(text):
    """The progress of a source that matches has no failing part."""
    assert longest_matching_part(text, "/a").failing is None
