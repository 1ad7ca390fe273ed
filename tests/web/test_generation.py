"""The parts of a generation; the generation in force, and those that retire."""

import asyncio
from dataclasses import replace

import pytest
from memory_store import MemoryStore
from serving import generation

from tornado_proxy.config.model import Settings
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.telemetry.events import Retired
from tornado_proxy.web.generation import Generation, Generations, Parts, Shared

PAGES = Pages()


class _Store:
    """A store that counts how often it is closed."""

    def __init__(self, error: Exception | None = None) -> None:
        self.closed = 0
        self._error = error

    def __repr__(self) -> str:
        return "<a store>"

    async def close(self) -> None:
        self.closed += 1
        if self._error:
            raise self._error


def _generation(number: int = 1, **stores: Shared) -> Generation:
    return Generation(number, Parts(Settings(), Mounts(()), PAGES, stores))


async def _settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_retired_generation_closes_its_stores():
    """Without requests, a retired generation closes its stores at once."""

    async def scenario():
        store = _Store()
        await _generation(site=Shared(store)).retire()
        return store.closed

    assert asyncio.run(scenario()) == 1


def test_the_last_request_closes_the_stores():
    """Retirement waits for every request that holds the generation."""

    async def scenario():
        store = _Store()
        generation = _generation(site=Shared(store))
        closed = []
        async with asyncio.TaskGroup() as group:
            with generation:
                with generation:
                    group.create_task(generation.retire())
                    await _settle()
                    closed.append(store.closed)
                await _settle()
                closed.append(store.closed)
        return [*closed, store.closed]

    assert asyncio.run(scenario()) == [0, 0, 1]


def test_a_failed_request_releases_its_generation():
    """A request that raises an exception no longer holds its generation."""

    async def scenario():
        generation = _generation()
        with pytest.raises(ZeroDivisionError), generation:
            raise ZeroDivisionError
        await generation.retire()
        return repr(generation)

    assert asyncio.run(scenario()) == "<Generation 1, 0 requests>"


def test_a_store_of_the_next_generation_stays_open():
    """A store of two generations is closed when the second one retires."""

    async def scenario():
        store = _Store()
        shared = Shared(store)
        old, new = _generation(1, site=shared), _generation(2, site=shared)
        await old.retire()
        closed_before = store.closed
        await new.retire()
        return closed_before, store.closed

    assert asyncio.run(scenario()) == (0, 1)


def test_a_store_of_two_targets_is_held_once():
    """Two targets of a generation that share a store are one holder."""

    async def scenario():
        shared = Shared(_Store())
        generation = _generation(one=shared, two=shared)
        description = repr(shared)
        await generation.retire()
        return description, shared.store.closed

    assert asyncio.run(scenario()) == ("<Shared <a store>, 1 holders>", 1)


def test_a_failing_store_does_not_keep_others_open():
    """Every store is closed, and the failure of one is raised."""

    async def scenario():
        first, second = _Store(), _Store(OSError("broken"))
        with pytest.raises(OSError, match="broken"):
            await _generation(one=Shared(first), two=Shared(second)).retire()
        return first.closed, second.closed

    assert asyncio.run(scenario()) == (1, 1)


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


def _closable(number, store):
    # The store needs a `Shared` of its own, since the generation of the helper holds its store too.
    return Generation(number, replace(generation(store).parts, stores={"site": Shared(store)}))


def _run(scenario):
    return asyncio.run(asyncio.wait_for(scenario(), 10))


def test_a_swap_closes_the_old_store():
    """Without requests, the store of the old generation is closed and an event is emitted."""

    async def scenario():
        first, second, retired = _ClosableStore(), _ClosableStore(), asyncio.Event()
        generations = Generations(_closable(1, first), lambda event: retired.set() if event == Retired(1) else None)
        generations.swap(_closable(2, second))
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
        generations = Generations(_closable(1, first), lambda _event: None)
        with generations.in_force:
            generations.swap(_closable(2, _ClosableStore()))
            await asyncio.sleep(0)
            assert (first.closed, generations.retiring) == (False, 1)
        await generations.close()
        assert first.closed

    _run(scenario)


def test_a_failing_close_does_not_block_retirement():
    """If a store cannot be closed, its generation is retired anyway."""

    async def scenario():
        events = []
        generations = Generations(_closable(1, _ClosableStore(OSError("stuck"))), events.append)
        await generations.close()
        assert events == [Retired(1)]

    _run(scenario)
