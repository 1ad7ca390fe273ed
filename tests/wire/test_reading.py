"""Connections of one event loop share a buffer, and hand a body out as it arrives, at the pace of its reader."""

import asyncio
import gc
import weakref
from contextlib import suppress

from tornado_proxy.wire.stream import BodyBuffer, ReadingProtocol


class _Reading(ReadingProtocol):
    def __init__(self) -> None:
        super().__init__(1024)
        self.expirations = 0

    def _expired(self) -> None:
        self.expirations += 1


async def _buffers() -> list[memoryview]:
    return [_Reading().get_buffer(-1) for _ in range(2)]


def test_two_loops_share_no_buffer():
    """Bytes that the connection of one loop has read cannot be overwritten by a loop in another thread."""
    with asyncio.Runner() as one, asyncio.Runner() as other:
        mine, ours = one.run(_buffers())
        theirs, _ = other.run(_buffers())
    mine[0], theirs[0] = 1, 2
    assert (ours[0], len(mine)) == (1, 1024)


async def test_a_deadline_that_moves_is_met_once():
    """A deadline that is moved on before it passes expires at its last time only."""
    reading = _Reading()
    for _ in range(5):
        reading._set_deadline(0.25)
        await asyncio.sleep(0.01)
    before = reading.expirations
    await asyncio.sleep(0.4)
    assert (before, reading.expirations) == (0, 1)


async def test_a_full_buffer_has_room_when_the_last_chunk_is_next():
    """Beyond the limit a delivery is done once all chunks but one were read."""
    body = BodyBuffer(limit=2)
    waits = [body.deliver(chunk) for chunk in (b"a", b"b", b"c")]
    assert waits[:2] == [None, None]
    states = []
    for _ in range(2):
        states.append(waits[2].done())
        await body.read()
    assert (states, waits[2].done()) == ([False, False], True)


async def test_a_buffer_takes_what_its_reader_waits_for():
    """A reader that waits for more bytes than the limit gets them."""
    body = BodyBuffer(limit=1)
    waiting = asyncio.ensure_future(body.until(4))
    await asyncio.sleep(0)
    deliveries = [body.deliver(b"ab"), body.deliver(b"cd")]
    await waiting
    assert (deliveries[0], body.peek()) == (None, b"abcd")


async def test_the_end_wakes_its_reader():
    """A reader that waits gets nothing when the body ends."""
    body = BodyBuffer(limit=10)
    reading = asyncio.ensure_future(body.read())
    await asyncio.sleep(0)
    assert body.is_awaited
    body.end()
    assert (await reading, body.is_awaited) == (b"", False)


class _Broken(Exception):
    """An error that can be referenced weakly."""


async def test_a_broken_body_needs_no_garbage_collector():
    """A body whose error was raised is freed with its last reference, although readers of the traceback have it."""

    async def pass_on(body: BodyBuffer) -> bytes:
        return await body.read()

    body, error = BodyBuffer(limit=10), _Broken()
    body.end(error)
    freed = weakref.ref(error)
    del error
    gc.disable()
    try:
        with suppress(_Broken):
            await pass_on(body)
        del body
        assert freed() is None
    finally:
        gc.enable()
