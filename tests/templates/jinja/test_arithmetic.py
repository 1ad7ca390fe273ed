import pytest
from jinja_texts import rendered

from tornado_proxy.templates.errors import LimitError, RenderError
from tornado_proxy.templates.jinja.arithmetic import apply
from tornado_proxy.templates.jinja.budget import Budget


@pytest.mark.parametrize(
    ("operator", "left", "right", "result"),
    [
        ("+", 1, 2, 3),
        ("-", 1.5, 1, 0.5),
        ("*", 3, 4, 12),
        ("/", 1, 2, 0.5),
        ("//", 7, 2, 3),
        ("%", -3, 2, 1),
        ("**", 2, 10, 1024),
        ("**", 2, -1, 0.5),
        ("**", 2.0, 3, 8.0),
        ("+", "a", "b", "ab"),
        ("+", [1], [2], [1, 2]),
        ("+", (1,), (2,), (1, 2)),
        ("*", "ab", 2, "abab"),
        ("*", 2, "ab", "abab"),
        ("*", "ab", -1, ""),
        ("*", [0], 3, [0, 0, 0]),
        ("*", 2, (0,), (0, 0)),
        ("%", "%s/%03d", ("a", 7), "a/007"),
        ("%", "%(x)s", {"x": "y"}, "y"),
    ],
)
def test_operators_are_those_of_python(operator, left, right, result):
    """Numbers are calculated, texts and lists joined and repeated, texts formatted."""
    assert apply(Budget(), operator, left, right) == result


@pytest.mark.parametrize(
    ("operator", "left", "right"),
    [
        ("*", "a", 300_000_000),
        ("*", 300_000_000, "a"),
        ("*", [1], 300_000_000),
        ("*", 300_000_000, (1,)),
        ("**", 2, 10**8),
        ("**", 10**300, 4),
        ("*", 10**300, 10**300),
        ("%", "%1000000000d", 1),
        ("%", "%*d", (10**9, 1)),
        ("+", "a" * 40_000, "b" * 40_000),
        ("+", [0] * 40_000, [0] * 40_000),
    ],
)
def test_nothing_is_made_that_is_larger_than_the_budget(operator, left, right):
    """The limit is reached before the work is done."""
    with pytest.raises(LimitError):
        apply(Budget(), operator, left, right)


@pytest.mark.parametrize(
    ("operator", "left", "right", "message"),
    [
        ("+", "a", 1, "`+` cannot be put between a text and a number"),
        ("-", "a", "b", "`-` cannot be put between a text and a text"),
        ("/", [1], 2, "`/` cannot be put between a list and a number"),
        ("+", None, "a", "`+` cannot be put between `none` and a text"),
        ("*", "a", "b", "`*` cannot be put between a text and a text"),
    ],
)
def test_operators_between_other_values_say_what_they_stand_between(operator, left, right, message):
    """The message is of the template's values, not of Python's types."""
    with pytest.raises(RenderError) as caught:
        apply(Budget(), operator, left, right)
    assert str(caught.value) == message


def test_a_division_by_zero_is_an_error_of_the_template():
    """Python's own error becomes ours."""
    with pytest.raises(RenderError, match="division by zero"):
        rendered("{{ 1 / 0 }}")
