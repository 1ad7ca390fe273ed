import pytest
from linting import block, rule_files, settings, subject, target

from gotemplate.regexp.proofs import Covered, Example, NoKey
from tornado_proxy.lint.check import subject_of
from tornado_proxy.rules.loading import compile_rule_files

CONFIGURATION = "targets: {site: {mount: {path: [/]}, bucket: {name: files, region: eu-west-1}}}"


def test_a_target_has_its_blocks_of_all_files():
    """The rules of a target are those of all its blocks."""
    files = rule_files(a=block("") + "target other {}", b=block("rewrite `^/$` -> `/a`"))
    site, other = subject_of(compile_rule_files(files)).targets
    assert (site.name, len(site.blocks), len(site.rewrites)) == ("site", 2, 1)
    assert (other.name, len(other.blocks)) == ("other", 1)


def test_a_subject_with_a_mistake_is_not_whole():
    """A subject is not whole if a statement with a mistake is missing."""
    assert subject("rewrite `^/$` -> `/a`").whole
    assert not subject("rewrite `(` -> `/a`").whole


def test_reachability_is_proved():
    """Each rewrite has a proof of whether a key reaches it after the earlier rewrites."""
    rules = target("rewrite `^/a` -> `/1`\nrewrite `^/ab$` -> `/2`\nrewrite `^b` -> `/3`")
    assert [type(proof) for proof in rules.reaches] == [Example, Covered, NoKey]
    assert [rules.example(index) for index in range(3)] == ["/a", None, None]


def test_a_key_has_a_taker_and_a_result():
    """The taker and the result of a key are those of a request without a user."""
    rules = target("rewrite `^/a$` -> `/1`\nrewrite `^/b$` -> jinja `/{{ user.username }}`")
    assert [rules.taker(key) for key in ("/a", "/b", "/c")] == [0, 1, None]
    assert [rules.result(key) for key in ("/a", "/b", "/c")] == ["/1", None, "/c"]


def test_templates_read_the_configured_target():
    """Tests and results read the target's configuration."""
    text = "rewrite `^/a$` -> jinja `/{{ target.bucket.name }}`\ntest `/a` -> `/files`"
    (rules,) = subject(text, settings(CONFIGURATION)).targets
    assert rules.result("/a") == "/files"
    assert [outcome.passed for outcome in rules.outcomes] == [True]


@pytest.mark.parametrize(
    ("text", "number"), [("", 0), ("rewrite `(` -> `/`\nrewrite `a` -> `/`\ntest `/` -> error", 2)]
)
def test_rewrites_are_counted(text, number):
    """Rewrites with mistakes are counted, and tests are not."""
    assert subject(text).rewrite_count == number


@pytest.mark.parametrize("marker", ["<" * 7, "|" * 7, "=" * 7, ">" * 7])
def test_a_target_with_conflict_markers_is_not_comparable(marker):
    """A target with conflict markers may have both sides of a merge; other mistakes leave a target comparable."""
    conflicted = subject(f"rewrite `^/a$` -> `/b`\n{marker} x\nrewrite `^/a$` -> `/c`")
    assert (len(conflicted.targets), conflicted.comparable) == (1, ())
    assert len(subject("rewrite `^/a$ -> `/b`").comparable) == 1
