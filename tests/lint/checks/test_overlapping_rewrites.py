import pytest
from linting import findings, places

NAME = "overlapping-rewrites"

BLOG = "rewrite blog `^/blog/(?P<rest>.*)$` -> `/archive/$rest`"
DRAFTS = "rewrite `^/[^/]+/draft/(?P<page>[^/]+)$` -> `/drafts/$page`"


def test_a_key_that_both_match_is_shown():
    """The message names the earlier rewrite, and a key."""
    (found,) = findings(NAME, f"{BLOG}\n{DRAFTS}")
    assert found.message == "`blog` stands before it and takes keys that it matches too, such as `/blog/draft/a`"


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
    assert places(NAME, statements) == []


def test_a_test_of_another_key_pins_nothing():
    """A test counts only where both match its key."""
    assert len(places(NAME, f"{BLOG}\n{DRAFTS}\ntest `/blog/a` -> `/archive/a`")) == 1


def test_one_finding_for_a_rewrite():
    """Several earlier ones that share keys with one are one finding, with three notes at most."""
    several = "\n".join(f"rewrite `^/{letter}/(?P<rest>.*)$` -> `/{letter}{letter}/$rest`" for letter in "abcde")
    (found,) = findings(NAME, f"{several}\n{DRAFTS}")
    assert found.message.startswith("`#1` and 4 more stand before it and take keys")
    assert len(found.notes) == 3


def test_a_key_that_a_third_takes_shows_nothing():
    """The order of two does not decide about a key that another one takes before both."""
    assert places(NAME, f"rewrite `^/blog/draft/[^/]+$` -> `/0`\n{BLOG}\n{DRAFTS}") == []
