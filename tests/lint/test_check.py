import pytest

from tornado_proxy.lint import checks
from tornado_proxy.lint.check import Category, check_name, check_of
from tornado_proxy.lint.checks import CHECKS, missing_user, unescaped_dot


def test_a_name_is_that_of_the_module():
    """Hyphens stand for what cannot stand in a module's name."""
    assert check_name("tornado_proxy.lint.checks.unescaped_dot") == "unescaped-dot"


def test_a_check_is_its_module():
    """Everything about it is read off the module."""
    check = check_of(unescaped_dot)
    assert (check.name, check.category, check.look) == ("unescaped-dot", Category.DOUBTS, unescaped_dot.check)
    assert check.summary == "A `.` that stands for any character where a dot is probably meant."
    assert not check.needs_configuration
    assert check_of(missing_user).needs_configuration


def test_every_module_is_listed():
    """A check that nobody lists would never run."""
    modules = {name for name in vars(checks) if hasattr(vars(checks)[name], "SEVERITY")} - {"Check"}
    assert {check.name for check in CHECKS} == {name.replace("_", "-") for name in modules}


def test_allowances_are_judged_last():
    """The check of allowances asks what the others have silenced."""
    assert CHECKS[-1].name == "unused-allowance"


@pytest.mark.parametrize("category", Category)
def test_no_category_is_empty_or_a_check(category):
    """A word means one thing."""
    assert any(check.category is category for check in CHECKS)
    assert category.value not in {check.name for check in CHECKS}
