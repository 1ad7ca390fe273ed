"""The generation in force, and those that wait for their last requests."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from serving import generation

from tornado_proxy.gateway.generation import Shared
from tornado_proxy.service.live import Live
from tornado_proxy.storage.memory import MemoryStore
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
        live = Live(_parts(first), lambda event: retired.set() if event == Retired(1) else None)
        live.swap(_parts(second), 2)
        await retired.wait()
        assert (first.closed, second.closed) == (True, False)
        assert live.current().number == 2
        await live.close()
        assert second.closed

    _run(story)


def test_a_request_keeps_its_generation_open():
    """The old store stays until the last request has left."""

    async def story():
        first = _Closing()
        live = Live(_parts(first), lambda _event: None)
        with live.current().pin():
            live.swap(_parts(_Closing()), 2)
            await asyncio.sleep(0)
            assert (first.closed, live.retiring) == (False, 1)
        await live.close()
        assert first.closed

    _run(story)


def test_a_store_that_cannot_be_closed_holds_nothing_up():
    """A failure is logged, and the generation has retired all the same."""

    async def story():
        events = []
        live = Live(_parts(_Closing(OSError("stuck"))), events.append)
        await live.close()
        assert events == [Retired(1)]

    _run(story)
