"""One client's connection: requests in and answers out, one after the other.

It speaks to the application as Tornado's `HTTP1Connection` does, which is not used: that answers a request that it
cannot read by itself, even in the middle of another answer, closes when the client has only ended its side, refuses
chunk extensions and trailers, and costs more than all else that a small file needs.
"""

from __future__ import annotations

import asyncio
import logging
import re
import select
from asyncio import Future
from typing import Literal

from tornado.concurrent import future_set_result_unless_cancelled
from tornado.httputil import (
    HTTPHeaders,
    HTTPOutputError,
    RequestStartLine,
    ResponseStartLine,
)

from tornado_proxy.config.server import Limits
from tornado_proxy.routing.request import RequestError
from tornado_proxy.semantics.request import Origin
from tornado_proxy.wire import limits
from tornado_proxy.wire.incoming import TOO_SLOW, ClientDisconnected, Fields, RequestParser
from tornado_proxy.wire.stream import NEVER, STAND_IN, ClientConnection, ConnectionServer, Stream

_LOG = logging.getLogger("tornado_proxy")

_NO_HEAD = re.compile(rb"[^!#$%&'*+.^_`|~0-9A-Za-z\r\n-]")  # cannot begin a request, e.g. a TLS handshake

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

State = Literal["idle", "head", "serving", "lingering", "closed"]
"""What a connection does.

It waits for a request; has a part of a head; answers a request, whose body may be arriving; or has sent the last
answer, and its client has yet to close.
"""


