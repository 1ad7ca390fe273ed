import pytest
from linting import findings, fixed, places

NAME = "unanchored-source"


@pytest.mark.parametrize(
    "source",
    [
        r"^/news\.html$",
        "^/docs/",
        "^/docs/(?P<rest>.*)",
        "^/docs/.+",
        "^/(?:a|b)$",
        "^(?:/a/|/b/)",
        "^/a$|^/b$",
        r"(?i)^/a\z",
        r"\A/a\z",
        ".*/old/",
        "^.*/old/",
        r"\.php$",
        "^",
        "^(?:/a){2}$",
        r"\b^/a$",
    ],
)
def test_ends_that_are_spoken_of_are_left_alone(source):
    """A source may be anchored, speak of everything below or of any depth, or of the end of a file name."""
    assert places(NAME, f'rewrite `{source}` -> "/x"') == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (r"/news\.html", "the source is found anywhere in a key, in `/x/news.htmlx` too"),
        ("/old/", "the source is found at any depth, in `/x/old/` too"),
        (r"news\.html$", "the source is found at any depth, in `/x/news.html` too"),
        (r"^/news\.html", "the source does not say where a key ends, in `/news.htmlx` too"),
        ("^/a|^/b/", "the source does not say where a key ends, in `/ax` too"),
        ("^/docs(?:/.*)?", "the source does not say where a key ends, in `/docsx` too"),
        ("", "the source is found at any depth, in `/x/` too"),
        (r"^/a\b", "the source does not say where a key ends"),
    ],
)
def test_open_ends_are_shown_with_a_key(source, message):
    """The message says which end is open, with a key that is taken because of it where one comes to mind."""
    assert [each.message for each in findings(NAME, f'rewrite `{source}` -> "/x"')] == [message]


@pytest.mark.parametrize(
    ("source", "anchored"),
    [("/a", "^/a$"), ("/a/", "^/a/"), ("^/a", "^/a$"), ("/a|/b", "^(?:/a|/b)$"), ("^/a|^/b", "(?:^/a|^/b)$")],
)
def test_anchors_are_written(source, anchored):
    """The fix writes what is missing, around an alternation as a whole."""
    assert fixed(NAME, f'rewrite `{source}` -> "/x"') == f'rewrite `{anchored}` -> "/x"'
