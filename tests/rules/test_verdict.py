from rule_texts import document

from tornado_proxy.rules.compiler import compile_documents
from tornado_proxy.rules.errors import UserRequired
from tornado_proxy.rules.verdict import evaluate
from tornado_proxy.templates.data import TargetData

RULES = r"""
    rewrite moved `^/old/(.*)$` -> "/new/$1"
    rewrite `^/same$` -> "/same"
    rewrite `^/mine$` -> jinja "/{{ user.username }}"
    rewrite `^/where$` -> jinja "/{{ target.name }}{{ request.path }}"
"""


def _outcome(test, target=None):
    compiled = compile_documents([document(f"target site {{ {RULES} test {test} }}")])
    rule_set = compiled.rule_sets["site"]
    return evaluate(rule_set, rule_set.tests[0], target)


def test_the_expected_key_passes():
    """A test passes where the rules make the key that it expects, and tells which rewrite made it."""
    outcome = _outcome('"/old/a.txt" -> "/new/a.txt"')
    assert outcome.passed
    assert outcome.rewrite is not None
    assert outcome.rewrite.label == "moved"


def test_another_key_fails():
    """A test fails where the rules make another key."""
    assert not _outcome('"/old/a.txt" -> "/new/b.txt"').passed


def test_unchanged_means_that_no_rewrite_matched():
    """A rewrite to the same key is no key left unchanged, but it is the key."""
    assert _outcome('"/else" -> unchanged').passed
    assert not _outcome('"/same" -> unchanged').passed
    assert _outcome('"/same" -> "/same"').passed


def test_a_key_that_nothing_matched_may_be_expected_by_name():
    """The final key counts, whether or not a rewrite made it."""
    assert _outcome('"/else" -> "/else"').passed


def test_an_error_is_expected_or_a_failure():
    """A template that fails passes a test that expects it, fails any other, and names its rewrite."""
    assert _outcome('"/mine" -> error').passed
    outcome = _outcome('"/mine" -> "/ann"')
    assert not outcome.passed
    assert isinstance(outcome.got, UserRequired)
    assert outcome.rewrite is outcome.got.rewrite


def test_an_error_that_does_not_come_is_a_failure():
    """A test that expects an error fails where there is a key."""
    assert not _outcome('"/mine" as "ann" -> error').passed


def test_the_target_is_known_by_its_name_alone():
    """Without a configuration a template sees the target's name, and the key is the whole path."""
    assert _outcome('"/where" -> "/site/where"').passed


def test_a_configured_target_is_seen_with_its_mount():
    """With a configuration a template sees the path below the first mount."""
    assert _outcome('"/where" -> "/site/docs/where"', TargetData("site", mount_paths=("/docs/", "/d/"))).passed
