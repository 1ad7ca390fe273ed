import pytest
from linting import findings, places

NAME = "kind-change"


@pytest.mark.parametrize(
    ("source", "template"),
    [
        ("^/docs/$", "/manual/"),
        ("^/docs/(?P<rest>.*)$", "/manual/$rest"),
        (r"^/docs/[^/]+\.html$", "/manual/index.html"),
        ("^/docs/[^/]+$", "/x.html"),
        (r"^/docs/.*\.(?:html|x?htm)$", "/manual/index.html"),
        ("^/docs/", "/manual/index"),  # may be a directory
        ("^/docs", "/manual/"),  # the open end is a finding of its own
        ("^/docs/", "https://example.com/"),
        ("^/[^/]+/$", "/manual/"),
        ("^docs/$", "/manual/index.html"),
    ],
)
def test_kinds_that_stay_are_left_alone(source, template):
    """A directory that leads to one, a file to a file, and what may be either are no finding."""
    assert places(NAME, f"rewrite `{source}` -> `{template}`") == []


@pytest.mark.parametrize(
    ("source", "template", "message"),
    [
        ("^/docs/$", "`/manual/index.html`", "the directory `/docs/` becomes `/manual/index.html/`, which stays a directory"),
        ("^/docs/.*$", "`/page.html`", "the directory `/docs/` becomes `/page.html/`, which stays a directory"),
        ("^/(?:a|b/)$", "`/page.html`", "the directory `/b/` becomes `/page.html/`, which stays a directory"),
        ("^/docs$", "`/manual/`", "the file `/docs` becomes `/manual/`, which is not found as a file"),
        ("^/docs/(.*)$", "`/manual/$1/`", "the file `/docs/a` becomes `/manual/a/`, which is not found as a file"),
        ("^/docs$", "jinja `/{{ user.username }}/`", "the file `/docs` becomes another key, which is not found as a file"),
    ],
)  # fmt: skip
def test_kinds_that_change_are_shown_with_a_key(source, template, message):
    """The message shows a key and what becomes of it."""
    assert [each.message for each in findings(NAME, f"rewrite `{source}` -> {template}")] == [message]


def test_keys_that_an_earlier_rewrite_takes_do_not_count():
    """The directory itself may be taken before."""
    assert places(NAME, "rewrite `^/a/$` -> `/b/`\nrewrite `^/a/(?:x)?$` -> `/b/x.html`") == []


def test_a_key_that_comes_to_mind_needs_no_proof():
    """However many rewrites there are, those whose first guess shows it are all found."""
    rewrites = "\n".join(f"rewrite `/old{number}/` -> `/new/{number}/`" for number in range(1000))
    assert len(findings(NAME, rewrites)) == 1000
