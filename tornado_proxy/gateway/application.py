"""What a server asks to answer its requests: each goes to the generation in force, and stays with it."""

from __future__ import annotations

import asyncio
import secrets
from asyncio import Task
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPInputError,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
    HTTPServerRequest,
    RequestStartLine,
    ResponseStartLine,
)

from tornado_proxy.gateway.body import Body
from tornado_proxy.gateway.connection import Connection
from tornado_proxy.gateway.errors import ClientDisconnected, MalformedMessage
from tornado_proxy.gateway.exchange import Exchange, Incoming
from tornado_proxy.gateway.generation import Generation
from tornado_proxy.gateway.reply import Reply
from tornado_proxy.routing.errors import RequestError
from tornado_proxy.telemetry.events import Event, InFlight

REQUEST_ID = "X-Request-Id"
GENERATION = "X-Tornado-Proxy-Generation"

# Whose bodies are read: an upload's for what it holds, a removal's because it waits for the request to be whole.
_TAKING_BODIES = frozenset({"PUT", "DELETE"})


class Gateway(HTTPServerConnectionDelegate):
    """Starts an exchange for each request.

    `current` is asked once for each and tells the generation in force; `name_generation` adds a header that says which.
    """

    def __init__(
        self, current: Callable[[], Generation], emit: Callable[[Event], None], *, name_generation: bool = False
    ) -> None:
        self._current = current
        self._emit = emit
        self._name_generation = name_generation
        self._running: set[Task[None]] = set()

    def __repr__(self) -> str:
        return f"<Gateway, {len(self._running)} requests>"

    @property
    def in_flight(self) -> int:
        """The number of requests that are being answered."""
        return len(self._running)

    def start_request(
        self,
        server_conn: object,  # noqa: ARG002 - Tornado's signature
        request_conn: HTTPConnection,
    ) -> HTTPMessageDelegate:
        """A reader for one request; Tornado calls this when a connection is ready for it."""
        assert isinstance(request_conn, Connection)
        return _Request(self, request_conn)

    def on_close(self, server_conn: object) -> None:
        """Nothing is kept for a connection."""

    def begin(self, connection: Connection, request: HTTPServerRequest, mistake: RequestError | None) -> _Begun:
        """Begin to answer a request."""
        limits = self._current().parts.settings.limits
        body = Body(limits.body_timeout, announced=_announces_body(request))
        if request.method not in _TAKING_BODIES:
            body.discard()
        incoming = Incoming(secrets.token_hex(8), request, request.method or "", body, mistake)
        # Kept until it ends, whether or not its client stays to wait for it.
        task = asyncio.create_task(self._answer(incoming, connection))  # noqa: TID251 - held by `_running`
        self._running.add(task)
        task.add_done_callback(self._end)
        self._emit(InFlight(len(self._running)))
        return _Begun(incoming, task)

    def _end(self, task: Task[None]) -> None:
        self._running.discard(task)
        self._emit(InFlight(len(self._running)))

    async def _answer(self, incoming: Incoming, connection: Connection) -> None:
        with self._current().pin() as generation:
            headers = [(REQUEST_ID, incoming.id)]
            if self._name_generation:
                headers.append((GENERATION, str(generation.number)))
            reply = Reply(connection, tuple(headers), is_head=connection.is_head)
            try:
                await Exchange(incoming, reply, generation, self._emit).run()
            finally:
                incoming.body.discard()


class _Begun(NamedTuple):
    """A request that is being answered."""

    incoming: Incoming
    task: Task[None]


class _Request(HTTPMessageDelegate):
    """One request, as its connection delivers it."""

    def __init__(self, gateway: Gateway, connection: Connection) -> None:
        self._gateway = gateway
        self._connection = connection

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> Awaitable[None] | None:
        assert isinstance(start_line, RequestStartLine)
        connection = self._connection
        mistake = connection.mistake
        try:
            request = HTTPServerRequest(connection=connection, start_line=start_line, headers=headers)
        except HTTPInputError as error:
            # Tornado's words repeat what was sent, credentials too, behind a colon.
            mistake = MalformedMessage(str(error).partition(":")[0])
            # The same headers without the one that may be wrong: what they say of the body still holds.
            headers.pop("Host", None)
            connection.wind_down()
            stand_in = RequestStartLine(start_line.method, "/", "HTTP/1.0")
            request = HTTPServerRequest(connection=connection, start_line=stand_in, headers=headers)
        self._begun = self._gateway.begin(connection, request, mistake)
        body = self._begun.incoming.body
        return body.until_wanted() if body.outstanding and not body.wanted.is_set() else None

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        return self._begun.incoming.body.deliver(chunk)

    def finish(self) -> None:
        self._begun.incoming.body.end()

    def on_connection_close(self) -> None:
        mistake = self._connection.mistake or ClientDisconnected("the client closed the connection")
        self._begun.incoming.body.break_off(mistake)
        # An upload is ended by its body, so that what it began is cleared away; all else may be dropped anywhere.
        if isinstance(mistake, ClientDisconnected) and self._begun.incoming.method != "PUT":
            # In the next turn: a task that is cancelled before its first step would say nothing of the request.
            asyncio.get_running_loop().call_soon(self._begun.task.cancel)


def _announces_body(request: HTTPServerRequest) -> bool:
    headers = request.headers
    return "Transfer-Encoding" in headers or headers.get("Content-Length", "").strip("0") != ""
