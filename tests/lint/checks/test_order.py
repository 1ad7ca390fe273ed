import pytest
from linting import findings, marked_texts

OVERLAPPING_REWRITES = "overlapping-rewrites"
CHAINED_REWRITE = "chained-rewrite"
NO_EFFECT = "no-effect"


BLOG = "rewrite blog `^/blog/(?P<rest>.*)$` -> `/archive/$rest`"
DRAFTS = "rewrite `^/[^/]+/draft/(?P<page>[^/]+)$` -> `/drafts/$page`"


def test_a_key_that_both_match_is_shown():
    """The message names the earlier rewrite, and a key."""
    (found,) = findings(OVERLAPPING_REWRITES, f"{BLOG}\n{DRAFTS}")
    assert found.message == "`blog` comes first and takes keys that this source also matches, such as `/blog/draft/a`"


@pytest.mark.parametrize(
    "statements",
    [
        "rewrite `^/blog/a$` -> `/1`\nrewrite `^/blog/` -> `/2`",  # the special case stands first
        "rewrite `^/blog/` -> `/1`\nrewrite `^/blog/a$` -> `/2`",  # unreachable
        "rewrite `^/a/` -> `/1`\nrewrite `^/b/` -> `/2`",
        "rewrite `^/a$` -> `/1`\nrewrite `^/a$` -> `/2`",
        "rewrite `/a/` -> `/1`\nrewrite `/b/` -> `/2`",  # not anchored
        f"{BLOG}\n{DRAFTS}\ntest `/blog/draft/b` -> `/archive/draft/b`",
    ],
)
def test_an_order_that_nobody_wonders_about(statements):
    """Nothing is said of special cases, of what others checks say, and of an order that a test pins."""
    assert marked_texts(OVERLAPPING_REWRITES, statements) == []


def test_a_test_of_another_key_pins_nothing():
    """A test counts only where both match its key."""
    assert len(marked_texts(OVERLAPPING_REWRITES, f"{BLOG}\n{DRAFTS}\ntest `/blog/a` -> `/archive/a`")) == 1


def test_one_finding_for_a_rewrite():
    """Several earlier ones that share keys with one are one finding, with three notes at most."""
    several = "\n".join(f"rewrite `^/{letter}/(?P<rest>.*)$` -> `/{letter}{letter}/$rest`" for letter in "abcde")
    (found,) = findings(OVERLAPPING_REWRITES, f"{several}\n{DRAFTS}")
    assert found.message.startswith("`#1` and 4 more come first and take keys")
    assert len(found.notes) == 3


def test_a_key_that_a_third_takes_shows_nothing():
    """The order of two does not decide about a key that another one takes before both."""
    assert marked_texts(OVERLAPPING_REWRITES, f"rewrite `^/blog/draft/[^/]+$` -> `/0`\n{BLOG}\n{DRAFTS}") == []


def test_a_result_that_another_matches():
    """The message shows a key, its result, and who matches that."""
    (found,) = findings(CHAINED_REWRITE, "rewrite `^/a/(.*)$` -> `/b/$1`\nrewrite second `^/b/(.*)$` -> `/c/$1`")
    assert found.message == "`/a/` becomes `/b/`, which `second` matches but does not rewrite again"
    assert found.notes[0].span.text == "`^/b/(.*)$`"


@pytest.mark.parametrize(
    "statements",
    [
        "rewrite `^/a/(.*)$` -> `/b/$1`",
        "rewrite `^/a/(.*)$` -> `/a/b/$1`",  # itself
        "rewrite `^/docs/latest/(.*)$` -> `/docs/4.2/$1`\nrewrite `^/docs/(.*)$` -> `/manual/$1`",  # both match the key
        "rewrite `^/a$` -> jinja `/{{ user.username }}`\nrewrite `^/b` -> `/c`",  # nobody is signed in
        "rewrite `^a` -> `/b`\nrewrite `^/b` -> `/c`",  # no key reaches it
    ],
)
def test_results_that_nobody_expects_to_go_on(statements):
    """Nothing is said of a rewrite itself, of one that matched the key before, and of what has no result."""
    assert marked_texts(CHAINED_REWRITE, statements) == []


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
    assert len(marked_texts(NO_EFFECT, f"rewrite `{source}` -> `{template}`")) == 1


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
    assert len(marked_texts(NO_EFFECT, f"rewrite `{source}` -> `{template}`")) == expected


def test_other_dialects_are_left_alone():
    """Only plain templates are taken apart."""
    assert marked_texts(NO_EFFECT, "rewrite `^/a$` -> jinja `/a`") == []


def test_a_shield_has_an_effect():
    """A rewrite that keeps a key from a later one is meant."""
    assert marked_texts(NO_EFFECT, "rewrite `^/a$` -> `/a`\nrewrite `^/` -> `/b`") == []


def test_later_rewrites_of_other_keys_do_not_matter():
    """Nothing is shielded from a rewrite that shares no key, whether that is plain to see or must be proved."""
    text = "rewrite `^/a/[a-m]$` -> `$0`\nrewrite `^/b/` -> `/c`\nrewrite `\\.x$` -> `/d`\nrewrite `^/a/[n-z]$` -> `/e`"
    assert len(marked_texts(NO_EFFECT, text)) == 1
