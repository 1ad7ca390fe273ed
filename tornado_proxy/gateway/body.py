"""A request's body: one side delivers its chunks as they arrive, the other takes them, and the slower sets the pace."""

from __future__ import annotations

import asyncio

from tornado_proxy.gateway.errors import BodyTimeout
from tornado_proxy.routing.errors import RequestError


class Body:
    """An asynchronous iterator over the chunks of a body, which holds one chunk at most.

    It is not read before someone asks for it (`wanted`), so that a refusal can come first; what nobody will take
    is discarded. A request that announces no body has an empty one, which ends like any other.
    """

    def __init__(self, idle_timeout: float, *, announced: bool) -> None:
        self.wanted = asyncio.Event()
        self.received = 0  # bytes
        self._idle_timeout = idle_timeout
        self._announced = announced
        self._chunk: bytes | None = None
        self._error: RequestError | None = None
        self._discarding = False
        self._free = asyncio.Event()
        self._free.set()
        self._arrived = asyncio.Event()
        self._ended = asyncio.Event()

    def __repr__(self) -> str:
        return f"<Body {self.received} bytes, {'ended' if self.ended else 'open'}>"

    @property
    def ended(self) -> bool:
        """Whether everything arrived, or nothing more will."""
        return self._ended.is_set()

    @property
    def outstanding(self) -> bool:
        """Whether bytes were announced that have not all arrived."""
        return self._announced and not self.ended

    async def until_wanted(self) -> None:
        """Wait until someone asks for it, or it is discarded."""
        await self.wanted.wait()

    async def deliver(self, chunk: bytes) -> None:
        """Hand over a chunk; waits until there is room for it."""
        self.received += len(chunk)
        await self._free.wait()
        if not self._discarding:
            self._chunk = chunk
            self._free.clear()
            self._arrived.set()

    def end(self) -> None:
        """Say that the body is complete."""
        self._ended.set()
        self._arrived.set()

    def break_off(self, error: RequestError) -> None:
        """Say that no more will come: the reader gets the error, unless the body was complete."""
        if not self.ended:
            self._error = error
            self.end()

    def discard(self) -> None:
        """Drop what has come and what comes: nobody will read it."""
        self._discarding = True
        self._chunk = None
        self._free.set()
        self.wanted.set()

    def __aiter__(self) -> Body:
        return self

    async def __anext__(self) -> bytes:
        self.wanted.set()
        await self._arrival()
        chunk, self._chunk = self._chunk, None
        if chunk is None:
            raise self._error or StopAsyncIteration
        self._free.set()
        if not self.ended:
            self._arrived.clear()
        return chunk

    async def _arrival(self) -> None:
        try:
            async with asyncio.timeout(self._idle_timeout):
                await self._arrived.wait()
        except TimeoutError:
            raise BodyTimeout(f"no byte of the body came for {self._idle_timeout:g} seconds") from None
