import pytest
from linting import findings, marked_texts

OVERLAPPING_REWRITES = "overlapping-rewrites"
CHAINED_REWRITE = "chained-rewrite"
NO_EFFECT = "no-effect"


BLOG = "rewrite blog `^/blog/(?P<rest>.*)$` -> `/archive/$rest`"
DRAFTS = "rewrite `^/[^/]+/draft/(?P<page>[^/]+)$` -> `/drafts/$page`"


def test_an_overlap_is_reported_with_a_key():
    """The message names the earlier rewrite and a key that both match."""
    (finding,) = findings(OVERLAPPING_REWRITES, f"{BLOG}\n{DRAFTS}")
    assert finding.message == "`blog` comes first and takes keys that this source also matches, such as `/blog/draft/a`"


@pytest.mark.parametrize(
    "statements",
    [
        "rewrite `^/blog/a$` -> `/1`\nrewrite `^/blog/` -> `/2`",  # the special case comes first
        "rewrite `^/blog/` -> `/1`\nrewrite `^/blog/a$` -> `/2`",  # unreachable
        "rewrite `^/a/` -> `/1`\nrewrite `^/b/` -> `/2`",
        "rewrite `^/a$` -> `/1`\nrewrite `^/a$` -> `/2`",
        "rewrite `/a/` -> `/1`\nrewrite `/b/` -> `/2`",  # not anchored
        f"{BLOG}\n{DRAFTS}\ntest `/blog/draft/b` -> `/archive/draft/b`",
    ],
)
def test_an_intended_order_has_no_finding(statements):
    """Special cases first, orders that other checks report, and orders that a test confirms have no finding."""
    assert marked_texts(OVERLAPPING_REWRITES, statements) == []


def test_a_test_of_another_key_does_not_confirm_the_order():
    """A test confirms the order only if both rewrites match its key."""
    assert len(marked_texts(OVERLAPPING_REWRITES, f"{BLOG}\n{DRAFTS}\ntest `/blog/a` -> `/archive/a`")) == 1


def test_several_overlaps_of_one_rewrite_are_one_finding():
    """A rewrite that overlaps several earlier ones has one finding, with three notes at most."""
    several = "\n".join(f"rewrite `^/{letter}/(?P<rest>.*)$` -> `/{letter}{letter}/$rest`" for letter in "abcde")
    (finding,) = findings(OVERLAPPING_REWRITES, f"{several}\n{DRAFTS}")
    assert finding.message.startswith("`#1` and 4 more come first and take keys")
    assert len(finding.notes) == 3


def test_a_key_that_an_earlier_rewrite_matches_is_not_an_overlap():
    """A key that a third rewrite matches before both doesn't count as an overlap."""
    assert marked_texts(OVERLAPPING_REWRITES, f"rewrite `^/blog/draft/[^/]+$` -> `/0`\n{BLOG}\n{DRAFTS}") == []


def test_a_result_that_another_rewrite_matches_is_reported():
    """The message has a key, its result, and the rewrite that matches the result."""
    (finding,) = findings(CHAINED_REWRITE, "rewrite `^/a/(.*)$` -> `/b/$1`\nrewrite second `^/b/(.*)$` -> `/c/$1`")
    assert finding.message == "`/a/` becomes `/b/`, which `second` matches but does not rewrite again"
    assert finding.notes[0].span.text == "`^/b/(.*)$`"


@pytest.mark.parametrize(
    "statements",
    [
        "rewrite `^/a/(.*)$` -> `/b/$1`",
        "rewrite `^/a/(.*)$` -> `/a/b/$1`",  # the same rewrite
        "rewrite `^/docs/latest/(.*)$` -> `/docs/4.2/$1`\nrewrite `^/docs/(.*)$` -> `/manual/$1`",  # both match the key
        "rewrite `^/a$` -> jinja `/{{ user.username }}`\nrewrite `^/b` -> `/c`",  # nobody is signed in
        "rewrite `^a` -> `/b`\nrewrite `^/b` -> `/c`",  # no key reaches it
    ],
)
def test_a_result_without_a_second_match_has_no_finding(statements):
    """A match by the rewrite itself, or by one that already matched the key, and an unknown result have no finding."""
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
        (r"^/\$(.*)$", "/$$$1"),
    ],
)
def test_a_rewrite_without_an_effect_is_reported(source, template):
    """A template that writes all that the source matches changes no key."""
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
        (r"^/\$\$(.*)$", "/$$$1"),
    ],
)
def test_a_rewrite_that_may_change_a_key_has_no_finding(source, template):
    """A rewrite that may change a key is accepted; a missing group is empty."""
    expected = 1 if template == "/a$nope" else 0
    assert len(marked_texts(NO_EFFECT, f"rewrite `{source}` -> `{template}`")) == expected


def test_other_dialects_have_no_finding():
    """Only plain templates are analysed."""
    assert marked_texts(NO_EFFECT, "rewrite `^/a$` -> jinja `/a`") == []


def test_a_rewrite_that_exempts_a_key_has_an_effect():
    """A rewrite that keeps a key from a later one is intended."""
    assert marked_texts(NO_EFFECT, "rewrite `^/a$` -> `/a`\nrewrite `^/` -> `/b`") == []


def test_a_later_rewrite_of_other_keys_does_not_matter():
    """A rewrite exempts no key from a later one that shares no key with it."""
    text = "rewrite `^/a/[a-m]$` -> `$0`\nrewrite `^/b/` -> `/c`\nrewrite `\\.x$` -> `/d`\nrewrite `^/a/[n-z]$` -> `/e`"
    assert len(marked_texts(NO_EFFECT, text)) == 1
