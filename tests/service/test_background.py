"""Work in the background of requests, and objects that the garbage collector need not look at."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import weakref

import pytest

from tornado_proxy.service.generations import CLIENT_WEIGHT, GcFreezer, in_background


async def test_turns_are_short_while_it_works():
    """The switch interval is short, and the garbage collector is off."""
    usual = sys.getswitchinterval()
    assert await in_background(lambda: (sys.getswitchinterval() < usual, gc.isenabled())) == (True, False)
    assert (sys.getswitchinterval(), gc.isenabled()) == (usual, True)


async def test_turns_are_as_usual_after_a_failure():
    """A failure restores both settings, too."""
    usual = sys.getswitchinterval()
    with pytest.raises(ValueError, match="broken"):
        await in_background(int, "broken")
    assert (sys.getswitchinterval(), gc.isenabled()) == (usual, True)


async def test_one_task_works_at_a_time():
    """Each restores the settings that it found, so two at once would leave those of the first in force."""
    both = threading.Barrier(2)

    def meet() -> bool:
        try:
            both.wait(0.2)
        except threading.BrokenBarrierError:
            return False
        return True

    assert await asyncio.gather(in_background(meet), in_background(meet)) == [False, False]


@pytest.fixture(autouse=True)
def _thawed():
    """Thaws all objects after a test."""
    yield
    gc.unfreeze()


class _Cycle:
    """An object that only the collector can free."""

    def __init__(self) -> None:
        self.own = self


def _lost() -> weakref.ref[_Cycle]:
    return weakref.ref(_Cycle())


def test_what_stays_is_set_aside():
    """The collector does not look at it again."""
    GcFreezer().freeze()
    assert gc.get_freeze_count() > 0


def test_what_cycles_keep_alive_is_freed_in_time():
    """After some reloads, frozen objects are collected."""
    freezer = GcFreezer(thaw_after=3)
    freezer.freeze()
    lost = _lost()
    freezer.freeze()
    gc.collect()
    assert lost() is not None
    for _ in range(3):
        freezer.freeze()
    assert lost() is None


def test_clients_are_freed_sooner():
    """A client of a bucket counts as several reloads."""
    freezer = GcFreezer(thaw_after=CLIENT_WEIGHT)
    freezer.freeze()
    lost = _lost()
    freezer.freeze(new_clients=1)
    assert lost() is None
