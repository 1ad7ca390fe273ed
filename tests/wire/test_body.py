"""The body of a request is delivered as fast as it is read."""

import asyncio

import pytest

from tornado_proxy.wire.stream import Body, BodyTimeout


async def test_a_slow_reader_slows_down_the_sender():
    """Beyond 64 KiB, the next delivery waits until the reader has taken all and waits for more."""
    body = Body(60)
    assert body.deliver(bytes(64 * 1024)) is None
    second = body.deliver(b"b")
    await anext(body)
    await anext(body)
    assert not second.done()
    reading = asyncio.ensure_future(anext(body))
    await second
    body.deliver(b"c")
    assert await reading == b"c"


async def _room(body: Body) -> None:
    """Waits until the next chunk may be delivered."""
    if waiting := body.deliver(b"b"):
        await waiting


async def _settle() -> None:
    """Let every task run until it waits."""
    for _ in range(10):
        await asyncio.sleep(0)


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


@pytest.mark.parametrize("wait", [Body.until_wanted, _room], ids=["a reader", "room"])
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


async def test_a_discarded_body_does_not_wait():
    """After `discard`, a delivery returns at once and its bytes are only counted."""
    body = Body(60)
    body.deliver(b"a")
    body.discard()
    body.deliver(b"b")
    body.deliver(b"c")
    assert (body.received, body.is_wanted) == (3, True)
