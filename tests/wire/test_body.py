"""The body of a request is delivered as fast as it is read."""

import asyncio

import pytest

from tornado_proxy.wire.incoming import ClientDisconnected
from tornado_proxy.wire.stream import NO_BODY, Body, BodyTimeout


async def _deliver(body: Body, *chunks: bytes) -> None:
    for chunk in chunks:
        await _room(body.deliver(chunk))
    body.end()


async def _room(waiting) -> None:
    """Wait until the next chunk may be delivered."""
    if waiting is not None:
        await waiting


async def _settle() -> None:
    """Let every task run until it waits."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_chunks_are_read_in_order():
    """The reader gets the chunks in the order of their delivery, then the end."""

    async def scenario():
        body = Body(60)
        async with asyncio.TaskGroup() as group:
            group.create_task(_deliver(body, b"a", b"b", b"c"))
            return [chunk async for chunk in body], body.received

    assert asyncio.run(scenario()) == ([b"a", b"b", b"c"], 3)


def test_a_slow_reader_slows_down_the_sender():
    """Beyond 64 KiB, the next delivery waits until the reader has taken all and waits for more."""
    chunk = bytes(64 * 1024)

    async def scenario():
        body = Body(60)
        first = body.deliver(chunk)
        second = body.deliver(b"b")
        await anext(body)
        await anext(body)
        waits = not second.done()
        reading = asyncio.ensure_future(anext(body))
        await second
        body.deliver(b"c")
        return first, waits, await reading

    assert asyncio.run(scenario()) == (None, True, b"c")


def test_a_body_is_wanted_once_it_is_read():
    """`is_wanted` is false until the first read of the body."""

    async def scenario():
        body = Body(60)
        before = body.is_wanted
        async with asyncio.TaskGroup() as group:
            group.create_task(_deliver(body, b"a"))
            await anext(body)
        return before, body.is_wanted

    assert asyncio.run(scenario()) == (False, True)


def test_a_request_without_a_body_has_ended():
    """`NO_BODY` has ended and contains no chunk."""

    async def scenario():
        return NO_BODY.ended, [chunk async for chunk in NO_BODY]

    assert asyncio.run(scenario()) == (True, [])


def test_a_disconnect_ends_the_body_with_an_error():
    """The reader gets the chunks before the disconnect, then the error on every read."""

    async def scenario():
        body = Body(60)
        body.deliver(b"a")
        body.end(ClientDisconnected("gone"))
        first = await anext(body)
        for _ in range(2):
            with pytest.raises(ClientDisconnected):
                await anext(body)
        return first

    assert asyncio.run(scenario()) == b"a"


async def test_a_stalled_body_times_out():
    """The reader gets an error if no byte arrives within the idle time."""
    with pytest.raises(BodyTimeout, match=r"0 bytes of the body arrived in 0\.01 seconds"):
        await anext(Body(0.01))


async def test_a_trickling_body_times_out():
    """The reader gets an error if bytes arrive at all times, but too few within the time."""
    body = Body(0.2)

    async def trickle():
        while not body.ended:
            body.deliver(b"x")
            await asyncio.sleep(0.01)

    sending = asyncio.ensure_future(trickle())
    with pytest.raises(BodyTimeout, match=r"\d+ bytes of the body arrived in 0\.2 seconds"):
        assert [chunk async for chunk in body] == []
    body.end()
    await sending


async def test_a_body_of_the_least_rate_may_take_long():
    """The time begins again whenever enough bytes have arrived, and the time of its reader does not count."""
    body, received = Body(1), 0

    async def send():
        for _ in range(4):
            await asyncio.sleep(0.3)
            await (body.deliver(bytes(1024)) or asyncio.sleep(0))
        body.end()

    sending = asyncio.ensure_future(send())
    async for chunk in body:
        received += len(chunk)
        if received == 1024:
            await asyncio.sleep(1.1)
    await sending
    assert received == 4096


@pytest.mark.parametrize("wait", [Body.until_wanted, lambda body: _room(body.deliver(b"b"))], ids=["a reader", "room"])
async def test_discarding_a_body_ends_waiting(wait):
    """A discarded body releases the tasks that wait for a reader or for room."""
    body = Body(60)
    body.deliver(bytes(64 * 1024))
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(wait(body))
        await _settle()
        before = waiting.done()
        body.discard()
    assert not before


def test_a_discarded_body_does_not_wait():
    """After `discard`, a delivery returns at once and its bytes are only counted."""

    async def scenario():
        body = Body(60)
        body.deliver(b"a")
        body.discard()
        body.deliver(b"b")
        body.deliver(b"c")
        return body.received, body.is_wanted

    assert asyncio.run(scenario()) == (3, True)
