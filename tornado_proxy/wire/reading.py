"""The reading end of a connection, a client's or S3's: one buffer for all, pauses, and one deadline."""

from __future__ import annotations

import asyncio
import re
from asyncio import Future
from collections.abc import Awaitable
from math import inf
from mmap import MAP_PRIVATE, mmap
from typing import cast
from weakref import WeakKeyDictionary

from tornado_proxy.wire.limits import LARGEST_READ

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
