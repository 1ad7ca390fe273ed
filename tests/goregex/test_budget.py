import pytest

from tornado_proxy.goregex.budget import Budget, Exhausted, OnlyOverlong, Unproved, Unsupported


@pytest.mark.parametrize("reason", [Unsupported("`{0}` is not a count"), Exhausted(), OnlyOverlong()])
def test_whatever_keeps_a_question_open_says_why(reason):
    """Each is one kind of open question, with a reason that can be shown."""
    assert isinstance(reason, Unproved)
    assert str(reason)


def test_a_budget_is_spent_to_the_last_step():
    """All steps may be spent, and not one more."""
    budget = Budget(3)
    budget.spend(2)
    assert budget.left == 1
    budget.spend(1)
    with pytest.raises(Exhausted, match="too long"):
        budget.spend(1)


def test_a_portion_spends_from_the_whole():
    """What one question spends is gone for the others."""
    whole = Budget(10)
    whole.portion(5).spend(4)
    assert whole.left == 6


def test_a_portion_ends_before_the_whole_does():
    """One question cannot spend what is meant for all."""
    whole = Budget(10)
    with pytest.raises(Exhausted):
        whole.portion(5).spend(6)
    assert whole.left == 10


def test_a_portion_is_never_more_than_the_whole_has():
    """A portion of a budget that is nearly spent has what is left of it."""
    portion = Budget(3).portion(5)
    assert portion.left == 3
    with pytest.raises(Exhausted):
        portion.spend(4)
