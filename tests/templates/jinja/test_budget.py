import pytest

from tornado_proxy.templates.errors import LimitError
from tornado_proxy.templates.jinja.budget import CHARACTERS, MACRO_DEPTH, STEPS, Budget


def test_steps_run_out():
    """The last step is allowed, the next is not."""
    budget = Budget()
    budget.work(STEPS)
    with pytest.raises(LimitError, match="the template takes more than 50000 steps"):
        budget.work()


def test_characters_run_out():
    """Text is counted in characters, and as work besides."""
    budget = Budget()
    budget.make(CHARACTERS)
    with pytest.raises(LimitError, match="the template makes more than 65536 characters"):
        budget.make(1)


def test_making_text_is_work():
    """Sixteen characters are a step."""
    budget = Budget()
    budget.work(STEPS - 2)
    budget.make(32)
    with pytest.raises(LimitError, match="steps"):
        budget.make(16)


@pytest.mark.parametrize(
    "value",
    ["x" * 16 * STEPS, [0] * STEPS, {"a": [0] * STEPS}, ([[[0] * STEPS]],)],
    ids=["text", "list", "mapping", "nested"],
)
def test_reading_is_work_as_deep_as_values_nest(value):
    """Whatever is looked at through and through is paid for."""
    with pytest.raises(LimitError):
        Budget().read(value)


def test_a_list_that_stands_in_several_places_is_read_in_each():
    """Sixty lists of two, each within the next, are more than any rendering can look at."""
    nested = [1]
    for _ in range(60):
        nested = [nested, nested]
    with pytest.raises(LimitError):
        Budget().read(nested)


def test_values_that_are_made_are_counted():
    """Texts by their characters, lists by their items, numbers not at all."""
    budget = Budget()
    budget.keep(10**100)
    budget.keep([0] * STEPS)
    with pytest.raises(LimitError, match="steps"):
        budget.keep((0,))
    with pytest.raises(LimitError, match="characters"):
        Budget().keep("x" * (CHARACTERS + 1))


def test_macros_call_one_another_only_so_deep():
    """A macro that has ended may be called again."""
    budget = Budget()

    def call(depth):
        with budget.macro():
            if depth > 1:
                call(depth - 1)

    call(MACRO_DEPTH)
    call(MACRO_DEPTH)
    with pytest.raises(LimitError, match="macros call one another more than 20 deep"):
        call(MACRO_DEPTH + 1)
