"""One client's connection: bytes in and out, request by request.

Tornado's own `HTTP1Connection` is not used: it answers a request that it cannot read by itself, even in the middle of
another answer, closes when the client has only ended its side, refuses chunk extensions and trailers, and costs more
than all else that a small file needs.
"""

from __future__ import annotations

import asyncio
import logging
import re
import select
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from email.utils import formatdate
from functools import lru_cache
from time import time
from typing import cast

from tornado_proxy.config.server import Limits
from tornado_proxy.gateway.incoming import LEAST_RATE, ClientDisconnected, Incoming, RequestHead, RequestParser
from tornado_proxy.gateway.tls import shown_certificate
from tornado_proxy.routing.request import RequestError
from tornado_proxy.semantics.fields import REASONS
from tornado_proxy.semantics.forwarded import Origin

_LOG = logging.getLogger("tornado_proxy")

# One for all connections: each read is copied out of it before the next one.
_READ_BUFFER = memoryview(bytearray(64 * 1024))

_HEAD_END = re.compile(rb"\n\r?\n")
_NO_HEAD = re.compile(rb"[^!#$%&'*+.^_`|~0-9A-Za-z\r\n-]")  # such as a TLS handshake, which has no such end
_MOST_AHEAD = 64 * 1024  # bytes of further requests that are taken while one is answered

# Stands in for a head that cannot be read; the connection ends with its answer.
_STAND_IN = RequestHead("GET", "/", "HTTP/1.1", {}, ())

_NEVER = float("inf")

# A connection that is closed over unread bytes is reset, and its client may never see the answer (RFC 9112 9.6).
_LINGER_DONE = 1.0  # seconds for the client to close if nothing more is expected of it
_LINGER_IDLE = 5.0  # seconds without a byte if it has not sent all that it announced
_LINGER_TOTAL = 30.0  # seconds

# A client that has ended its side may have left, or may wait for its answer. TCP shows which when something is sent.
_DEPARTURE_CHECK = 0.25  # seconds
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


Notify = Callable[["Connection"], None]
Begin = Callable[["Connection", RequestHead, RequestError | None], Incoming]
"""Begins to answer a request with this head, or a request whose only known fact is an error."""


