import pytest
from linting import findings, places, report

from tornado_proxy.lang.diagnostic import Safety

NAME = "failing-test"
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
def test_what_happens_instead_is_said(test, message, meant):
    """The message says what became of the key; the fix, which is only shown, expects it."""
    (found,) = findings(NAME, RULES + test)
    assert found.message == message
    assert [(fix.edits[0].text, fix.safety) for fix in found.fixes] == [(meant, Safety.DISPLAY)]


def test_carets_are_under_what_is_expected():
    """The place is that of the expectation."""
    assert places(NAME, f'{RULES}test "/a" -> unchanged\ntest "/a" -> "/c"') == ["unchanged", '"/c"']


def test_tests_that_come_true_are_left_alone():
    """A test that passes is not a finding."""
    assert places(NAME, f'{RULES}test "/a" -> "/b"\ntest "/x" -> unchanged\ntest "/dots" -> error') == []


def test_nothing_is_run_where_a_rewrite_has_a_mistake():
    """A test may fail for want of the rewrite that was left out."""
    found = report(site='target site {\nrewrite `^/(` -> `/b`\ntest "/a" -> "/b"\n}')
    assert [each.code for each in found.diagnostics] == ["bad-source"]
