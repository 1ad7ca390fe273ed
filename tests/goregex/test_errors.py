import pytest

from tornado_proxy.goregex import errors
from tornado_proxy.goregex.errors import PatternError


def test_a_mistake_has_a_message_a_place_and_a_cure():
    """What is wrong, where, and what to write instead, are apart."""
    mistake = PatternError("nothing to repeat before `*`", 0, 1, "write `.*` for any text")
    assert (str(mistake), mistake.offset, mistake.end, mistake.help) == (
        "nothing to repeat before `*`",
        0,
        1,
        "write `.*` for any text",
    )


def test_a_mistake_of_the_whole_begins_at_the_beginning():
    """Without a place, a mistake is one of the whole expression."""
    mistake = PatternError("expression too large")
    assert (mistake.offset, mistake.end, mistake.help) == (0, None, None)


def test_longer_beginnings_come_first():
    """A group is named for the whole of its beginning: no entry hides a longer one behind it."""
    beginnings = [beginning for beginning, _, _ in errors.GROUPS]
    hidden = [
        (first, later)
        for number, first in enumerate(beginnings)
        for later in beginnings[number + 1 :]
        if later.startswith(first)
    ]
    assert hidden == []


@pytest.mark.parametrize(
    "table", [errors.FLAGS, errors.ESCAPES, errors.ESCAPES_IN_CLASS], ids=["flags", "escapes", "in class"]
)
def test_cures_are_told_without_a_full_stop(table):
    """Cures are phrases, as everywhere."""
    assert [cure for cure in table.values() if cure.endswith(".")] == []


def test_no_cure_is_given_for_what_go_has():
    """Escapes and flags of Go need none."""
    assert not set(errors.ESCAPES) & set("AbBzQdDsSwWpPafnrtvx01234567")
    assert not set(errors.FLAGS) & set("imsU")
