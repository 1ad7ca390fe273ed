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


@pytest.mark.parametrize("source", ["^docs", r"/^\/docs/i", "docs$^"])
def test_what_no_key_can_match_is_left_to_its_own_check(source):
    """Where it would be found makes no difference."""
    assert places(NAME, f'rewrite `{source}` -> "/x"') == []


def test_a_source_between_slashes_that_keys_may_have():
    """The help says how it is written here, and nothing writes anchors around the slashes."""
    (found,) = findings(NAME, r'rewrite `/\/docs\/(\d+)/gi` -> "/x"')
    assert found.message == "the slashes around this are part of the source, which is found anywhere in a key"
    assert (found.help, found.fixes) == (r"write `(?i)/docs/(\d+)`", ())


def test_a_long_example_is_shortened():
    """A message shows as much of a key as helps."""
    (found,) = findings(NAME, f'rewrite `^/{"a" * 300}` -> "/x"')
    assert found.message == f"the source does not say where a key ends, in `/{'a' * 79}…` too"
