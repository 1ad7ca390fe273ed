import pytest
from linting import block, findings, fixed, places, report

NAME = "untested-rewrite"


def test_a_rewrite_that_no_test_reaches():
    """It is found with a test to begin with, that says what happens now."""
    (found,) = findings(NAME, 'rewrite `^/a/(.*)$` -> `/b/$1`\nrewrite `^/c$` -> `/d`\ntest "/c" -> "/d"')
    assert (found.span.text, found.message) == ("`^/a/(.*)$`", "no test reaches this rewrite")
    assert found.help == 'add a test of a real key, such as `test "/a/" -> "/b/"`'


def test_a_target_without_tests_is_one_finding():
    """However many rewrites it has; carets are under its name."""
    (found,) = findings(NAME, "rewrite `^/a$` -> `/b`\nrewrite `^/c$` -> `/d`")
    assert (found.span.text, found.message) == ("site", "the target `site` has no test")


def test_a_target_without_rewrites_needs_no_test():
    """There is nothing to test."""
    assert places(NAME, "") == []


@pytest.mark.parametrize("second", ["rewrite `^/a$` -> `/c`", "rewrite `^a` -> `/c`"])
def test_what_no_key_reaches_needs_no_test(second):
    """There is no key to test it with."""
    assert places(NAME, f'rewrite `^/a$` -> `/b`\n{second}\ntest "/a" -> "/b"') == []


def test_a_template_that_needs_a_user_gets_no_example():
    """What depends on a user is left to the author."""
    (found,) = findings(NAME, "rewrite `^/a$` -> jinja `/{{ user.username }}`")
    assert found.help == "say with a `test` what becomes of a key"


def test_nothing_is_said_where_something_was_left_out():
    """A test with a mistake might have reached it."""
    found = report(site='target site {\nrewrite `^/a$` -> `/b`\ntest "a" -> "/b"\n}')
    assert [each.code for each in found.diagnostics] == ["bad-test"]


def test_a_test_that_nobody_would_copy_is_not_suggested():
    """A key of a thousand characters is not an example."""
    (found,) = findings(NAME, "rewrite `^/a{900}$` -> `/b`")
    assert found.help == "say with a `test` what becomes of a key"


ALLOWED = "rewrite `^/a$` -> `/b`  # allow: untested-rewrite (tried by hand)"


def test_a_target_without_tests_whose_rewrites_all_allow_it():
    """Nothing is said, neither of the target nor of the allowances, and no fix takes them out."""
    assert report(site=block(ALLOWED)).diagnostics == ()
    assert fixed("unused-allowance", ALLOWED) == ALLOWED


def test_a_target_without_tests_of_which_some_rewrites_allow_it():
    """The finding is about the others, and the allowance is of use."""
    (found,) = report(site=block(f"{ALLOWED}\nrewrite `^/c$` -> `/d`")).diagnostics
    assert (found.span.text, found.help) == ("site", 'add a test of a real key, such as `test "/c" -> "/d"`')
