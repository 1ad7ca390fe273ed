"""Compilation in the background of requests, and objects that are frozen for the garbage collector."""

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


@pytest.fixture(autouse=True)
def _thawed():
    """Unfreeze all objects after a test."""
    yield
    gc.unfreeze()


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
