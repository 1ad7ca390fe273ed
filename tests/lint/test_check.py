import pytest
from linting import block, target

from tornado_proxy.lang.tree import Literal
from tornado_proxy.lint.check import (
    Category,
    Check,
    comments_of,
    inserted,
    listed,
    moved,
    removed,
    reworded,
    shown,
)
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.checks.security import MissingUser
from tornado_proxy.lint.checks.sources import UnescapedDot
from tornado_proxy.lint.engine import edited


def test_a_check_is_named_after_its_class():
    """Hyphens separate the words; the docstring is the manual page."""
    assert UnescapedDot.name == "unescaped-dot"
    assert UnescapedDot().summary == "A `.` that matches any character, where a dot is probably meant."


def test_most_checks_need_no_configuration():
    """One that does says so."""
    assert not UnescapedDot().needs_configuration
    assert MissingUser().needs_configuration


def test_every_check_is_listed():
    """A check that nobody lists would never run."""
    ours = [each for each in Check.__subclasses__() if each.__module__.startswith("tornado_proxy.")]
    assert {each.name for each in CHECKS} == {each.name for each in ours}


def test_allowances_are_judged_last():
    """The check of allowances asks what the others have silenced."""
    assert CHECKS[-1].name == "unused-allowance"


@pytest.mark.parametrize("category", Category)
def test_no_category_is_empty_or_a_check(category):
    """A word means one thing."""
    assert any(check.category is category for check in CHECKS)
    assert category.value not in {check.name for check in CHECKS}


@pytest.mark.parametrize(("words", "sentence"), [("a", "a"), ("ab", "a and b"), ("abc", "a, b and c")])
def test_lists_as_sentences_have_them(words, sentence):
    """The last word is joined by `and`."""
    assert listed(words) == sentence


def test_a_key_is_shown_as_far_as_it_helps():
    """What is longer than a line holds ends in an ellipsis."""
    assert [shown("/a" * count) for count in (40, 41)] == [f"`{'/a' * 40}`", f"`{'/a' * 40}…`"]


def _statements(text):
    return [rewrite.statement for rewrite in target(text).rewrites]


@pytest.mark.parametrize(("string", "after"), [("`/a/b`", "`/x/b`"), (r'"/a/b"', '"/x/b"'), (r'"\u002fa/b"', '"/x/b"')])
def test_a_part_of_a_string_is_replaced(string, after):
    """Offsets are those of the value, however it is written."""
    (statement,) = _statements(f"rewrite `^/$` -> {string}")
    edits = reworded(statement.template, 0, 2, "/x")
    assert edited(block(f"rewrite `^/$` -> {string}"), edits) == block(f"rewrite `^/$` -> {after}")


@pytest.mark.parametrize(("string", "after"), [("`/`", r"`\"/`"), ('"/"', r'"\\\"/"')])
def test_text_is_written_as_its_string_needs_it(string, after):
    """A raw string takes it as it is, a quoted one with escapes."""
    (statement,) = _statements(f"rewrite `^/$` -> {string}")
    edits = inserted(statement.template, 0, r"\"")
    assert edited(block(f"rewrite `^/$` -> {string}"), edits) == block(f"rewrite `^/$` -> {after}")


@pytest.mark.parametrize(("string", "text"), [("`/`", "`"), ("`/`", "\r"), ('"/"', "\n")])
def test_what_cannot_be_written_there(string, text):
    """There is no edit for a text that the string cannot hold."""
    (statement,) = _statements(f"rewrite `^/$` -> {string}")
    assert inserted(statement.template, 0, text) == ()


def test_a_string_without_places():
    """What was not read from a file cannot be edited."""
    (statement,) = _statements("rewrite `^/$` -> `/`")
    assert reworded(Literal("/", statement.span), 0, 1, "x") == ()


def test_a_statement_is_removed_with_its_comments():
    """Its lines go with it, those of others stay."""
    text = "# one\n  rewrite `^/$` -> `/` # two\nrewrite `^/a$` -> `/`"
    first, second = _statements(text)
    assert edited(block(text), removed(first)) == block("rewrite `^/a$` -> `/`")
    assert [each.text for each in comments_of(first)] == ["# one", "# two"]
    assert comments_of(second) == ()


def test_a_statement_that_shares_its_line():
    """Only the statement itself goes."""
    text = "rewrite `^/$` -> `/` rewrite `^/a$` -> `/`"
    assert edited(block(text), removed(_statements(text)[0])) == block(" rewrite `^/a$` -> `/`")


def test_a_statement_is_moved():
    """It goes above the other, with its line."""
    text = "rewrite `^/$` -> `/`\nrewrite `^/a$` -> `/`"
    first, second = _statements(text)
    assert edited(block(text), moved(second, first)) == block("rewrite `^/a$` -> `/`\nrewrite `^/$` -> `/`")
