import pytest
from linting import block, findings, fixed, marked_texts, report

from tornado_proxy.lang.diagnostic import Safety

FAILING_TEST = "failing-test"
UNTESTED_REWRITE = "untested-rewrite"


RULES = "rewrite moved `^/a$` -> `/b`\nrewrite `^/dots$` -> `/..`\n"


@pytest.mark.parametrize(
    ("test", "message", "meant"),
    [
        ('test "/a" -> "/c"', "`/a` becomes `/b`, not `/c`", '"/b"'),
        ('test "/a" -> unchanged', "`/a` becomes `/b`, but the test expects no rewrite to match", '"/b"'),
        ('test "/a" -> error', "`/a` becomes `/b`, but the test expects an error", '"/b"'),
        ('test "/x" -> "/b"', "no rewrite matches `/x`, but the test expects `/b`", "unchanged"),
        ('test "/x" -> error', "no rewrite matches `/x`, but the test expects an error", "unchanged"),
        ('test "/dots" -> unchanged', "`/dots` is refused (the result contains a `.` or `..` segment), but the test expects no rewrite to match", "error"),
        ('test "/dots" -> "/b"', "`/dots` is refused (the result contains a `.` or `..` segment), but the test expects `/b`", "error"),
    ],
)  # fmt: skip
def test_what_happens_instead_is_reported(test, message, meant):
    """The message says what became of the key; the fix, which is only shown, expects it."""
    (found,) = findings(FAILING_TEST, RULES + test)
    assert found.message == message
    assert [(fix.edits[0].text, fix.safety) for fix in found.fixes] == [(meant, Safety.DISPLAY)]


def test_carets_are_under_what_is_expected():
    """The place is that of the expectation."""
    assert marked_texts(FAILING_TEST, f'{RULES}test "/a" -> unchanged\ntest "/a" -> "/c"') == ["unchanged", '"/c"']


def test_tests_that_come_true_are_left_alone():
    """A test that passes is not a finding."""
    assert marked_texts(FAILING_TEST, f'{RULES}test "/a" -> "/b"\ntest "/x" -> unchanged\ntest "/dots" -> error') == []


def test_nothing_is_run_where_a_rewrite_has_a_mistake():
    """A test may fail for want of the rewrite that was left out."""
    found = report(site='target site {\nrewrite `^/(` -> `/b`\ntest "/a" -> "/b"\n}')
    assert [each.code for each in found.diagnostics] == ["bad-source"]


def test_a_rewrite_that_no_test_reaches():
    """It is found with a test to begin with, that says what happens now."""
    (found,) = findings(UNTESTED_REWRITE, 'rewrite `^/a/(.*)$` -> `/b/$1`\nrewrite `^/c$` -> `/d`\ntest "/c" -> "/d"')
    assert (found.span.text, found.message) == ("`^/a/(.*)$`", "no test reaches this rewrite")
    assert found.help == 'add a test of a real key, such as `test "/a/" -> "/b/"`'


def test_a_target_without_tests_is_one_finding():
    """However many rewrites it has; carets are under its name."""
    (found,) = findings(UNTESTED_REWRITE, "rewrite `^/a$` -> `/b`\nrewrite `^/c$` -> `/d`")
    assert (found.span.text, found.message) == ("site", "the target `site` has no test")


def test_a_target_without_rewrites_needs_no_test():
    """There is nothing to test."""
    assert marked_texts(UNTESTED_REWRITE, "") == []


@pytest.mark.parametrize("second", ["rewrite `^/a$` -> `/c`", "rewrite `^a` -> `/c`"])
def test_what_no_key_reaches_needs_no_test(second):
    """There is no key to test it with."""
    assert marked_texts(UNTESTED_REWRITE, f'rewrite `^/a$` -> `/b`\n{second}\ntest "/a" -> "/b"') == []


def test_a_template_that_needs_a_user_gets_no_example():
    """What depends on a user is left to the author."""
    (found,) = findings(UNTESTED_REWRITE, "rewrite `^/a$` -> jinja `/{{ user.username }}`")
    assert found.help == "add a `test` of a key that it takes"


def test_nothing_is_reported_where_something_was_left_out():
    """A test with a mistake might have reached it."""
    found = report(site='target site {\nrewrite `^/a$` -> `/b`\ntest "a" -> "/b"\n}')
    assert [each.code for each in found.diagnostics] == ["bad-test"]


def test_a_test_that_nobody_would_copy_is_not_suggested():
    """A key of a thousand characters is not an example."""
    (found,) = findings(UNTESTED_REWRITE, "rewrite `^/a{900}$` -> `/b`")
    assert found.help == "add a `test` of a key that it takes"


ALLOWED = "rewrite `^/a$` -> `/b`  # allow: untested-rewrite (tried by hand)"


def test_a_target_without_tests_whose_rewrites_all_allow_it():
    """Nothing is said, neither of the target nor of the allowances, and no fix takes them out."""
    assert report(site=block(ALLOWED)).diagnostics == ()
    assert fixed("unused-allowance", ALLOWED) == ALLOWED


def test_a_target_without_tests_of_which_some_rewrites_allow_it():
    """The finding is about the others, and the allowance is of use."""
    (found,) = report(site=block(f"{ALLOWED}\nrewrite `^/c$` -> `/d`")).diagnostics
    assert (found.span.text, found.help) == ("site", 'add a test of a real key, such as `test "/c" -> "/d"`')
