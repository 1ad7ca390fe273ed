"""One request and its answer on a connection: the `HTTPConnection` that the application sees."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import TYPE_CHECKING

from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPOutputError,
    HTTPServerConnectionDelegate,
    RequestStartLine,
    ResponseStartLine,
)

from tornado_proxy.routing.request import RequestError
from tornado_proxy.wire.headers import Fields
from tornado_proxy.wire.incoming import ClientDisconnected, RequestParser
from tornado_proxy.wire.reading import NEVER

if TYPE_CHECKING:
    from tornado_proxy.wire.client import ClientConnection
    from tornado_proxy.wire.connection import Connection

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
        return self.delegate.headers_received(line, fields)

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


class Http1Stream(Stream):
    """A request of HTTP/1 and its answer; what comes late cannot reach the next request."""

    _connection: Connection
    _is_chunked = False

    def __init__(self, connection: Connection, parser: RequestParser, mistake: RequestError | None) -> None:
        super().__init__(connection, mistake, has_body=not parser.complete)
        self.parser = parser
        self.keeps_alive = parser.keeps_alive and mistake is None
        self.awaits_continue = parser.expects_continue

    @property
    def is_read(self) -> bool:
        """Whether the request has arrived completely."""
        return self.reading is RequestState.DONE or self.parser.complete

    # What the application calls.

    def write_headers(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders, chunk: bytes | None = None
    ) -> Future[None]:
        """Writes the head of an answer and the first piece of its body.

        A body without a Content-Length is written in chunks (RFC 9112 7.1), or up to the end of the connection to a
        client of HTTP/1.0. Raises `ValueError` for a line end in a header. The future is done when the next piece may
        follow, or has `ClientDisconnected`.
        """
        assert isinstance(start_line, ResponseStartLine)
        _, status, reason = start_line
        fields, parser = headers.get_all(), self.parser
        is_old = parser.version == "HTTP/1.0"
        lines = [f"HTTP/1.1 {status} {reason}", *map(": ".join, fields)]
        unended = False
        if parser.method != "HEAD" and status != 304 and status != 204:  # noqa: PLR1714
            length = dict(fields).get("Content-Length")
            self._remaining = NEVER if length is None else int(length)
            self._is_chunked = length is None and not is_old
            unended = length is None and is_old
            if self._is_chunked:
                lines.append("Transfer-Encoding: chunked")
        if unended or not (self.keeps_alive and self.is_read and self._connection.may_go_on):
            self.keeps_alive = False
            lines.append("Connection: close")
        elif is_old:
            lines.append("Connection: keep-alive")
        head = "\r\n".join(lines)
        if head.count("\n") != len(lines) - 1:
            raise ValueError("a header of an answer has several lines")
        self.writing = AnswerState.BODY
        return self._write(chunk or b"", head.encode("latin-1") + b"\r\n\r\n")

    def write(self, chunk: bytes) -> Future[None]:
        """Writes a piece of an answer's body; its future is like the one of `write_headers`."""
        return self._write(chunk, b"")

    def finish(self) -> None:
        """Ends an answer; raises `HTTPOutputError` if its body is shorter than announced, and closes the connection."""
        if self.writing is AnswerState.DONE:
            return
        self.writing = AnswerState.DONE
        if 0 < self._remaining < NEVER and self.mistake is None:
            self._connection.close()
            raise HTTPOutputError(f"the body is {self._remaining} bytes shorter than its Content-Length")
        if self._is_chunked:
            self._connection.write(b"0\r\n\r\n")
        self._connection.end_answer(self)

    def close(self) -> None:
        """Closes the connection: the client sees that the answer is not complete."""
        if self.writing is not AnswerState.DONE:
            self.writing = AnswerState.DONE
            self._connection.close()

    def _write(self, chunk: bytes, head: bytes) -> Future[None]:
        if chunk and self._remaining:
            if len(chunk) > self._remaining:
                raise HTTPOutputError("the body is longer than its Content-Length")
            self._remaining -= len(chunk)
            chunk = b"%x\r\n%b\r\n" % (len(chunk), chunk) if self._is_chunked else chunk
            head = head + chunk if head else chunk
        if self.writing is AnswerState.DONE or not self._connection.write(head):
            return self._failed()
        return self._connection.until_writable()

    # What the connection calls.

    def deliver(self, received: bytearray) -> Awaitable[None] | None:
        """Passes on the body from the front of what was received; returns what is done when there is room for more."""
        assert self.delegate is not None
        piece = self.parser.read_body(received)
        return self.delegate.data_received(piece) if piece else None

    def break_off(self, mistake: RequestError) -> None:
        """Ends a request whose rest will not arrive, or whose client has left."""
        self.keeps_alive = False
        super().break_off(mistake)
