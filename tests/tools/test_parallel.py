import os

import pytest

from tornado_proxy.tools.parallel import in_portions


def _silent(part):
    pass


def test_work_on_few_items_is_done_here():
    """No worker is started for what is done at once."""
    assert set(in_portions(lambda items: os.getpid(), [1, 2], _silent)) == {os.getpid()}


def test_many_items_are_shared_out_and_results_keep_their_order():
    """Each portion is worked on once, in other processes, and the results are in the order of the items."""
    items = list(range(23_000))
    results = list(in_portions(lambda items: (os.getpid(), items[0], sum(items)), items, _silent, workers=2))
    assert [first for _, first, _ in results] == [0, 5_000, 10_000, 15_000, 20_000]
    assert sum(total for _, _, total in results) == sum(items)
    assert os.getpid() not in {process for process, _, _ in results}


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_ends_at_one(workers):
    """What is told grows with each portion, up to the whole."""
    told = []
    list(in_portions(len, list(range(12_000)), told.append, workers=workers))
    assert told == [1 / 3, 2 / 3, 1]


def test_there_may_be_nothing_to_do():
    """No items make no portion."""
    assert list(in_portions(len, [], _silent)) == []


def test_a_failure_of_a_worker_is_raised_here():
    """What goes wrong in a worker is not lost."""
    with pytest.raises(ZeroDivisionError):
        list(in_portions(lambda items: 1 // 0, list(range(6_000)), _silent, workers=2))
