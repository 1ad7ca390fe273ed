"""Begins exchanges: each gets the generation in force, and keeps it to its end."""

from __future__ import annotations

import asyncio
import random
from asyncio import Task
from collections.abc import Callable

from tornado_proxy.gateway.connection import Connection
from tornado_proxy.gateway.exchange import Exchange
from tornado_proxy.gateway.generation import Generation
from tornado_proxy.gateway.incoming import Body, Incoming
from tornado_proxy.gateway.parser import RequestHead
from tornado_proxy.gateway.reply import Reply
from tornado_proxy.routing.errors import RequestError
from tornado_proxy.telemetry.events import Event

REQUEST_ID = "X-Request-Id"

# Whose bodies are read: an upload's for what it holds, a removal's because it waits for the request to be whole.
_TAKING_BODIES = frozenset({"PUT", "DELETE"})


class Gateway:
    """Starts an exchange for each request.

    `current` returns the generation in force. A request asks twice: when it arrives, for the timeout of its body, and
    when its exchange begins, for the generation that it keeps.
    """

    def __init__(self, current: Callable[[], Generation], emit: Callable[[Event], None]) -> None:
        self._current = current
        self._emit = emit
        self._running: set[Task[None]] = set()

    def __repr__(self) -> str:
        return f"<Gateway, {len(self._running)} requests>"

    @property
    def in_flight(self) -> int:
        """The number of requests that are being answered."""
        return len(self._running)

    def begin(self, connection: Connection, head: RequestHead, mistake: RequestError | None) -> Incoming:
        """Begin to answer a request."""
        body = Body(self._current().parts.settings.limits.body_timeout, announced=_announces_body(head))
        if head.method not in _TAKING_BODIES:
            body.discard()
        # An id is unique, not secret.
        incoming = Incoming(f"{random.getrandbits(64):016x}", connection.peer, head, body, mistake)
        # Kept until it ends, whether or not its client stays to wait for it.
        task = asyncio.create_task(self._answer(incoming, connection))  # noqa: TID251 - held by `_running`
        incoming.task = task
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return incoming

    async def _answer(self, incoming: Incoming, connection: Connection) -> None:
        with self._current() as generation:
            reply = Reply(connection, ((REQUEST_ID, incoming.id), *generation.headers))
            try:
                await Exchange(incoming, reply, generation, self._emit).run()
            finally:
                incoming.body.discard()


def _announces_body(head: RequestHead) -> bool:
    headers = head.headers
    return "Transfer-Encoding" in headers or headers.get("Content-Length", "").strip("0") != ""
