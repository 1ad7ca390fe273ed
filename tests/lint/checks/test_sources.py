import pytest
from linting import findings, fixed, marked_texts

UNANCHORED_SOURCE = "unanchored-source"
UNESCAPED_DOT = "unescaped-dot"


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
    assert marked_texts(UNANCHORED_SOURCE, f'rewrite `{source}` -> "/x"') == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (r"/news\.html", "the source matches anywhere in a key, such as `/x/news.htmlx`"),
        ("/old/", "the source matches at any depth, such as `/x/old/`"),
        (r"news\.html$", "the source matches at any depth, such as `/x/news.html`"),
        (r"^/news\.html", "the source matches with anything behind it, such as `/news.htmlx`"),
        ("^/a|^/b/", "the source matches with anything behind it, such as `/ax`"),
        ("^/docs(?:/.*)?", "the source matches with anything behind it, such as `/docsx`"),
        ("", "the source matches at any depth, such as `/x/`"),
        (r"^/a\b", "the source matches with anything behind it"),
    ],
)
def test_open_ends_are_shown_with_a_key(source, message):
    """The message names the open end and, if one is found, a key that matches because of it."""
    assert [each.message for each in findings(UNANCHORED_SOURCE, f'rewrite `{source}` -> "/x"')] == [message]


@pytest.mark.parametrize(
    ("source", "anchored"),
    [("/a", "^/a$"), ("/a/", "^/a/"), ("^/a", "^/a$"), ("/a|/b", "^(?:/a|/b)$"), ("^/a|^/b", "(?:^/a|^/b)$")],
)
def test_anchors_are_written(source, anchored):
    """The fix writes what is missing, around an alternation as a whole."""
    assert fixed(UNANCHORED_SOURCE, f'rewrite `{source}` -> "/x"') == f'rewrite `{anchored}` -> "/x"'


@pytest.mark.parametrize("source", ["^docs", r"/^\/docs/i", "docs$^"])
def test_what_no_key_can_match_is_left_to_its_own_check(source):
    """Where it would be found makes no difference."""
    assert marked_texts(UNANCHORED_SOURCE, f'rewrite `{source}` -> "/x"') == []


def test_a_source_between_slashes_that_keys_may_have():
    """The help says how it is written here, and nothing writes anchors around the slashes."""
    (found,) = findings(UNANCHORED_SOURCE, r'rewrite `/\/docs\/(\d+)/gi` -> "/x"')
    assert found.message == "the slashes around this are part of the source, which matches anywhere in a key"
    assert (found.help, found.fixes) == (r"write `(?i)/docs/(\d+)`", ())


def test_a_long_example_is_shortened():
    """A message shows as much of a key as helps."""
    (found,) = findings(UNANCHORED_SOURCE, f'rewrite `^/{"a" * 300}` -> "/x"')
    assert found.message == f"the source matches with anything behind it, such as `/{'a' * 79}…`"


@pytest.mark.parametrize(
    "source",
    [r"^/a\.html$", "^/.*html$", "^/../x$", "^/a.?b$", "^/.$", r"^/v1.\d+$", "^/[.]html$", "^/a.[a-z]$", "^/.+$"],
)
def test_dots_that_are_meant_are_left_alone(source):
    """Escaped, repeated, doubled and last dots are no slip, nor those before a class."""
    assert marked_texts(UNESCAPED_DOT, f'rewrite `{source}` -> "/x"') == []


@pytest.mark.parametrize(
    ("source", "column"),
    [
        ("^/a.html$", 4),
        ("^/[^/]+.(?:png|jpe?g)$", 8),
        ("^/a(.html)?$", 5),
        ("^/(?P<name>[^/]+).html$", 18),
        ("^/v1.2/", 5),
    ],
)
def test_a_dot_before_a_word_is_found(source, column):
    """A single dot with a letter or digit behind it, in every branch, is found with its place."""
    (found,) = findings(UNESCAPED_DOT, f"rewrite `{source}` -> `/x`")
    assert found.span.text == "."
    assert found.span.first.column == column + len("rewrite `")


def test_every_dot_is_found():
    """Each dot is a finding of its own."""
    assert marked_texts(UNESCAPED_DOT, "rewrite `^/v1.2.3/a.html$` -> `/x`") == [".", ".", "."]


@pytest.mark.parametrize(("written", "after"), [("`^/a.html$`", r"`^/a\.html$`"), ('"^/a.html$"', r'"^/a\\.html$"')])
def test_dots_are_escaped(written, after):
    """The fix writes a backslash as the string needs it."""
    assert fixed(UNESCAPED_DOT, f"rewrite {written} -> `/x`") == f"rewrite {after} -> `/x`"
