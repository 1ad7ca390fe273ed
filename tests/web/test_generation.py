"""The parts of a generation; the generation in force, and those that retire."""

import asyncio

import pytest

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


async def test_the_last_request_closes_the_stores():
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
    assert [*closed, store.closed] == [0, 0, 1]


async def test_a_failed_request_releases_its_generation():
    generation = _generation()
    with pytest.raises(ZeroDivisionError), generation:
        raise ZeroDivisionError
    await generation.retire()
    assert repr(generation) == "<Generation 1, 0 requests>"


async def test_a_store_of_the_next_generation_stays_open():
    store = _Store()
    shared = Shared(store)
    old, new = _generation(1, site=shared), _generation(2, site=shared)
    await old.retire()
    assert store.closed == 0
    await new.retire()
    assert store.closed == 1


async def test_a_store_of_two_targets_is_held_once():
    shared = Shared(_Store())
    generation = _generation(one=shared, two=shared)
    assert repr(shared) == "<Shared <a store>, 1 holders>"
    await generation.retire()
    assert shared.store.closed == 1


async def test_a_failing_store_does_not_keep_others_open():
    first, second = _Store(), _Store(OSError("broken"))
    with pytest.raises(OSError, match="broken"):
        await _generation(one=Shared(first), two=Shared(second)).retire()
    assert (first.closed, second.closed) == (1, 1)


async def test_a_swap_closes_the_old_store():
    first, second, retired = _Store(), _Store(), asyncio.Event()
    in_force = _generation(1, site=Shared(first))
    generations = Generations(in_force, lambda event: retired.set() if event == Retired(1) else None)
    generations.swap(_generation(2, site=Shared(second)))
    await retired.wait()
    assert (first.closed, second.closed, generations.in_force.number) == (1, 0, 2)
    await generations.close()
    assert second.closed == 1


async def test_a_failing_close_does_not_block_retirement():
    events = []
    generations = Generations(_generation(1, site=Shared(_Store(OSError("stuck")))), events.append)
    await generations.close()
    assert events == [Retired(1)]
