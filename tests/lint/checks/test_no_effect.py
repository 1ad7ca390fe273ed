import pytest
from linting import places

NAME = "no-effect"


@pytest.mark.parametrize(
    ("source", "template"),
    [
        ("^/a$", "/a"),
        ("^/a/(?P<rest>.*)$", "/a/$rest"),
        ("^/a/(?P<rest>.*)", "/a/$1"),
        ("^/(a)(b)$", "/$1${2}"),
        ("^/[a-z]+$", "$0"),
        ("^(/.*)$", "$1"),
    ],
)
def test_results_that_are_the_key(source, template):
    """A template that writes all that the source reads changes nothing."""
    assert len(places(NAME, f"rewrite `{source}` -> `{template}`")) == 1


@pytest.mark.parametrize(
    ("source", "template"),
    [
        ("^/a/(?P<rest>.*)$", "/b/$rest"),
        ("^/a/", "/a/"),
        ("/a$", "/a"),
        ("(?i)^/a$", "/a"),
        ("^/a/(?P<rest>[^/]*)", "/a/$rest"),
        ("^/[a-z]$", "/a"),
        ("^/(a)(b)$", "/$2$1"),
        ("^/a$", "/a$nope"),
        (".*/a$", "$0"),
        ("^", "$0"),
    ],
)
def test_results_that_are_not_always_the_key(source, template):
    """Where anything may differ, nothing is said; a group that does not exist is empty."""
    expected = 1 if template == "/a$nope" else 0
    assert len(places(NAME, f"rewrite `{source}` -> `{template}`")) == expected


def test_other_dialects_are_left_alone():
    """Only plain templates are taken apart."""
    assert places(NAME, "rewrite `^/a$` -> jinja `/a`") == []


def test_a_shield_has_an_effect():
    """A rewrite that keeps a key from a later one is meant."""
    assert places(NAME, "rewrite `^/a$` -> `/a`\nrewrite `^/` -> `/b`") == []


def test_later_rewrites_of_other_keys_do_not_matter():
    """Nothing is shielded from a rewrite that shares no key, whether that is plain to see or must be proved."""
    text = "rewrite `^/a/[a-m]$` -> `$0`\nrewrite `^/b/` -> `/c`\nrewrite `\\.x$` -> `/d`\nrewrite `^/a/[n-z]$` -> `/e`"
    assert len(places(NAME, text)) == 1
