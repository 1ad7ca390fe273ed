import pytest
from linting import block, rule_files, settings, subject, target

from tornado_proxy.goregex.proofs import Covered, Example, NoKey
from tornado_proxy.lint.subject import subject_of
from tornado_proxy.rules.loading import compile_rule_files

CONFIGURATION = "targets: {site: {mount: {path: [/]}, bucket: {name: files, region: eu-west-1}}}"


def test_blocks_of_one_target_are_together():
    """A target's rules are all its blocks, of all files."""
    files = rule_files(a=block("") + "target other {}", b=block("rewrite `^/$` -> `/a`"))
    site, other = subject_of(compile_rule_files(files)).targets
    assert (site.name, len(site.blocks), len(site.rewrites)) == ("site", 2, 1)
    assert (other.name, len(other.blocks)) == ("other", 1)


def test_a_subject_with_a_mistake_is_not_whole():
    """Checks that conclude from what is missing ask for that."""
    assert subject("rewrite `^/$` -> `/a`").whole
    assert not subject("rewrite `(` -> `/a`").whole


def test_reachability_is_proved():
    """Each rewrite has its proof, by those that stand before it."""
    rules = target("rewrite `^/a` -> `/1`\nrewrite `^/ab$` -> `/2`\nrewrite `^b` -> `/3`")
    assert [type(each) for each in rules.reaches] == [Example, Covered, NoKey]
    assert [rules.example(index) for index in range(3)] == ["/a", None, None]


def test_a_key_has_a_taker_and_a_result():
    """They are what the daemon would find for a request of nobody."""
    rules = target("rewrite `^/a$` -> `/1`\nrewrite `^/b$` -> jinja `/{{ user.username }}`")
    assert [rules.taker(key) for key in ("/a", "/b", "/c")] == [0, 1, None]
    assert [rules.result(key) for key in ("/a", "/b", "/c")] == ["/1", None, "/c"]


def test_a_configured_target_is_seen_by_templates():
    """Tests and results read what the configuration says of the target."""
    text = "rewrite `^/a$` -> jinja `/{{ target.bucket.name }}`\ntest `/a` -> `/files`"
    (rules,) = subject(text, settings(CONFIGURATION)).targets
    assert rules.result("/a") == "/files"
    assert [outcome.passed for outcome in rules.outcomes] == [True]


@pytest.mark.parametrize(
    ("text", "number"), [("", 0), ("rewrite `(` -> `/`\nrewrite `a` -> `/`\ntest `/` -> error", 2)]
)
def test_rewrites_are_counted(text, number):
    """Those with mistakes count, tests do not."""
    assert subject(text).rewrite_count == number


@pytest.mark.parametrize("mark", ["<" * 7, "|" * 7, "=" * 7, ">" * 7])
def test_a_target_in_a_file_that_is_being_merged_is_not_comparable(mark):
    """Both sides of the conflict are in it, though other mistakes leave a target as it is."""
    merging = subject(f"rewrite `^/a$` -> `/b`\n{mark} x\nrewrite `^/a$` -> `/c`")
    assert (len(merging.targets), merging.comparable) == (1, ())
    assert len(subject("rewrite `^/a$ -> `/b`").comparable) == 1
