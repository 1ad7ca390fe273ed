"""What all connections read by, a client's or S3's: one buffer, pauses, one deadline, and bodies on their way."""

from __future__ import annotations

import asyncio
import re
from asyncio import Future
from collections import deque
from collections.abc import Awaitable
from copy import copy
from math import inf
from mmap import MAP_PRIVATE, mmap
from typing import ClassVar, cast
from weakref import WeakKeyDictionary

from tornado_proxy.routing.request import RequestError
from tornado_proxy.wire.limits import LARGEST_READ, LEAST_RATE, ROOM_OF_BODY

NEVER = inf


# Of all connections of a loop: each read is copied out of it before the next one. asyncio would otherwise allocate a
# buffer for each read, which costs as much as the read. Loops in two threads must not share one. The memory is mapped,
# so that there is only as much of it as the longest read has filled.
_BUFFERS: WeakKeyDictionary[asyncio.AbstractEventLoop, memoryview] = WeakKeyDictionary()

_HEAD_END = re.compile(rb"\n\r?\n")


class ReadingProtocol(asyncio.BufferedProtocol):
    """Reads what the other side sends, pauses until it was taken, and ends the connection at its deadline.

    A subclass takes what was `received` in `_advance`, and says in `_expired` what happens at the deadline.
    """

    def __init__(self, largest_read: int) -> None:
        self._loop = asyncio.get_running_loop()
        if self._loop not in _BUFFERS:
            _BUFFERS[self._loop] = memoryview(mmap(-1, LARGEST_READ, MAP_PRIVATE))
        self._buffer = self._shared = _BUFFERS[self._loop]
        self._limit_reads(largest_read)
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._searched = 0  # bytes of the head that were searched for its end
        self._taking: Future[object] | None = None  # while nobody takes more of the body
        self._deadline = 0.0  # in the time of the loop
        self._timer: asyncio.TimerHandle | None = None

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are not instances of it

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        """Returns the buffer that the transport reads into."""
        return self._buffer

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Forgets the transport and the deadline."""
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()

    # For subclasses.

    def _advance(self) -> None:
        """Takes what was received."""

    def _expired(self) -> None:
        """Ends what has exceeded its deadline."""

    def _limit_reads(self, size: int) -> None:
        """Sets how many bytes each of the next reads can return."""
        if len(self._buffer) != size:
            self._buffer = self._shared[:size]

    def _find_head(self) -> int:
        """Returns the length of the head at the front of what was received, its empty line included; 0 without one."""
        head_end = _HEAD_END.search(self._received, max(0, self._searched - 3))
        self._searched = 0 if head_end else len(self._received)
        return head_end.end() if head_end else 0

    def _await(self, taken: object) -> None:
        """Pauses reading until what was handed over is taken; None is taken already."""
        if taken is not None:
            self._taking = asyncio.ensure_future(cast("Awaitable[object]", taken))
            self._taking.add_done_callback(self._go_on)
            self._pause_reading()

    def _go_on(self, taken: Future[object]) -> None:
        self._taking = None
        if not taken.cancelled():
            taken.result()
        self._resume_reading()
        self._advance()

    def _set_deadline(self, seconds: float) -> None:
        """Sets the time of `_expired`; the timer is only moved if it would be late."""
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(self._deadline, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self._deadline <= self._loop.time():
            self._expired()
        elif self._deadline != NEVER:
            self._timer = self._loop.call_at(self._deadline, self._expire)

    def _pause_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def _resume_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()


class BodyBuffer:
    """The chunks of a body that have arrived and were not read; the slower side sets the pace.

    With more than `limit` bytes it is full. It has room again when only `kept` chunks are left, or its reader waits.
    """

    kept: ClassVar[int] = 1

    __slots__ = ("_chunks", "_error", "_filled", "_room", "_wanted", "ended", "limit", "size")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.ended = False  # whether everything arrived, or nothing more will
        self.size = 0  # bytes
        self._error: Exception | None = None
        self._chunks: deque[bytes] = deque()
        self._room: Future[None] | None = None  # while it is full
        self._filled: Future[None] | None = None  # while its reader waits
        self._wanted = 0  # bytes for which the reader waits

    @property
    def is_awaited(self) -> bool:
        """Whether its reader waits for more."""
        return self._filled is not None

    def deliver(self, chunk: bytes) -> Future[None] | None:
        """Takes a chunk; returns None, or a future that is done when there is room for the next one."""
        self._chunks.append(chunk)
        self.size += len(chunk)
        self._wake()
        if self.size <= self.limit or self.size < self._wanted:
            return None
        self._room = asyncio.get_running_loop().create_future()
        return self._room

    def end(self, error: Exception | None = None) -> None:
        """Ends the body: it is complete, or its reader gets an error after the chunks."""
        self.ended, self._error = True, error
        self._wake()
        self._make_room()

    def drop(self) -> None:
        """Drops the chunks that were not read."""
        self._chunks.clear()
        self.size = 0
        self._make_room()

    async def read(self) -> bytes:
        """Returns the next chunk, empty at the end; raises the error of a body that broke off."""
        if not self._chunks and not self.ended:
            await self.until(1)
        if self._chunks:
            chunk = self._chunks.popleft()
            self.size -= len(chunk)
            if len(self._chunks) <= self.kept:
                self._make_room()
            return chunk
        if self._error is not None:
            # The error that is raised keeps the frames that it passes, and the body with them: if the body kept that
            # error too, only the garbage collector could free them.
            raise copy(self._error) from self._error
        return b""

    def peek(self) -> bytes:
        """Returns the bytes that have arrived and were not read."""
        return b"".join(self._chunks)

    async def until(self, size: int) -> None:
        """Waits for a number of bytes, or for the end."""
        self._wanted = size
        if self.size >= size or self.ended:
            return
        self._make_room()
        self._filled = asyncio.get_running_loop().create_future()
        try:
            await self._filled
        finally:
            self._filled, self._wanted = None, 0

    def _wake(self) -> None:
        if self._filled is not None and not self._filled.done() and (self.size >= self._wanted or self.ended):
            self._filled.set_result(None)

    def _make_room(self) -> None:
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)


class BodyTimeout(RequestError):
    """A client that stopped sending its body, or sends it too slowly."""

    status = 408


class Body(BodyBuffer):
    """An asynchronous iterator over the chunks of a body.

    It is read only when it is wanted, so that an error can come first; a body that nobody will read is discarded.
    Within each `timeout` seconds of waiting for the client, as many bytes must arrive as the least rate demands.
    """

    kept = -1  # a reader that waits for memory has one large chunk in its hands, and not a second one here

    def __init__(self, timeout: float) -> None:
        super().__init__(ROOM_OF_BODY)
        self.received = 0  # bytes
        self._timeout = timeout
        self._patience = timeout  # seconds of waiting that are left
        self._arrived = 0  # bytes since then
        self._wanted_at_all = asyncio.Event()
        self._discarding = False

    @property
    def is_wanted(self) -> bool:
        """Whether it was asked for or discarded."""
        return self._wanted_at_all.is_set()

    async def until_wanted(self) -> None:
        """Waits until it is asked for or discarded."""
        await self._wanted_at_all.wait()

    def deliver(self, chunk: bytes) -> Future[None] | None:
        """Takes a chunk; returns None, or a future that is done when there is room for the next one."""
        self.received += len(chunk)
        return None if self._discarding else super().deliver(chunk)

    def discard(self) -> None:
        """Drops all chunks, past and future, since nobody will read them."""
        self._discarding = True
        self._wanted_at_all.set()
        self.drop()

    def __aiter__(self) -> Body:
        return self

    async def __anext__(self) -> bytes:
        if not self.size and not self.ended:
            self._wanted_at_all.set()
            loop = asyncio.get_running_loop()
            began = loop.time()
            try:
                async with asyncio.timeout(self._patience):
                    await self.until(1)
            except TimeoutError:
                raise BodyTimeout(f"{self._arrived} bytes of the body arrived in {self._timeout:g} seconds") from None
            self._patience -= loop.time() - began
        if not (chunk := await self.read()):
            raise StopAsyncIteration
        self._arrived += len(chunk)
        if self._arrived >= LEAST_RATE * self._timeout:
            self._arrived, self._patience = 0, self._timeout
        return chunk


NO_BODY = Body(0)
"""The body of each request without one; it has ended from the start."""
NO_BODY.end()
