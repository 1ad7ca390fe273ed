"""What became of the items of a list."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.service.differences import difference, listed

LISTS = st.lists(st.integers(0, 9), max_size=12)


def test_each_item_has_its_fate():
    """Items are told apart by identity, and those of one identity by whether they are the same."""
    found = difference(["a1", "b1", "c1"], ["c1", "a2", "d1"], lambda each: each[0], lambda old, new: old == new)
    assert (found.added, found.removed, found.changed, found.moved) == (["d1"], ["b1"], ["a2"], ["c1"])


def test_items_of_one_identity_are_paired_in_order():
    """One more of the same is one that was added."""
    found = difference(["a", "a"], ["a", "a", "a"], str)
    assert (found.added, found.removed, found.moved) == (["a"], [], [])


@given(old=LISTS, new=LISTS)
def test_what_is_not_moved_keeps_its_order(old, new):
    """Without what came, went and moved, both lists are the same."""
    # Each occurrence is an item of its own.
    before = [(each, old[:at].count(each)) for at, each in enumerate(old)]
    after = [(each, new[:at].count(each)) for at, each in enumerate(new)]
    found = difference(before, after, lambda each: each)
    restless = {*found.added, *found.removed, *found.moved}
    assert [each for each in before if each not in restless] == [each for each in after if each not in restless]
    assert {*found.added} == {*after} - {*before}
    assert {*found.removed} == {*before} - {*after}


@given(items=st.permutations(range(7)), one=st.integers(0, 6), to=st.integers(0, 6))
def test_one_that_is_moved_is_moved_alone(items, one, to):
    """As little as possible counts as moved."""
    moved = [each for each in items if each != one]
    moved.insert(to, one)
    assert len(difference(items, moved, lambda each: each).moved) <= 1


def test_names_are_bounded():
    """The first five are named."""
    assert listed(range(5), str) == "0, 1, 2, 3, 4"
    assert listed(range(7), str) == "0, 1, 2, 3, 4 and 2 more"
