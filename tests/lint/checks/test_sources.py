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
def test_an_intended_end_has_no_finding(source):
    """A source may be anchored, match all keys below a directory or at any depth, or match a suffix."""
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
def test_an_open_end_is_reported_with_a_key(source, message):
    """The message describes the open end and, if one is found, a key that matches because of it."""
    assert [finding.message for finding in findings(UNANCHORED_SOURCE, f'rewrite `{source}` -> "/x"')] == [message]


@pytest.mark.parametrize(
    ("source", "anchored"),
    [("/a", "^/a$"), ("/a/", "^/a/"), ("^/a", "^/a$"), ("/a|/b", "^(?:/a|/b)$"), ("^/a|^/b", "(?:^/a|^/b)$")],
)
def test_the_fix_writes_anchors(source, anchored):
    """The fix inserts the missing anchor, around an alternation as a whole."""
    assert fixed(UNANCHORED_SOURCE, f'rewrite `{source}` -> "/x"') == f'rewrite `{anchored}` -> "/x"'


@pytest.mark.parametrize("source", ["^docs", r"/^\/docs/i", "docs$^"])
def test_an_unmatchable_source_is_not_reported_as_unanchored(source):
    """A source that matches no key is reported by its own check only."""
    assert marked_texts(UNANCHORED_SOURCE, f'rewrite `{source}` -> "/x"') == []


def test_a_matchable_source_between_slashes_is_reported():
    """The help shows the source without the slashes, and no fix inserts anchors."""
    (finding,) = findings(UNANCHORED_SOURCE, r'rewrite `/\/docs\/(\d+)/gi` -> "/x"')
    assert finding.message == "the slashes around this are part of the source, which matches anywhere in a key"
    assert (finding.help, finding.fixes) == (r"write `(?i)/docs/(\d+)`", ())


def test_a_long_example_is_shortened():
    """An example key in a message is cut after 80 characters."""
    (finding,) = findings(UNANCHORED_SOURCE, f'rewrite `^/{"a" * 300}` -> "/x"')
    assert finding.message == f"the source matches with anything behind it, such as `/{'a' * 79}…`"


@pytest.mark.parametrize(
    "source",
    [r"^/a\.html$", "^/.*html$", "^/../x$", "^/a.?b$", "^/.$", r"^/v1.\d+$", "^/[.]html$", "^/a.[a-z]$", "^/.+$"],
)
def test_an_intended_dot_has_no_finding(source):
    """Escaped, repeated, doubled and final dots, and those before a class, are accepted."""
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
def test_an_unescaped_dot_is_reported(source, column):
    """A single dot before a letter or a digit, in any branch, is reported at its place."""
    (finding,) = findings(UNESCAPED_DOT, f"rewrite `{source}` -> `/x`")
    assert finding.span.text == "."
    assert finding.span.first.column == column + len("rewrite `")


def test_every_unescaped_dot_is_reported():
    """Each dot has its own finding."""
    assert marked_texts(UNESCAPED_DOT, "rewrite `^/v1.2.3/a.html$` -> `/x`") == [".", ".", "."]


@pytest.mark.parametrize(("source", "expected"), [("`^/a.html$`", r"`^/a\.html$`"), ('"^/a.html$"', r'"^/a\\.html$"')])
def test_the_fix_escapes_the_dot(source, expected):
    """The fix writes a backslash as the kind of string requires."""
    assert fixed(UNESCAPED_DOT, f"rewrite {source} -> `/x`") == f"rewrite {expected} -> `/x`"
