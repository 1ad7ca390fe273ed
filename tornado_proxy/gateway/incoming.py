"""A request as it comes in: its head, its body on the way, and the task that answers it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from tornado_proxy.gateway.errors import BodyTimeout, ClientDisconnected
from tornado_proxy.gateway.parser import RequestHead
from tornado_proxy.routing.errors import RequestError
from tornado_proxy.semantics.forwarded import Origin


class Body:
    """An asynchronous iterator over the chunks of a body, which holds one chunk at most; the slower side sets the pace.

    It is not read before someone asks for it (`is_wanted`), so that a refusal can come first; what nobody will take
    is discarded. A request that announces no body has an empty one, which ends like any other.
    """

    def __init__(self, idle_timeout: float, *, announced: bool) -> None:
        self.is_wanted = False
        self.ended = False  # whether everything arrived, or nothing more will
        self.received = 0  # bytes
        self._idle_timeout = idle_timeout
        self._announced = announced
        self._chunk: bytes | None = None
        self._error: RequestError | None = None
        self._discarding = False
        self._waiters: list[asyncio.Future[None]] = []

    def __repr__(self) -> str:
        return f"<Body {self.received} bytes, {'ended' if self.ended else 'open'}>"

    @property
    def outstanding(self) -> bool:
        """Whether bytes were announced that have not all arrived."""
        return self._announced and not self.ended

    async def until_wanted(self) -> None:
        """Wait until someone asks for it, or it is discarded."""
        await self._until(lambda: self.is_wanted)

    def deliver(self, chunk: bytes) -> Awaitable[None] | None:
        """Hand over a chunk; what is returned, if anything, is done when there was room for it."""
        self.received += len(chunk)
        if self._chunk is not None:
            return self._deliver_later(chunk)
        self._keep(chunk)
        return None

    def end(self) -> None:
        """Say that the body is complete."""
        self.ended = True
        self._wake()

    def break_off(self, error: RequestError) -> None:
        """Say that no more will come: the reader gets the error, unless the body was complete."""
        if not self.ended:
            self._error = error
            self.end()

    def discard(self) -> None:
        """Drop what has come and what comes: nobody will read it."""
        self._discarding = self.is_wanted = True
        self._chunk = None
        self._wake()

    def __aiter__(self) -> Body:
        return self

    async def __anext__(self) -> bytes:
        if self._chunk is None and not self.ended:
            await self._arrival()
        chunk, self._chunk = self._chunk, None
        if chunk is None:
            raise self._error or StopAsyncIteration
        self._wake()
        return chunk

    async def _arrival(self) -> None:
        self.is_wanted = True
        self._wake()
        try:
            async with asyncio.timeout(self._idle_timeout):
                await self._until(lambda: self._chunk is not None or self.ended)
        except TimeoutError:
            raise BodyTimeout(f"no byte of the body came for {self._idle_timeout:g} seconds") from None

    async def _deliver_later(self, chunk: bytes) -> None:
        await self._until(lambda: self._chunk is None)
        self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        if not self._discarding:
            self._chunk = chunk
            self._wake()

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            finally:
                self._waiters.remove(waiter)

    def _wake(self) -> None:
        """Have each side look at what has changed."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)


class Incoming:
    """A request as its connection delivers it; `mistake` is what is wrong with its head, `peer` who sends it.

    `task` answers it. `at` is the Unix time of its arrival in seconds, `started` the same by the clock for
    durations.
    """

    __slots__ = ("at", "body", "head", "id", "mistake", "peer", "started", "task")

    def __init__(
        self, request_id: str, peer: Origin, head: RequestHead, body: Body, mistake: RequestError | None
    ) -> None:
        self.id = request_id
        self.peer = peer
        self.head = head
        self.body = body
        self.mistake = mistake
        self.at = time.time()
        self.started = time.perf_counter()
        self.task: asyncio.Task[None] | None = None

    def break_off(self, mistake: RequestError) -> None:
        """Say that no more of it will come, or that its client has left and nobody waits for the answer."""
        self.body.break_off(mistake)
        # A PUT is ended by its body, so that it clears away what it began; any other request is cancelled.
        if isinstance(mistake, ClientDisconnected) and self.head.method != "PUT" and self.task is not None:
            # In the next turn: a task that is cancelled before its first step would say nothing of the request.
            asyncio.get_running_loop().call_soon(self.task.cancel)
