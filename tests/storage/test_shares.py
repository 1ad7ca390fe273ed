from __future__ import annotations

import asyncio
import random

import pytest

from tornado_proxy.storage import shares
from tornado_proxy.storage.errors import Busy, Unreachable
from tornado_proxy.storage.shares import CLIENT, Shares


def take(places: Shares, client: str) -> asyncio.Task[str]:
    """Begins to take a place for a client."""

    async def taking():
        CLIENT.set(client)
        return await places.take()

    return asyncio.ensure_future(taking())


async def taken(places: Shares, client: str, count: int) -> list[asyncio.Task[str]]:
    """Begins to take places, and returns the tasks that got one."""
    tasks = [take(places, client) for _ in range(count)]
    for _ in range(3):
        await asyncio.sleep(0)
    return [task for task in tasks if task.done() and not task.exception()]


@pytest.fixture
def impatient(monkeypatch):
    """Lets nobody wait."""
    monkeypatch.setattr(shares, "PLACE_WITHIN", 0)


@pytest.mark.parametrize(("size", "most"), [(1, 1), (2, 1), (4, 3), (512, 384)])
async def test_no_client_takes_all_places(impatient, size, most):
    """A client gets three quarters of the places, and the next one still gets some."""
    places = Shares("a place", size, size)
    assert len(await taken(places, "a", size)) == most
    assert bool(await taken(places, "b", 1)) is (size > 1)


async def test_a_share_is_of_what_others_left(impatient):
    """Each further client gets three quarters of the rest, so that a few greedy ones leave a place for one more."""
    places = Shares("a place", 512, 1000)
    assert [len(await taken(places, client, 512)) for client in "abcde"] == [384, 96, 24, 6, 1]


async def test_what_no_client_asked_for_may_take_all(impatient):
    """Probes and the like have no share."""
    assert len(await taken(Shares("a place", 8, 8), "", 8)) == 8


async def test_clients_get_places_in_turn():
    """Places that become free go to the waiting clients one after the other, not to who asked most often."""
    places, order = Shares("a place", 1, 100), []
    holder = await take(places, "holder")
    tasks = [take(places, client) for client in ("a", "a", "a", "b", "c")]
    for number, task in enumerate(tasks):
        task.add_done_callback(lambda _, number=number: order.append(number))
    await asyncio.sleep(0)
    for _ in tasks:
        places.give_back(holder)
        done, _ = await asyncio.wait([each for each in tasks if not each.done()], return_when=asyncio.FIRST_COMPLETED)
        (holder,) = [task.result() for task in done]
    assert order == [0, 3, 4, 1, 2]


async def test_nobody_waits_for_long(monkeypatch):
    """A task that gets no place in time is refused."""
    monkeypatch.setattr(shares, "PLACE_WITHIN", 0.01)
    places = Shares("a place", 1, 10)
    await take(places, "a")
    with pytest.raises(Busy, match=r"a place was not free for 0\.01 seconds"):
        await take(places, "b")


async def test_no_client_takes_the_whole_queue():
    """A client whose tasks wait in great number leaves room for those of another one."""
    places = Shares("a place", 1, 8)
    await take(places, "holder")
    crowd = [take(places, "a") for _ in range(20)]
    other = take(places, "b")
    await asyncio.sleep(0.01)
    assert sum(task.done() for task in crowd) == 14
    assert not other.done()
    for task in (*crowd, other):
        task.cancel()
    results = await asyncio.gather(*crowd, other, return_exceptions=True)
    assert str(next(each for each in results if isinstance(each, Busy))) == "too many requests already wait for a place"


async def test_a_closed_place_is_refused():
    """After the end, tasks that wait and tasks that come get the reason."""
    places = Shares("a place", 1, 8)
    await take(places, "a")
    waiting = take(places, "b")
    await asyncio.sleep(0)
    places.close("the end")
    places.give_back("a")
    for each in (waiting, take(places, "b")):
        with pytest.raises(Unreachable, match="the end"):
            await each


async def test_no_place_is_lost():
    """After a thousand tasks of which a third is cancelled at any moment, all places are free again."""
    places, dice = Shares("a place", 5, 1000), random.Random(7)

    async def work(client):
        CLIENT.set(client)
        client = await places.take()
        try:
            await asyncio.sleep(0)
        finally:
            places.give_back(client)

    tasks = [asyncio.ensure_future(work(dice.choice("abc"))) for _ in range(1000)]
    while not all(task.done() for task in tasks):
        if dice.random() < 0.4:
            dice.choice(tasks).cancel()
        if dice.random() < 0.5:
            await asyncio.sleep(0)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert len(await taken(places, "", 6)) == 5


async def test_what_goes_on_waits_behind_what_begins():
    """A task that is not urgent gets its place after all urgent ones, however long it has waited, and is never refused."""
    places = Shares("a place", 1, 1)
    held = await places.take()
    order: list[str] = []

    async def take_and_note(name: str, *, is_urgent: bool) -> None:
        client = await places.take(is_urgent=is_urgent)
        order.append(name)
        places.give_back(client)

    waiting = [asyncio.ensure_future(take_and_note(f"bulk {number}", is_urgent=False)) for number in range(3)]
    await asyncio.sleep(0)
    waiting.append(asyncio.ensure_future(take_and_note("first bytes", is_urgent=True)))
    await asyncio.sleep(0)
    assert places.is_waited_for()
    places.give_back(held)
    await asyncio.gather(*waiting)
    assert order == ["first bytes", "bulk 0", "bulk 1", "bulk 2"]
