"""Connections of one event loop share a buffer; those of others do not."""

from __future__ import annotations

import asyncio

from tornado_proxy.wire.reading import ReadingProtocol


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
        reading._set_deadline(0.02)
        await asyncio.sleep(0.01)
    before = reading.expirations
    await asyncio.sleep(0.1)
    assert (before, reading.expirations) == (0, 1)
