"""A body on its way from the connection that receives it to the coroutine that reads it."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections import deque
from copy import copy
from typing import ClassVar


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
