import pytest
from jinja2 import tests
from jinja_texts import rendered

from tornado_proxy.templates.errors import LimitError
from tornado_proxy.templates.jinja.tests import TESTS


@pytest.mark.parametrize(
    "test",
    [
        "1 is defined",
        "request.query.zz is undefined",
        "none is none",
        "1 is not none",
        "1 is number",
        "1 is integer",
        "1.5 is float",
        "true is boolean",
        "true is true",
        "false is false",
        "'a' is string",
        "{} is mapping",
        "2 is even",
        "3 is odd",
        "6 is divisibleby(3)",
        "'a' is lower",
        "'A' is upper",
        "1 is eq(1)",
        "1 is equalto 1",
        "1 is ne 2",
        "1 is lt 2",
        "2 is gt 1",
        "1 is le 1",
        "1 is ge 1",
        "'a' is in ['a']",
    ],
)
def test_tests_hold_as_jinja_documents(test):
    """Each of them is true of what it is asked of."""
    assert rendered(f"{{{{ {test} }}}}") == "True"


def test_tests_pay_for_what_they_read():
    """Two nested lists that are equal are not gone through for ever."""
    with pytest.raises(LimitError):
        rendered(
            "{% set n = namespace(x=[1], y=[1]) %}"
            "{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% set n.y = [n.y, n.y] %}{% endfor %}"
            "{{ n.x is eq(n.y) }}"
        )


def test_every_test_is_one_of_jinja():
    """No name means something else here."""
    assert set(TESTS) <= set(tests.TESTS)
