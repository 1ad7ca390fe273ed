from importlib import import_module
from pkgutil import iter_modules

import pytest
from linting import block, target

from tornado_proxy.lint import checks
from tornado_proxy.lint.check import Category, Check, comments_of, inserted, moved, removed, reworded
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.checks.texts import unescaped_dot
from tornado_proxy.lint.engine import edited
from tornado_proxy.rules.tree import Literal


def test_a_check_is_named_after_its_function():
    """Hyphens separate the words of the name, and the docstring is the summary."""
    assert unescaped_dot.name == "unescaped-dot"
    assert unescaped_dot.summary == "A `.` that matches any character, where a dot is probably meant."


def test_every_check_is_listed():
    """`CHECKS` has the checks of all modules, because no other one would run."""
    modules = [import_module(each.name) for each in iter_modules(checks.__path__, f"{checks.__name__}.")]
    shipped = {each.name for module in modules for each in vars(module).values() if isinstance(each, Check)}
    assert {check.name for check in CHECKS} == shipped


def test_the_check_of_allowances_is_last():
    """The check of allowances needs the findings that the others silenced."""
    assert CHECKS[-1].name == "unused-allowance"


@pytest.mark.parametrize("category", Category)
def test_every_category_has_checks_and_is_not_one(category):
    assert any(check.category is category for check in CHECKS)
    assert category.value not in {check.name for check in CHECKS}


def _statements(text):
    return [rewrite.statement for rewrite in target(text).rewrites]


@pytest.mark.parametrize(
    ("string", "expected"), [("`/a/b`", "`/x/b`"), (r'"/a/b"', '"/x/b"'), (r'"\u002fa/b"', '"/x/b"')]
)
def test_a_part_of_a_string_is_replaced(string, expected):
    """Offsets count the characters of the value, in any notation of the string."""
    (statement,) = _statements(f"rewrite `^/$` -> {string}")
    edits = reworded(statement.template, 0, 2, "/x")
    assert edited(block(f"rewrite `^/$` -> {string}"), edits) == block(f"rewrite `^/$` -> {expected}")


@pytest.mark.parametrize(("string", "expected"), [("`/`", r"`\"/`"), ('"/"', r'"\\\"/"')])
def test_text_is_escaped_for_its_string(string, expected):
    """A raw string contains the text unchanged, and a quoted one with escapes."""
    (statement,) = _statements(f"rewrite `^/$` -> {string}")
    edits = inserted(statement.template, 0, r"\"")
    assert edited(block(f"rewrite `^/$` -> {string}"), edits) == block(f"rewrite `^/$` -> {expected}")


@pytest.mark.parametrize(("string", "text"), [("`/`", "`"), ("`/`", "\r"), ('"/"', "\n")])
def test_text_that_a_string_cannot_contain_has_no_edit(string, text):
    (statement,) = _statements(f"rewrite `^/$` -> {string}")
    assert inserted(statement.template, 0, text) == ()


def test_a_string_without_a_source_has_no_edit():
    (statement,) = _statements("rewrite `^/$` -> `/`")
    assert reworded(Literal("/", statement.span), 0, 1, "x") == ()


def test_a_statement_is_removed_with_its_comments():
    """A statement is removed with its lines and comments, and those of others stay."""
    text = "# one\n  rewrite `^/$` -> `/` # two\nrewrite `^/a$` -> `/`"
    first, second = _statements(text)
    assert edited(block(text), removed(first)) == block("rewrite `^/a$` -> `/`")
    assert [comment.text for comment in comments_of(first)] == ["# one", "# two"]
    assert comments_of(second) == ()


def test_a_statement_that_shares_its_line_is_removed_alone():
    text = "rewrite `^/$` -> `/` rewrite `^/a$` -> `/`"
    assert edited(block(text), removed(_statements(text)[0])) == block(" rewrite `^/a$` -> `/`")


def test_a_statement_is_moved():
    text = "rewrite `^/$` -> `/`\nrewrite `^/a$` -> `/`"
    first, second = _statements(text)
    assert edited(block(text), moved(second, first)) == block("rewrite `^/a$` -> `/`\nrewrite `^/$` -> `/`")
