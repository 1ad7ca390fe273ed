"""The body of a request, from the handler that receives it to the coroutine that reads it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tornado_proxy.routing.request import RequestError
from tornado_proxy.wire.incoming import LEAST_RATE


class BodyTimeout(RequestError):
    """A client that stopped sending its body, or sends it too slowly."""

    status = 408


class Body:
    """An asynchronous iterator over the chunks of a body, which holds one chunk at most; the slower side sets the pace.

    It is read only when it is wanted, so that an error can come first; a body that nobody will read is discarded.
    Within each `timeout` seconds of waiting for the client, as many bytes must arrive as the least rate demands.
    """

    def __init__(self, timeout: float) -> None:
        self.is_wanted = False
        self.ended = False  # whether everything arrived, or nothing more will
        self.received = 0  # bytes
        self._timeout = timeout
        self._patience = timeout  # seconds of waiting that are left
        self._arrived = 0  # bytes since then
        self._chunk: bytes | None = None
        self._error: RequestError | None = None
        self._discarding = False
        self._changed = asyncio.Event()  # set for a moment

    async def until_wanted(self) -> None:
        """Waits until it is asked for or discarded."""
        await self._until(lambda: self.is_wanted)

    def deliver(self, chunk: bytes) -> Awaitable[None] | None:
        """Hands over a chunk; returns None, or an awaitable that is done once there was room for the chunk."""
        self.received += len(chunk)
        if self._chunk is not None:
            return self._deliver_later(chunk)
        self._keep(chunk)
        return None

    def end(self) -> None:
        """Marks the body as complete."""
        self.ended = True
        self._wake()

    def break_off(self, error: RequestError) -> None:
        """Ends a body that is not complete with an error, which its reader gets."""
        if not self.ended:
            self._error = error
            self.end()

    def discard(self) -> None:
        """Drops all chunks, past and future, since nobody will read them."""
        self._discarding = self.is_wanted = True
        self._chunk = None
        self._wake()

    def __aiter__(self) -> Body:
        return self

    async def __anext__(self) -> bytes:
        if self._chunk is None and not self.ended:
            self.is_wanted = True
            self._wake()
            await self._next_chunk()
        chunk, self._chunk = self._chunk, None
        if chunk is None:
            raise self._error or StopAsyncIteration
        self._arrived += len(chunk)
        if self._arrived >= LEAST_RATE * self._timeout:
            self._arrived, self._patience = 0, self._timeout
        self._wake()
        return chunk

    async def _next_chunk(self) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self._patience):
                await self._until(lambda: self._chunk is not None or self.ended)
        except TimeoutError:
            raise BodyTimeout(f"{self._arrived} bytes of the body arrived in {self._timeout:g} seconds") from None
        self._patience -= loop.time() - began

    async def _deliver_later(self, chunk: bytes) -> None:
        await self._until(lambda: self._chunk is None)
        self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        if not self._discarding:
            self._chunk = chunk
            self._wake()

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            await self._changed.wait()

    def _wake(self) -> None:
        """Wakes both sides, so that they look again."""
        self._changed.set()
        self._changed.clear()


NO_BODY = Body(0)
"""The body of each request without one; it has ended from the start."""
NO_BODY.end()
