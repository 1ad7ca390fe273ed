"""The garbage collector does not look at objects that stay, and seldom at all the others."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest

from tornado_proxy.service.reload.collector import CLIENT_WEIGHT, Collector


@pytest.fixture(autouse=True)
def _restored():
    """Unfreeze all objects after a test, and restore the thresholds."""
    thresholds, callbacks = gc.get_threshold(), [*gc.callbacks]
    yield
    gc.unfreeze()
    gc.callbacks[:] = callbacks
    gc.set_threshold(*thresholds)


class _Cycle:
    """An object that only the garbage collector can free."""

    def __init__(self) -> None:
        self.own = self


def _unreachable_cycle() -> weakref.ref[_Cycle]:
    return weakref.ref(_Cycle())


def test_lasting_objects_are_frozen():
    """The garbage collector does not visit frozen objects again."""
    Collector().freeze()
    assert gc.get_freeze_count() > 0


def test_frozen_cycles_are_freed_after_some_reloads():
    """A frozen cycle is freed after `thaw_after` reloads, and not before."""
    freezer = Collector(thaw_after=3)
    freezer.freeze()
    cycle = _unreachable_cycle()
    freezer.freeze()
    gc.collect()
    assert cycle() is not None
    for _ in range(3):
        freezer.freeze()
    assert cycle() is None


def test_new_clients_count_as_several_reloads():
    """A new client of S3 makes the freezer thaw sooner."""
    freezer = Collector(thaw_after=CLIENT_WEIGHT)
    freezer.freeze()
    cycle = _unreachable_cycle()
    freezer.freeze(new_clients=1)
    assert cycle() is None


def _full_collections(objects: int) -> int:
    """How often the collector looks at all objects while some new ones stay for a while."""
    before = gc.get_stats()[2]["collections"]
    for _ in range(20):
        kept = [[] for _ in range(objects // 20)]
        del kept
    return gc.get_stats()[2]["collections"] - before


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this collector looks at all objects in small steps")
def test_objects_that_come_and_go_do_not_make_the_collector_look_at_all():
    """While the process does not grow, only young objects are looked at."""
    gc.freeze()
    kept = _full_collections(1_000_000)
    Collector().defer()
    assert (kept > 0, _full_collections(1_000_000)) == (True, 0)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this collector looks at all objects in small steps")
def test_a_process_that_grows_looks_at_all_objects():
    """With a quarter more memory, cycles that have lived for a while are freed."""
    memory = iter([100, *[126] * 1000])
    gc.freeze()
    Collector(memory=lambda: next(memory)).defer()
    assert _full_collections(100_000) > 0