class Connection(asyncio.BufferedProtocol):
    """Serves requests one after the other, until one side closes; `begin` begins to answer each.

    `peer` is the origin of the requests before any trusted proxy. `on_idle` is called whenever no request is under way
    any more, `on_close` once, when it is closed.
    """

    def __init__(self, begin: Begin, peer: Origin, limits: Limits, on_close: Notify, on_idle: Notify) -> None:
        self.peer = peer
        self.mistake: RequestError | None = None  # in the request under way
        self._begin = begin
        self._limits = limits
        self._on_close = on_close
        self._on_idle = on_idle
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._searched = 0  # bytes of the head that were searched for its end
        self._parser: RequestParser | None = None  # of the request that is still arriving
        self._request: Incoming | None = None  # under way
        self._taking: asyncio.Future[object] | None = None  # while the body has no room for more
        self._writable: asyncio.Future[None] | None = None  # while the client reads too slowly
        self._unsent = 0  # bytes, when that was last looked at
        self._version = "HTTP/1.1"
        self.is_head = False  # whether the answer under way has no body, since it is one to a HEAD
        self._keep_alive = True
        self._last = False
        self._expects_continue = False
        self.head_written = False
        self._remaining: float = 0  # bytes of the answer's body
        self._half_closed = False
        self._probed = False  # whether a client that has ended its side was sent something
        self._lingering = False
        self._linger_until = 0.0
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None

    # What the server asks.

    def wind_down(self) -> None:
        """Serves at most one more request: the current one, or one that is arriving."""
        self._last = True

    def close_if_idle(self) -> None:
        """Closes at once, unless a request is running."""
        if self._request is None:
            self.close()

    def close(self) -> None:
        """Closes the connection at once."""
        if self._transport is not None:
            self._transport.abort()
        self._keep_alive = False
        self._last = True

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Waits for a request."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are not instances of it
        if certificate := shown_certificate(transport):
            self.peer = replace(self.peer, certificate=certificate)
        self._set_deadline(self._limits.idle_timeout)
        self._on_idle(self)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        """Returns the buffer that the transport reads into."""
        return _READ_BUFFER

    def buffer_updated(self, nbytes: int) -> None:
        """Takes the bytes that were read."""
        if self._lingering:
            self._deadline = min(self._loop.time() + _LINGER_IDLE, self._linger_until)
            return
        self._received += _READ_BUFFER[:nbytes]
        self._advance()

    def eof_received(self) -> bool:
        """Keeps a connection open if its client waits for an answer; closes any other."""
        if self._transport is None or not self._transport.can_write_eof():
            return False  # the end of TLS is the end of both directions
        if not self._half_closed:
            self._half_closed = True
            self._loop.call_later(_DEPARTURE_CHECK, self._look_for_departure)
            self._advance()
        return not self._transport.is_closing()

    def pause_writing(self) -> None:
        """Makes writers wait, as long as the client reads fast enough."""
        self._writable = self._loop.create_future()
        self._unsent = self._unsent_bytes()
        self._set_deadline(self._limits.send_timeout)

    def resume_writing(self) -> None:
        """Lets writers continue."""
        waiting, self._writable = self._writable, None
        if waiting is not None and not waiting.done():
            waiting.set_result(None)
        if self._request is not None:
            self._deadline = _NEVER

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Breaks off the current request, and tells the server."""
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
        self.mistake = self.mistake or ClientDisconnected("the client closed the connection")
        request, self._request = self._request, None
        if request is not None:
            request.break_off(self.mistake)
        self._on_close(self)

    # Requests.

    def _advance(self) -> None:
        """Processes the received bytes until more are needed."""
        try:
            while self._taking is None and self._transport is not None:
                if self._parser is not None:
                    goes_on = self._read_body(self._parser)
                elif self._request is None:
                    goes_on = self._read_head()
                else:
                    goes_on = False
                    if len(self._received) > _MOST_AHEAD:
                        self._pause_reading()
                if not goes_on:
                    if self._half_closed and (self._request is None or self._parser is not None):
                        self._end()  # the rest will not arrive
                    break
        except Exception:  # noqa: BLE001 - one connection's defect must not end the others
            _LOG.exception("unexpected exception in a connection")
            self.close()

    def _read_head(self) -> bool:
        """Begins the request whose head has arrived; returns whether one has."""
        while self._received.startswith(b"\r\n"):
            del self._received[:2]  # RFC 9112 2.2
        found = _HEAD_END.search(self._received, max(0, self._searched - 3)) or _NO_HEAD.match(self._received)
        if found is None:
            if self._received and not self._searched:
                self._set_deadline(min(self._limits.header_timeout, self._deadline - self._loop.time()))
            self._searched = len(self._received)
            if self._searched <= self._limits.max_header_size:
                return False
        # What is over the limit is refused at once, so nothing of it is kept.
        end = found.end() if found else self._searched
        head = bytes(self._received[:end])
        del self._received[:end]
        self._searched = 0
        self._start_request(head)
        return True

    def _start_request(self, head: bytes) -> None:
        self._deadline = _NEVER
        self.head_written = False
        self.mistake = None
        parser = RequestParser()
        try:
            request_head = parser.read_head(head, self._limits.max_header_size)
        except RequestError as error:
            self.mistake = error.with_traceback(None)  # whose frames hold what was received
            self._keep_alive = False
            request_head = _STAND_IN
        else:
            self._parser = parser if request_head.has_body else None
            self._keep_alive = parser.keeps_alive
            self._expects_continue = parser.expects_continue
        # Known even where the rest of the head cannot be read.
        self.is_head, self._version = parser.method == "HEAD", parser.version
        self._request = self._begin(self, request_head, self.mistake)
        body = self._request.body
        if not (body.ended or body.is_wanted):
            self._await(body.until_wanted())

    def _read_body(self, parser: RequestParser) -> bool:
        """Passes on the received part of the body, and its end."""
        assert self._request is not None
        if parser.complete:
            self._parser = None
            self._request.body.end()
            return True
        if self._expects_continue:
            self._expects_continue = False
            self._send(_CONTINUE)
        if not self._received:
            return False
        try:
            piece = parser.read_body(self._received)
        except RequestError as error:
            self.mistake = error.with_traceback(None)  # whose frames hold what was received
            self._keep_alive = False
            self._parser = None
            self._request.break_off(error)
            return False
        if piece:
            self._await(self._request.body.deliver(piece))
        return bool(piece) or parser.complete

    def _await(self, taken: Awaitable[object] | None) -> None:
        """Pauses reading until the chunk was consumed."""
        if taken is not None:
            self._taking = asyncio.ensure_future(taken)
            self._taking.add_done_callback(self._go_on)
            self._pause_reading()

    def _go_on(self, taken: asyncio.Future[object]) -> None:
        self._taking = None
        taken.result()
        self._resume_reading()
        self._advance()

    def _look_for_departure(self) -> None:
        """Closes the connection of a half-closed client that is gone; TCP shows that once something was sent."""
        if self._transport is None or self._transport.is_closing():
            return
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), 0)
        if poll.poll(0) or (self._version == "HTTP/1.0" and not self.head_written):
            self.close()
            return
        if not self._probed and not self.head_written:
            self._probed = True
            self._send(_CONTINUE)  # any client of HTTP/1.1 must expect it (RFC 9110 15.2)
        self._loop.call_later(_DEPARTURE_CHECK, self._look_for_departure)

    # Answers.

    async def write_head(self, status: int, headers: Sequence[tuple[str, str]], chunk: bytes) -> None:
        """Writes the head of an answer and the first piece of its body, which has a Content-Length or is in chunks."""
        has_body, named = not self.is_head and status not in (204, 304), dict(headers)
        self._remaining = (_NEVER if "Transfer-Encoding" in named else int(named["Content-Length"])) if has_body else 0
        incomplete = self._parser is not None and not self._parser.complete
        nothing_follows = self._half_closed and not self._received
        self._keep_alive = not (self._last or incomplete or nothing_follows) and self._keep_alive
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Unknown')}\r\nDate: {_date(int(time()))}"]
        lines += map(": ".join, headers)
        if not self._keep_alive:
            lines.append("Connection: close")
        elif self._version == "HTTP/1.0":
            lines.append("Connection: keep-alive")
        head = "\r\n".join(lines)
        if head.count("\n") != len(lines):
            raise ValueError("a header of an answer has several lines")
        encoded = head.encode("latin-1") + b"\r\n\r\n"
        self.head_written = True
        await self.write(chunk if has_body else b"", encoded)

    async def write(self, chunk: bytes, head: bytes = b"") -> None:
        """Writes a piece of an answer's body, behind the head if it is the first; done when the next may follow."""
        if len(chunk) > self._remaining:
            raise ValueError("the body is longer than its Content-Length")
        self._remaining -= len(chunk)
        transport = self._transport
        if transport is not None and not transport.is_closing():
            transport.write(head + chunk if head else chunk)
        # A failed transport reports that in a later turn of the loop, for which this writer might never wait.
        if transport is None or transport.is_closing():
            raise self.mistake or ClientDisconnected("the client closed the connection")
        if self._writable is not None:
            await self._writable

    def finish(self) -> None:
        """Ends an answer; raises `ValueError` if its body is shorter than announced."""
        if self._request is None:
            return
        if 0 < self._remaining < _NEVER:
            raise ValueError(f"the body is {self._remaining} bytes shorter than its Content-Length")
        self._request = None
        self._on_idle(self)
        if self._keep_alive:
            self._parser = None
            self._set_deadline(self._limits.idle_timeout)
            if self._received or self._half_closed:
                self._resume_reading()
                # A client that pipelines must not keep the others waiting.
                self._loop.call_soon(self._advance)
        else:
            self._end()

    def _send(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _end(self) -> None:
        """Closes the connection once the answer is sent and the client has closed its side, or after a time."""
        transport, unread = self._transport, self._parser is not None or self._received or self.mistake
        self._parser = None
        self._received.clear()
        if transport is None:
            return
        if self._half_closed or not transport.can_write_eof():
            self._set_deadline(self._limits.send_timeout)
            transport.close()
            return
        transport.write_eof()
        self._lingering = True
        self._linger_until = self._loop.time() + _LINGER_TOTAL
        waiting = _LINGER_IDLE if unread else _LINGER_DONE
        self._set_deadline(self._limits.send_timeout if transport.get_write_buffer_size() else waiting)
        self._resume_reading()

    # Time and flow.

    def _set_deadline(self, seconds: float) -> None:
        """Sets the time of the next `_expire`; the timer is only moved if it would be late."""
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(self._deadline, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self._deadline > self._loop.time():
            if self._deadline != _NEVER:
                self._timer = self._loop.call_at(self._deadline, self._expire)
            return
        if self._request is not None and self._unsent - self._unsent_bytes() >= LEAST_RATE * self._limits.send_timeout:
            self._unsent = self._unsent_bytes()
            self._set_deadline(self._limits.send_timeout)
            return
        if self._request is not None:
            self.mistake = ClientDisconnected(f"the client read less than {LEAST_RATE} bytes a second")
        self.close()

    def _unsent_bytes(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def _pause_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def _resume_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()


@lru_cache(1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
