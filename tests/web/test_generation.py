"""A generation lives until its last request ends, and a store until its last generation is retired."""

from __future__ import annotations

import asyncio

import pytest

from tornado_proxy.config.model import Settings
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.web.generation import Generation, Parts, Shared

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
