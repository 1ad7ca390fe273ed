import pytest
from go_programs import budget

from gotemplate.template.errors import DEFAULT_LIMITS, LimitError, RenderBudget, unmarked


def test_the_steps_of_a_budget_are_limited():
    render_budget = budget(steps=3)
    render_budget.spend(3)
    with pytest.raises(LimitError, match="more than 3 steps"):
        render_budget.spend()


def test_texts_are_charged_by_their_length():
    """A text costs one step for sixteen bytes, and has a largest size."""
    render_budget = budget(steps=10, text=100)
    render_budget.text(64)
    assert render_budget.left == 6
    render_budget.check_size(100)
    assert render_budget.left == 6
    with pytest.raises(LimitError, match="a text of more than 100 bytes"):
        render_budget.text(101)


def test_lists_are_charged_by_their_length():
    """A list costs one step for eight elements, and has a largest size."""
    render_budget = budget(steps=10, items=20)
    render_budget.items(16)
    assert render_budget.left == 8
    with pytest.raises(LimitError, match="a list of more than 20 elements"):
        render_budget.items(21)


def test_the_depth_of_nesting_is_limited():
    render_budget = budget(depth=2)
    render_budget.nest(2)
    with pytest.raises(LimitError, match="deeper than 2 levels"):
        render_budget.nest(3)


def test_what_is_inserted_is_marked_if_a_budget_asks_for_it():
    """A text between marks has none of its own, so that it cannot end early what is inserted."""
    asked = RenderBudget(DEFAULT_LIMITS, marked=True)
    assert asked.inserted("a\x02\x03b") == "\x02ab\x03"
    assert unmarked(asked.inserted("ab")) == budget().inserted("ab") == "ab"
