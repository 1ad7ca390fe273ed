"""The body of a request, from the handler that receives it to the coroutine that reads it."""

from __future__ import annotations

import asyncio
from asyncio import Future

from tornado_proxy.routing.request import RequestError
from tornado_proxy.web.limits import ROOM_OF_BODY
from tornado_proxy.wire.limits import LEAST_RATE
from tornado_proxy.wire.reading import BodyBuffer


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
