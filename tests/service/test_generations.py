"""The generations of a process."""

from __future__ import annotations

import asyncio
import gc
import weakref
from dataclasses import replace

import pytest
from memory_store import MemoryStore
from serving import generation

from tornado_proxy.gateway.generation import Shared
from tornado_proxy.service.generations import CLIENT_WEIGHT, GcFreezer, GenerationHolder
from tornado_proxy.telemetry.events import Retired


class _Closing(MemoryStore):
    """A store that remembers whether it was closed, and may fail at it."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.closed = False
        self._error = error

    async def close(self) -> None:
        self.closed = True
        if self._error:
            raise self._error


def _parts(store):
    # In a holder of its own: the generation that the helper makes holds its store too.
    return replace(generation(store).parts, stores={"site": Shared(store)})


def _run(story):
    return asyncio.run(asyncio.wait_for(story(), 10))


def test_a_swap_closes_what_only_the_old_one_held():
    """Nobody uses it: the store of the generation before is closed, and the retirement is told."""

    async def story():
        first, second, retired = _Closing(), _Closing(), asyncio.Event()
        holder = GenerationHolder(_parts(first), lambda event: retired.set() if event == Retired(1) else None)
        holder.swap(_parts(second), 2)
        await retired.wait()
        assert (first.closed, second.closed) == (True, False)
        assert holder.current().number == 2
        await holder.close()
        assert second.closed

    _run(story)


def test_a_request_keeps_its_generation_open():
    """The old store stays until the last request has left."""

    async def story():
        first = _Closing()
        holder = GenerationHolder(_parts(first), lambda _event: None)
        with holder.current():
            holder.swap(_parts(_Closing()), 2)
            await asyncio.sleep(0)
            assert (first.closed, holder.retiring) == (False, 1)
        await holder.close()
        assert first.closed

    _run(story)


def test_a_store_that_cannot_be_closed_holds_nothing_up():
    """A failure is logged, and the generation has retired all the same."""

    async def story():
        events = []
        holder = GenerationHolder(_parts(_Closing(OSError("stuck"))), events.append)
        await holder.close()
        assert events == [Retired(1)]

    _run(story)


@pytest.fixture(autouse=True)
def _thawed():
    """Nothing stays aside after a test."""
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
    """After so many reloads, what was set aside is looked at once more."""
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
    """A client of a bucket counts as many reloads."""
    freezer = GcFreezer(thaw_after=CLIENT_WEIGHT)
    freezer.freeze()
    lost = _lost()
    freezer.freeze(new_clients=1)
    assert lost() is None
