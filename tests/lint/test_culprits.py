import pytest
from linting import subject

from tornado_proxy.lang.diagnostic import Severity
from tornado_proxy.lint.check import Category, Check
from tornado_proxy.lint.culprits import culprit


def _failing_where(condition):
    def look(subject):
        yield from ()
        if condition(subject):
            raise ZeroDivisionError

    return Check("half", Category.DOUBTS, Severity.INFO, "", look)


RULES = "rewrite `^/a$` -> `/1`\nrewrite `^/b$` -> `/2`\nrewrite `^/c$` -> `/3`"


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (lambda subject: any(len(target.rewrites) > 1 for target in subject.targets), "`^/b$`"),
        (lambda subject: any(target.rewrites for target in subject.targets), "`^/a$`"),
        (lambda subject: subject.targets, "site"),
    ],
)
def test_the_least_that_makes_a_check_fail_is_named(condition, text):
    """The last rewrite of the fewest with which it fails, or the target where it needs none."""
    assert culprit(_failing_where(condition), subject(RULES)).text == text


@pytest.mark.parametrize("condition", [lambda _: True, lambda _: False])
def test_what_no_target_is_to_blame_for_has_no_place(condition):
    """A check that fails without any rules, or does not fail again."""
    assert culprit(_failing_where(condition), subject(RULES)) is None
