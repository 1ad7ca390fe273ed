"""What a server asks to answer its requests: each goes to the generation in force, and stays with it."""

from __future__ import annotations

import asyncio
import secrets
from asyncio import Task
from collections.abc import Awaitable, Callable
from functools import partial

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
from tornado.web import Application, RequestHandler

from tornado_proxy.gateway.body import Body
from tornado_proxy.gateway.connection import Connection, malformed
from tornado_proxy.gateway.exchange import Exchange, Incoming
from tornado_proxy.gateway.generation import Generation
from tornado_proxy.gateway.objects import ObjectHandler
from tornado_proxy.gateway.reply import Reply
from tornado_proxy.routing.errors import RequestError
from tornado_proxy.telemetry.events import Event, InFlight

REQUEST_ID = "X-Request-Id"
GENERATION = "X-Tornado-Proxy-Generation"

# Tornado looks a handler's method up by its name, so one that it does not know takes the way of one that it does.
_KNOWN_METHODS = frozenset(RequestHandler.SUPPORTED_METHODS)
_ANY_KNOWN = "OPTIONS"


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
        self._application = Application(log_function=lambda _handler: None)
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
        return _Reader(self, request_conn)

    def on_close(self, server_conn: object) -> None:
        """Nothing is kept for a connection."""

    def open(self, request: HTTPServerRequest, method: str, mistake: RequestError | None) -> HTTPMessageDelegate:
        """What Tornado tells about a request's body from here on."""
        begin = partial(self._begin, method=method, mistake=mistake)
        settings = {"begin": begin, "limits": self._current().parts.settings.limits}
        return self._application.get_handler_delegate(request, ObjectHandler, settings)

    def _begin(self, handler: RequestHandler, body: Body, method: str, mistake: RequestError | None) -> Task[None]:
        incoming = Incoming(secrets.token_hex(8), handler.request, method, body, mistake)
        # Kept until it ends, whether or not its client stays to wait for it.
        task = asyncio.create_task(self._answer(incoming, handler))  # noqa: TID251 - held by `_running`
        self._running.add(task)
        task.add_done_callback(self._end)
        self._emit(InFlight(len(self._running)))
        return task

    def _end(self, task: Task[None]) -> None:
        self._running.discard(task)
        self._emit(InFlight(len(self._running)))

    async def _answer(self, incoming: Incoming, handler: RequestHandler) -> None:
        with self._current().pin() as generation:
            headers = [(REQUEST_ID, incoming.id)]
            if self._name_generation:
                headers.append((GENERATION, str(generation.number)))
            limits = generation.parts.settings.limits
            reply = Reply(handler, incoming.body, tuple(headers), limits.send_timeout)
            try:
                await Exchange(incoming, reply, generation, self._emit).run()
            finally:
                incoming.body.discard()


class _Reader(HTTPMessageDelegate):
    """Turns a head into a request, or into one that stands in for it, with what is wrong."""

    def __init__(self, gateway: Gateway, connection: HTTPConnection) -> None:
        self._gateway = gateway
        self._connection = connection
        self._next = HTTPMessageDelegate()

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> Awaitable[None] | None:
        assert isinstance(start_line, RequestStartLine)
        self._next = self._delegate(start_line, headers)
        return self._next.headers_received(start_line, headers)

    def _delegate(self, start_line: RequestStartLine, headers: HTTPHeaders) -> HTTPMessageDelegate:
        connection, method = self._connection, start_line.method
        assert isinstance(connection, Connection)
        if method not in _KNOWN_METHODS:
            start_line = start_line._replace(method=_ANY_KNOWN)
        try:
            request = HTTPServerRequest(connection=connection, start_line=start_line, headers=headers)
        except HTTPInputError as error:
            # The same headers without the one that may be wrong: what they say of the body still holds.
            headers.pop("Host", None)
            connection.close_after_answer()
            connection.mistake = malformed(error)
            stand_in = RequestStartLine(_ANY_KNOWN, "/", "HTTP/1.0")
            request = HTTPServerRequest(connection=connection, start_line=stand_in, headers=headers)
        return self._gateway.open(request, method, connection.mistake)

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        return self._next.data_received(chunk)

    def finish(self) -> None:
        self._next.finish()

    def on_connection_close(self) -> None:
        self._next.on_connection_close()
