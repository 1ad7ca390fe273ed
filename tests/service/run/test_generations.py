"""The generation in force, and those that retire."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from memory_store import MemoryStore
from serving import generation

from tornado_proxy.service.run.generations import Generations
from tornado_proxy.telemetry.events import Retired
from tornado_proxy.web.generation import Generation, Shared


class _ClosableStore(MemoryStore):
    """A store that records its closing, and can fail while it is closed."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.closed = False
        self._error = error

    async def close(self) -> None:
        self.closed = True
        if self._error:
            raise self._error


def _generation(number, store):
    # The store needs a `Shared` of its own, since the generation of the helper holds its store too.
    return Generation(number, replace(generation(store).parts, stores={"site": Shared(store)}))


def _run(scenario):
    return asyncio.run(asyncio.wait_for(scenario(), 10))


def test_a_swap_closes_the_old_store():
    """Without requests, the store of the old generation is closed and an event is emitted."""

    async def scenario():
        first, second, retired = _ClosableStore(), _ClosableStore(), asyncio.Event()
        generations = Generations(_generation(1, first), lambda event: retired.set() if event == Retired(1) else None)
        generations.swap(_generation(2, second))
        await retired.wait()
        assert (first.closed, second.closed) == (True, False)
        assert generations.in_force.number == 2
        await generations.close()
        assert second.closed

    _run(scenario)


def test_a_request_keeps_its_generation_open():
    """The old store stays open until the last request of its generation ends."""

    async def scenario():
        first = _ClosableStore()
        generations = Generations(_generation(1, first), lambda _event: None)
        with generations.in_force:
            generations.swap(_generation(2, _ClosableStore()))
            await asyncio.sleep(0)
            assert (first.closed, generations.retiring) == (False, 1)
        await generations.close()
        assert first.closed

    _run(scenario)


def test_a_failing_close_does_not_block_retirement():
    """If a store cannot be closed, its generation is retired anyway."""

    async def scenario():
        events = []
        generations = Generations(_generation(1, _ClosableStore(OSError("stuck"))), events.append)
        await generations.close()
        assert events == [Retired(1)]

    _run(scenario)