class Connection(ClientConnection):
    """Serves requests one after the other, until one side closes."""

    def __init__(self, server: ConnectionServer, peer: Origin, allowed: Limits) -> None:
        super().__init__(server, peer, allowed)
        self.is_last = False  # whether the request under way is the last one
        self._state: State = "idle"
        self._stream: Http1Stream | None = None  # the request under way
        self._writable: Future[None] = self._loop.create_future()  # pending while the client reads too slowly
        self._writable.set_result(None)
        self._in_turn = 0  # bytes written since a writer last waited for the loop
        self._half_closed = False
        self._probed = False  # whether a client that has ended its side was sent something
        self._linger_until = 0.0

    def __repr__(self) -> str:
        return f"<Connection of {self.peer.address}, {self._state}>"

    # What the server asks.

    def wind_down(self) -> None:
        """Serves at most one more request: the current one, or one that is arriving."""
        self.is_last = True

    def close_if_idle(self) -> None:
        """Closes at once, unless a request is running."""
        if self._stream is None:
            self.close()

    def close(self) -> None:
        """Closes the connection at once."""
        if self._transport is not None:
            self._transport.abort()
        self.is_last = True

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Waits for a request."""
        super().connection_made(transport)
        assert self._transport is not None
        self._transport.set_write_buffer_limits(limits.MOST_UNSENT)
        self._set_deadline(self._limits.idle_timeout)
        self._server.on_idle(self)

    def buffer_updated(self, nbytes: int) -> None:
        """Takes the bytes that were read."""
        if self._state == "lingering":
            self._deadline = min(self._loop.time() + limits.LINGER_IDLE, self._linger_until)
            return
        data, stream = self._buffer[:nbytes], self._stream
        delegate = None if stream is None or self._received or self._taking is not None else stream.delegate
        if stream is not None and delegate is not None and stream.parser.is_plain:
            piece = stream.parser.cut_body(data)  # not by way of what was received: a copy less
            self._await(delegate.data_received(piece))
            data = data[len(piece) :]
        self._received += data
        self._advance()

    def eof_received(self) -> bool:
        """Keeps a connection open if its client waits for an answer; closes any other."""
        if self._transport is None or not self._transport.can_write_eof():
            return False  # the end of TLS is the end of both directions
        if self._state == "lingering":
            return False
        if not self._half_closed:
            self._half_closed = True
            self._loop.call_later(limits.DEPARTURE_CHECK, self._look_for_departure)
            self._advance()
        return not self._transport.is_closing()

    def pause_writing(self) -> None:
        """Makes writers wait; a client that reads too slowly is cut off."""
        self._writable = self._loop.create_future()
        self._unsent = self._unsent_bytes()
        self._set_deadline(self._limits.send_timeout)

    def resume_writing(self) -> None:
        """Lets writers continue."""
        if self._writable.cancelled():  # with the task that awaited it
            self._writable = self._loop.create_future()
        if not self._writable.done():
            self._writable.set_result(None)
        if self._state == "serving":
            self._deadline = NEVER

    def connection_lost(self, exc: Exception | None) -> None:
        """Breaks off the current request, and tells the server."""
        super().connection_lost(exc)
        self._state = "closed"
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.break_off(stream.mistake or ClientDisconnected())
        self.resume_writing()
        self._server.on_close(self)

    # Requests.

    def _advance(self) -> None:
        """Processes the received bytes until more are needed."""
        try:
            while self._taking is None and self._transport is not None:
                stream = self._stream
                if stream is None:
                    goes_on = self._state != "lingering" and self._read_head()
                elif stream.reading == "body":
                    goes_on = self._read_body(stream)
                else:
                    goes_on = False
                    if len(self._received) > limits.MOST_AHEAD:
                        self._pause_reading()
                if not goes_on:
                    if self._half_closed and (stream is None or stream.reading == "body"):
                        self._set_deadline(self._limits.send_timeout)
                        self._transport.close()  # the rest will not arrive
                    break
        except Exception:  # noqa: BLE001 - one connection's defect must not end the others
            _LOG.exception("unexpected exception in a connection")
            self.close()

    def _read_head(self) -> bool:
        """Begins the request whose head has arrived; returns whether one has."""
        while self._received.startswith(b"\r\n"):
            del self._received[:2]  # RFC 9112 2.2
        end = self._find_head()
        if not end and not _NO_HEAD.match(self._received):
            if self._received and self._state == "idle":
                self._state = "head"
                self._set_deadline(min(self._limits.header_timeout, self._deadline - self._loop.time()))
            if self._searched <= self._limits.max_header_size:
                return False
        # What is over the limit is refused at once, so nothing of it is kept.
        end = end or len(self._received)
        head = bytes(self._received[:end])
        del self._received[:end]
        self._searched = 0
        self._state = "serving"
        self._deadline = NEVER
        parser, mistake = RequestParser(), None
        try:
            line, fields = parser.read_head(head, self._limits.max_header_size)
        except RequestError as error:
            # The frames of its traceback hold what was received.
            mistake, line, fields = error.with_traceback(None), STAND_IN, Fields()
        self._stream = stream = Http1Stream(self, parser, mistake)
        until_taken = stream.begin(self._server, line, fields)
        if stream.reading == "body":
            self._limit_reads(limits.LARGEST_READ_OF_BODY)
            self._await(until_taken)
        elif stream.reading == "done":
            stream.end_body()
        return True

    def _read_body(self, stream: Http1Stream) -> bool:
        """Passes on the received part of the body, and its end."""
        if stream.parser.complete:
            stream.end_body()
            return True
        if stream.awaits_continue:
            stream.awaits_continue = False
            self.write(_CONTINUE)
        if not self._received:
            return False
        had = len(self._received)
        try:
            piece = stream.parser.read_body(self._received)
        except RequestError as error:
            stream.break_off(error.with_traceback(None))
            return False
        if piece and stream.delegate is not None:
            self._await(stream.delegate.data_received(piece))
        return had > len(self._received) or stream.parser.complete

    def _look_for_departure(self) -> None:
        """Closes the connection of a half-closed client that is gone; TCP shows that once something was sent."""
        stream = self._stream
        if self._transport is None or self._transport.is_closing():
            return
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), 0)
        is_unanswered = stream is not None and stream.writing == "head"
        if poll.poll(0) or (is_unanswered and stream is not None and stream.parser.version == "HTTP/1.0"):
            self.close()
            return
        if not self._probed and is_unanswered:
            self._probed = True
            self.write(_CONTINUE)  # any client of HTTP/1.1 must expect it (RFC 9110 15.2)
        self._loop.call_later(limits.DEPARTURE_CHECK, self._look_for_departure)

    # Answers.

    @property
    def may_go_on(self) -> bool:
        """Whether another request may follow the one under way."""
        return not self.is_last and not (self._half_closed and not self._received)

    def write(self, data: bytes) -> bool:
        """Writes bytes; returns whether the connection still takes them."""
        transport = self._transport
        if transport is not None and data and not transport.is_closing():
            transport.write(data)
            self._in_turn += len(data)
        # A failed transport reports that in a later turn of the loop, for which a writer might never wait.
        return transport is not None and not transport.is_closing()

    def until_writable(self) -> Future[None]:
        """Returns a future that is done when the client has read enough for more."""
        if self._in_turn < limits.MOST_A_TURN:
            return self._writable
        self._in_turn = 0
        if self._writable.done() and self.peer.scheme == "https":
            turn: Future[None] = self._loop.create_future()
            self._loop.call_soon(future_set_result_unless_cancelled, turn, None)
            return turn
        return self._writable

    def end_answer(self, stream: Http1Stream) -> None:
        """Goes on to the next request, or ends the connection."""
        if stream is not self._stream:
            return
        self._stream = None
        if len(self._buffer) != limits.READ_OF_CLIENT:
            self._limit_reads(limits.READ_OF_CLIENT)
        if stream.reading != "done":
            # In the next turn: the application is in the middle of finishing.
            self._loop.call_soon(stream.break_off, stream.mistake or ClientDisconnected("the rest was not read"))
        self._server.on_idle(self)
        if stream.keeps_alive:
            self._state = "idle"
            self._set_deadline(self._limits.idle_timeout)
            if self._received or self._half_closed:
                # A client that pipelines must not keep the others waiting.
                self._loop.call_soon(self._resume_reading)
                self._loop.call_soon(self._advance, context=self._variables)
        else:
            self._end(has_unread=bool(self._received or stream.mistake) or not stream.is_read)

    def _end(self, *, has_unread: bool) -> None:
        """Closes the connection once the answer is sent and the client has closed its side, or after a time."""
        transport = self._transport
        self._received.clear()
        if transport is None:
            return
        self._state = "lingering"
        if self._half_closed or not transport.can_write_eof():
            self._set_deadline(self._limits.send_timeout)
            transport.close()
            return
        try:
            transport.write_eof()
        except OSError:  # the client has reset the connection, which asyncio has yet to read
            transport.abort()
            return
        self._linger_until = self._loop.time() + limits.LINGER_TOTAL
        waiting = limits.LINGER_IDLE if has_unread else limits.LINGER_DONE
        self._set_deadline(self._limits.send_timeout if transport.get_write_buffer_size() else waiting)
        self._resume_reading()

    # Time.

    def _expired(self) -> None:
        stream = self._stream
        if stream is not None and self._keeps_pace():
            self._set_deadline(self._limits.send_timeout)
            return
        if stream is not None:
            stream.mistake = ClientDisconnected(TOO_SLOW)
        self.close()


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
        return self.reading == "done" or self.parser.complete

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
        self.writing = "body"
        return self._write(chunk or b"", head.encode("latin-1") + b"\r\n\r\n")

    def write(self, chunk: bytes) -> Future[None]:
        """Writes a piece of an answer's body; its future is like the one of `write_headers`."""
        return self._write(chunk, b"")

    def finish(self) -> None:
        """Ends an answer; raises `HTTPOutputError` if its body is shorter than announced, and closes the connection."""
        if self.writing == "done":
            return
        self.writing = "done"
        if 0 < self._remaining < NEVER and self.mistake is None:
            self._connection.close()
            raise HTTPOutputError(f"the body is {self._remaining} bytes shorter than its Content-Length")
        if self._is_chunked:
            self._connection.write(b"0\r\n\r\n")
        self._connection.end_answer(self)

    def close(self) -> None:
        """Closes the connection: the client sees that the answer is not complete."""
        if self.writing != "done":
            self.writing = "done"
            self._connection.close()

    def _write(self, chunk: bytes, head: bytes) -> Future[None]:
        if chunk and self._remaining:
            if len(chunk) > self._remaining:
                raise HTTPOutputError("the body is longer than its Content-Length")
            self._remaining -= len(chunk)
            chunk = b"%x\r\n%b\r\n" % (len(chunk), chunk) if self._is_chunked else chunk
            head = head + chunk if head else chunk
        if self.writing == "done" or not self._connection.write(head):
            return self._failed()
        return self._connection.until_writable()

    # What the connection calls.

    def break_off(self, mistake: RequestError) -> None:
        """Ends a request whose rest will not arrive, or whose client has left."""
        self.keeps_alive = False
        super().break_off(mistake)
