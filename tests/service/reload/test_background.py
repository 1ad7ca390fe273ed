"""Work in the background of requests, and the garbage collector, which seldom looks at all objects."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import weakref

import pytest

from tornado_proxy.service.reload.background import CLIENT_WEIGHT, Collector, in_background


async def test_background_work_has_short_turns():
    """During the work, the switch interval of threads is short and the garbage collector is off."""
    default_interval = sys.getswitchinterval()
    assert await in_background(lambda: (sys.getswitchinterval() < default_interval, gc.isenabled())) == (True, False)
    assert (sys.getswitchinterval(), gc.isenabled()) == (default_interval, True)


async def test_a_collector_that_is_off_stays_off():
    """Background work leaves the collector as it found it."""
    gc.disable()
    try:
        await in_background(int)
        assert not gc.isenabled()
    finally:
        gc.enable()


async def test_a_failure_restores_the_settings():
    """After an exception, the switch interval and the garbage collector are as before."""
    default_interval = sys.getswitchinterval()
    with pytest.raises(ValueError, match="broken"):
        await in_background(int, "broken")
    assert (sys.getswitchinterval(), gc.isenabled()) == (default_interval, True)


async def test_background_work_runs_one_at_a_time():
    """Two tasks never run at once, since each restores the settings that it found."""
    barrier = threading.Barrier(2)

    def wait_for_the_other() -> bool:
        try:
            barrier.wait(0.2)
        except threading.BrokenBarrierError:
            return False
        return True

    assert await asyncio.gather(in_background(wait_for_the_other), in_background(wait_for_the_other)) == [False, False]


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
