import pytest

from tornado_proxy.rules.expressions import advice


def test_longer_beginnings_come_first():
    """A group is named for the whole of its beginning: no entry hides a longer one behind it."""
    beginnings = [beginning for beginning, _, _ in advice.GROUPS]
    hidden = [
        (first, later)
        for number, first in enumerate(beginnings)
        for later in beginnings[number + 1 :]
        if later.startswith(first)
    ]
    assert hidden == []


@pytest.mark.parametrize("table", [advice.FLAGS, advice.ESCAPES, advice.IN_CLASS], ids=["flags", "escapes", "in class"])
def test_cures_are_told_without_a_full_stop(table):
    """Cures are phrases, as everywhere."""
    assert [cure for cure in table.values() if cure.endswith(".")] == []


def test_no_cure_is_given_for_what_go_has():
    """Escapes and flags of Go need none."""
    assert not set(advice.ESCAPES) & set("AbBzQdDsSwWpPafnrtvx01234567")
    assert not set(advice.FLAGS) & set("imsU")
