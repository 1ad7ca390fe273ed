"""A body is delivered at the pace at which it is taken."""

from __future__ import annotations

import asyncio

import pytest

from tornado_proxy.gateway.errors import BodyTimeout, ClientDisconnected
from tornado_proxy.gateway.incoming import Body


async def _deliver(body: Body, *chunks: bytes) -> None:
    for chunk in chunks:
        await _taken(body.deliver(chunk))
    body.end()


async def _taken(waiting) -> None:
    if waiting is not None:
        await waiting


async def _settle() -> None:
    """Let every task run until it waits."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_what_is_delivered_is_what_is_read():
    """The reader gets the chunks in order, and the end after the last."""

    async def story():
        body = Body(60, announced=True)
        async with asyncio.TaskGroup() as group:
            group.create_task(_deliver(body, b"a", b"b", b"c"))
            return [chunk async for chunk in body], body.received

    assert asyncio.run(story()) == ([b"a", b"b", b"c"], 3)


def test_a_slow_reader_holds_the_sender_back():
    """One chunk waits at most: the next delivery waits until it was taken."""

    async def story():
        body = Body(60, announced=True)
        body.deliver(b"a")
        async with asyncio.TaskGroup() as group:
            second = group.create_task(_taken(body.deliver(b"b")))
            await _settle()
            waiting = not second.done()
            taken = await anext(body)
            await _settle()
            return waiting, taken, second.done()

    assert asyncio.run(story()) == (True, b"a", True)


def test_a_body_is_wanted_once_someone_reads():
    """The server may wait with the body until it is asked for."""

    async def story():
        body = Body(60, announced=True)
        before = body.is_wanted
        async with asyncio.TaskGroup() as group:
            group.create_task(_deliver(body, b"a"))
            await anext(body)
        return before, body.is_wanted

    assert asyncio.run(story()) == (False, True)


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_is_outstanding_until_it_ends(announced):
    """What was announced is outstanding; a request without a body owes nothing."""

    async def story():
        body = Body(60, announced=announced)
        before = body.outstanding
        body.end()
        return before, body.outstanding, [chunk async for chunk in body]

    assert asyncio.run(story()) == (announced, False, [])


def test_a_client_that_goes_away_breaks_the_body_off():
    """The reader gets what came before, then the error, every time it asks."""

    async def story():
        body = Body(60, announced=True)
        body.deliver(b"a")
        body.break_off(ClientDisconnected("gone"))
        first = await anext(body)
        for _ in range(2):
            with pytest.raises(ClientDisconnected):
                await anext(body)
        return first

    assert asyncio.run(story()) == b"a"


def test_a_complete_body_cannot_be_broken_off():
    """A client that leaves after its last byte has sent everything."""

    async def story():
        body = Body(60, announced=True)
        body.end()
        body.break_off(ClientDisconnected("gone"))
        return [chunk async for chunk in body]

    assert asyncio.run(story()) == []


def test_a_client_that_stops_sending_is_not_waited_for():
    """The reader gets an error when no byte comes for the idle time."""

    async def story():
        await anext(Body(0.01, announced=True))

    with pytest.raises(BodyTimeout, match=r"no byte of the body came for 0\.01 seconds"):
        asyncio.run(story())


def test_what_is_discarded_holds_nobody_back():
    """After `discard` a delivery returns at once, and what waited is dropped."""

    async def story():
        body = Body(60, announced=True)
        body.deliver(b"a")
        body.discard()
        body.deliver(b"b")
        body.deliver(b"c")
        return body.received, body.is_wanted

    assert asyncio.run(story()) == (3, True)


def test_a_body_shows_its_state():
    """A body's `repr` tells how much came and whether more may."""

    async def story():
        body = Body(60, announced=True)
        body.deliver(b"abc")
        before = repr(body)
        body.end()
        return before, repr(body)

    assert asyncio.run(story()) == ("<Body 3 bytes, open>", "<Body 3 bytes, ended>")
