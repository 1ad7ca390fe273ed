import pytest

from tornado_proxy.lint.automata.errors import Exhausted, OnlyOverlong, Unproved, Unsupported


@pytest.mark.parametrize("reason", [Unsupported("`{0}` is no count"), Exhausted(), OnlyOverlong()])
def test_whatever_keeps_a_question_open_says_why(reason):
    """Each is one kind of open question, with a reason that can be shown."""
    assert isinstance(reason, Unproved)
    assert str(reason)
