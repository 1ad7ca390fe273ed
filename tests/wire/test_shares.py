import asyncio
import random
from contextlib import suppress

import pytest
from coroutines import run
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.storage.errors import Busy, Unreachable
from tornado_proxy.wire import shares
from tornado_proxy.wire.shares import CLIENT, Place, Shares


def take(places: Shares, client: str, target: str = "") -> asyncio.Task[Place]:
    """Begins to take a place for a client."""

    async def taking():
        CLIENT.set(client)
        return await places.take(target)

    return asyncio.ensure_future(taking())


async def taken(places: Shares, client: str, count: int, target: str = "") -> list[asyncio.Task[Place]]:
    """Begins to take places, and returns the tasks that got one."""
    tasks = [take(places, client, target) for _ in range(count)]
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
    places = Shares("a place", size, size, Busy)
    assert len(await taken(places, "a", size)) == most
    assert bool(await taken(places, "b", 1)) is (size > 1)


async def test_a_share_is_of_what_others_left(impatient):
    """Each further client gets three quarters of the rest, so that a few greedy ones leave a place for one more."""
    places = Shares("a place", 512, 1000, Busy)
    assert [len(await taken(places, client, 512)) for client in "abcde"] == [384, 96, 24, 6, 1]


@pytest.mark.parametrize(("size", "most"), [(1, 1), (4, 3), (8, 7), (512, 448)])
async def test_no_target_takes_all_places(impatient, size, most):
    """However many clients ask for it, a target gets seven eighths of the places, and the next one still gets some."""
    places = Shares("a place", size, size, Busy)
    got = [await taken(places, f"client {number}", 1, "hangs") for number in range(size)]
    assert sum(map(len, got)) == most
    assert bool(await taken(places, "a client", 1, "healthy")) is (size > 1)


@given(st.integers(2, 40), st.lists(st.tuples(st.text("abcdefgh", max_size=1), st.booleans()), max_size=120))
def test_another_target_has_a_place_whatever_the_clients_of_one_do(size, steps):
    """After any takes and returns for one target, another one has a place at once, and the places add up."""

    async def check():
        places, held = Shares("a place", size, 0, Busy), []
        for client, is_return in steps:
            if is_return and held:
                places.give_back(held.pop())
                continue
            with suppress(Busy):
                held.append(await places.take("hangs", client))
        held.append(await places.take("healthy", "newcomer"))
        for place in held:
            places.give_back(place)
        return [await places.take(client="") for _ in range(size)]

    assert len(run(check())) == size


async def test_targets_get_places_in_turn():
    """A place goes to the waiting targets one after the other, however many clients wait for one of them."""
    places, order = Shares("a place", 1, 100, Busy), []
    holder = await take(places, "holder", "busy")
    tasks = {take(places, f"client {n}", target): target for n, target in enumerate(["busy"] * 4 + ["calm", "new"])}
    await asyncio.sleep(0)
    while tasks:
        places.give_back(holder)
        (done,), _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        holder = done.result()
        order.append(tasks.pop(done))
    assert order == ["busy", "calm", "new", "busy", "busy", "busy"]


async def test_the_tasks_of_one_client_that_wait_may_be_limited():
    """Of a client only so many wait, of another one more."""
    places = Shares("a place", 1, 1000, Busy, each=2)
    await take(places, "holder")
    crowd, other = [take(places, "a") for _ in range(5)], take(places, "b")
    await asyncio.sleep(0.01)
    assert [task.done() for task in (*crowd, other)] == [False, False, True, True, True, False]
    for task in (*crowd, other):
        task.cancel()
    await asyncio.gather(*crowd, other, return_exceptions=True)


async def test_what_no_client_asked_for_may_take_all(impatient):
    """Probes and the like have no share."""
    assert len(await taken(Shares("a place", 8, 8, Busy), "", 8)) == 8


async def test_clients_get_places_in_turn():
    """Places that become free go to the waiting clients one after the other, not to who asked most often."""
    places, order = Shares("a place", 1, 100, Busy), []
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
    places = Shares("a place", 1, 10, Busy)
    await take(places, "a")
    with pytest.raises(Busy, match=r"a place was not free for 0\.01 seconds"):
        await take(places, "b")


async def test_no_client_takes_the_whole_queue():
    """A client whose tasks wait in great number leaves room for those of another one."""
    places = Shares("a place", 1, 8, Busy)
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
    places = Shares("a place", 1, 8, Busy)
    held = await take(places, "a")
    waiting = take(places, "b")
    await asyncio.sleep(0)
    places.close(lambda: Unreachable("the end"))
    places.give_back(held)
    for each in (waiting, take(places, "b")):
        with pytest.raises(Unreachable, match="the end"):
            await each


async def test_no_place_is_lost():
    """After a thousand tasks of which a third is cancelled at any moment, all places are free again."""
    places, dice = Shares("a place", 5, 1000, Busy), random.Random(7)

    async def work(client):
        CLIENT.set(client)
        async with places.taken(dice.choice("xy")):
            await asyncio.sleep(0)

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
    places = Shares("a place", 1, 1, Busy)
    held = await places.take()
    order: list[str] = []

    async def take_and_note(name: str, *, is_urgent: bool) -> None:
        place = await places.take(is_urgent=is_urgent)
        order.append(name)
        places.give_back(place)

    waiting = [asyncio.ensure_future(take_and_note(f"bulk {number}", is_urgent=False)) for number in range(3)]
    await asyncio.sleep(0)
    waiting.append(asyncio.ensure_future(take_and_note("first bytes", is_urgent=True)))
    await asyncio.sleep(0)
    assert places.is_waited_for()
    places.give_back(held)
    await asyncio.gather(*waiting)
    assert order == ["first bytes", "bulk 0", "bulk 1", "bulk 2"]
