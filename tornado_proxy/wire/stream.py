"""One request and its answer on a connection: the `HTTPConnection` that the application sees."""

from __future__ import annotations

import asyncio
import ssl
from asyncio import Future
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import copy_context
from enum import Enum, auto
from typing import Any

from msgspec.structs import replace
from tornado.httputil import (
    HTTPConnection,
    HTTPInputError,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
    HTTPServerRequest,
    RequestStartLine,
)

from tornado_proxy.config.server import Limits
from tornado_proxy.routing.request import BadAddress, RequestError
from tornado_proxy.semantics.request import ClientCertificate, Origin, peer_address
from tornado_proxy.wire.incoming import ClientDisconnected, Fields
from tornado_proxy.wire.limits import LEAST_RATE, READ_OF_CLIENT
from tornado_proxy.wire.reading import ReadingProtocol

STAND_IN = RequestStartLine("GET", "/", "HTTP/1.0")
"""Stands in for a head that cannot be read; the connection ends with its answer. HTTP/1.0 needs no Host."""


class RequestState(Enum):
    """How far a request has been read."""

    BODY = auto()  # more is expected
    DONE = auto()
    BROKEN = auto()  # what follows cannot be read


class AnswerState(Enum):
    """How far an answer has been written."""

    HEAD = auto()  # nothing yet
    BODY = auto()
    DONE = auto()


class Stream(HTTPConnection):
    """One request and its answer, as the application sees them, in any version of HTTP.

    `peer` is where it comes from before any trusted proxy; `mistake` is the error that makes the request unreadable, or
    that ended its connection.
    """

    delegate: HTTPMessageDelegate | None = None
    writing = AnswerState.HEAD
    _remaining: float = 0  # bytes of the answer's body
    _on_close: Callable[[], None] | None = None

    def __init__(self, connection: ClientConnection, mistake: RequestError | None, *, has_body: bool) -> None:
        self.peer = connection.peer
        self.mistake = mistake
        self.reading = RequestState.BODY if has_body and mistake is None else RequestState.DONE
        self._connection = connection

    def set_close_callback(self, callback: Callable[[], None] | None) -> None:
        """Sets what is called if the client closes the connection before the answer is finished."""
        self._on_close = callback

    def begin(self, application: HTTPServerConnectionDelegate, line: RequestStartLine, fields: Fields) -> object:
        """Hands the request to the application; returns what is done when it takes the body, or None."""
        self.delegate = application.start_request(self._connection, self)
        try:
            return self.delegate.headers_received(line, fields)
        except HTTPInputError:  # Tornado reads the query of every request, and refuses as many parameters as we do
            self.mistake = BadAddress("the query has too many parameters")
            self.delegate = application.start_request(self._connection, self)
            return self.delegate.headers_received(line._replace(path=line.path.partition("?")[0]), fields)

    def end_body(self) -> None:
        """Tells the application that the request has arrived completely."""
        self.reading = RequestState.DONE
        delegate, self.delegate = self.delegate, None  # breaks a reference cycle
        assert delegate is not None
        delegate.finish()

    def break_off(self, mistake: RequestError) -> None:
        """Ends a request whose rest will not arrive, or whose client has left."""
        self.mistake = mistake
        if self.reading is RequestState.BODY:
            self.reading = RequestState.BROKEN
            delegate, self.delegate = self.delegate, None
            if delegate is not None:
                delegate.on_connection_close()
        elif isinstance(mistake, ClientDisconnected) and self._on_close is not None:
            self._on_close()

    def _failed(self) -> Future[None]:
        return self._fail(asyncio.get_running_loop().create_future())

    def _fail(self, writing: Future[None]) -> Future[None]:
        writing.set_exception(self.mistake or ClientDisconnected())
        writing.exception()  # a writer need not await it
        return writing


Notify = Callable[[Any], None]


class ClientConnection(ReadingProtocol):
    """A connection of a client, whose requests `application` answers.

    `peer` is the origin of the requests before any trusted proxy. `on_idle` is called whenever no request is under way
    any more, `on_close` once, when it is closed.
    """

    def __init__(
        self, application: HTTPServerConnectionDelegate, peer: Origin, limits: Limits, on_close: Notify, on_idle: Notify
    ) -> None:
        super().__init__(READ_OF_CLIENT)
        self.peer = peer
        self._application = application
        self._limits = limits
        self._on_close = on_close
        self._on_idle = on_idle
        self._unsent = 0  # bytes, when that was last looked at
        # Of no request: what a request notes, such as its calls to S3, is not for those that the client sends after it.
        self._variables = copy_context()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Notes the certificate of who has connected."""
        super().connection_made(transport)
        self.peer = replace(self.peer, certificate=shown_certificate(transport))

    # What the server asks.

    def wind_down(self) -> None:
        """Serves what is on its way, and no more."""

    def close_if_idle(self) -> None:
        """Takes no further request, and closes at once unless one is being answered."""

    def close(self) -> None:
        """Closes the connection at once."""

    def time(self) -> float:
        """Returns the time of the loop in seconds."""
        return self._loop.time()

    # For subclasses.

    def _unsent_bytes(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def _keeps_pace(self) -> bool:
        """Whether the client has read enough since the last look, `sendTimeout` ago."""
        before, self._unsent = self._unsent, self._unsent_bytes()
        return before - self._unsent >= LEAST_RATE * self._limits.send_timeout


def shown_certificate(transport: asyncio.BaseTransport) -> ClientCertificate | None:
    """Returns the client's certificate of a connection, verified by the handshake."""
    connection = transport.get_extra_info("ssl_object")
    return _read_certificate(connection.getpeercert() if connection else None)


_NO_ADDRESS = "0.0.0.0"  # noqa: S104 - nothing is bound to it: Tornado has it for a socket without an address


def peer_of(request: HTTPServerRequest) -> Origin:
    """Returns where a request comes from before any trusted proxy, with the certificate that its client showed.

    With `xheaders`, Tornado's own server takes address and scheme from headers that any client can send, and the
    connection may be a proxy's: nothing that it reports is believed, and its certificate names no user.
    """
    if isinstance(request.connection, Stream):
        return request.connection.peer
    address = getattr(getattr(request.connection, "context", None), "address", None)
    own, told = str(address[0]) if isinstance(address, tuple) else _NO_ADDRESS, request.remote_ip or ""
    shown = None
    if request.protocol == "https" and told == own:
        with suppress(AttributeError):  # the connection is plain
            shown = request.get_ssl_certificate()
    certificate = _read_certificate(shown if isinstance(shown, dict) else None)
    return Origin(peer_address(told), request.protocol, certificate=certificate, is_stand_in=told != own)


def _read_certificate(shown: Mapping[str, Any] | None) -> ClientCertificate | None:
    if not shown:
        return None
    subject = tuple(pair for pairs in shown["subject"] for pair in pairs)
    return ClientCertificate(
        tuple(value for name, value in subject if name == "commonName"),
        tuple(value for kind, value in shown.get("subjectAltName", ()) if kind == "email"),
        tuple(value for name, value in subject if name == "organizationalUnitName"),
        ssl.cert_time_to_seconds(shown["notAfter"]),
    )
