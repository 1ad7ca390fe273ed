"""What arrives on a connection, a client's or S3's: reads, bodies, and a request as the application sees it."""

from __future__ import annotations

import asyncio
import re
import ssl
from asyncio import Future
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import copy_context
from copy import copy
from math import inf
from mmap import MAP_PRIVATE, mmap
from typing import Any, ClassVar, Literal, cast
from weakref import WeakKeyDictionary

from msgspec.structs import replace
from tornado.httputil import (
    HTTPConnection,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
    HTTPServerRequest,
    RequestStartLine,
)

from tornado_proxy.config.server import Limits
from tornado_proxy.routing.request import RequestError
from tornado_proxy.semantics.request import ClientCertificate, Origin, peer_address
from tornado_proxy.wire.incoming import ClientDisconnected, Fields
from tornado_proxy.wire.limits import LARGEST_READ, LEAST_RATE, READ_OF_CLIENT, ROOM_OF_BODY

NEVER = inf

# Of all connections of a loop: each read is copied out of it before the next one. asyncio would otherwise allocate a
# buffer for each read, which costs as much as the read. Loops in two threads must not share one. The memory is mapped,
# so that there is only as much of it as the longest read has filled.
_BUFFERS: WeakKeyDictionary[asyncio.AbstractEventLoop, memoryview] = WeakKeyDictionary()

_HEAD_END = re.compile(rb"\n\r?\n")


class ReadingProtocol(asyncio.BufferedProtocol):
    """Reads what the other side sends, pauses until it was taken, and ends the connection at its deadline.

    A subclass takes what was `received` in `_advance`, and says in `_expired` what happens at the deadline.
    """

    def __init__(self, largest_read: int) -> None:
        self._loop = asyncio.get_running_loop()
        if self._loop not in _BUFFERS:
            _BUFFERS[self._loop] = memoryview(mmap(-1, LARGEST_READ, MAP_PRIVATE))
        self._buffer = self._shared = _BUFFERS[self._loop]
        self._limit_reads(largest_read)
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._searched = 0  # bytes of the head that were searched for its end
        self._taking: Future[object] | None = None  # while nobody takes more of the body
        self._deadline = 0.0  # in the time of the loop
        self._timer: asyncio.TimerHandle | None = None

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are not instances of it

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        """Returns the buffer that the transport reads into."""
        return self._buffer

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Forgets the transport and the deadline."""
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()

    # For subclasses.

    def _advance(self) -> None:
        """Takes what was received."""

    def _expired(self) -> None:
        """Ends what has exceeded its deadline."""

    def _limit_reads(self, size: int) -> None:
        """Sets how many bytes each of the next reads can return."""
        if len(self._buffer) != size:
            self._buffer = self._shared[:size]

    def _find_head(self) -> int:
        """Returns the length of the head at the front of what was received, its empty line included; 0 without one."""
        head_end = _HEAD_END.search(self._received, max(0, self._searched - 3))
        self._searched = 0 if head_end else len(self._received)
        return head_end.end() if head_end else 0

    def _await(self, taken: object) -> None:
        """Pauses reading until what was handed over is taken; None is taken already."""
        if taken is not None:
            self._taking = asyncio.ensure_future(cast("Awaitable[object]", taken))
            self._taking.add_done_callback(self._go_on)
            self._pause_reading()

    def _go_on(self, taken: Future[object]) -> None:
        self._taking = None
        if not taken.cancelled():
            taken.result()
        self._resume_reading()
        self._advance()

    def _set_deadline(self, seconds: float) -> None:
        """Sets the time of `_expired`; the timer is only moved if it would be late."""
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(self._deadline, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self._deadline <= self._loop.time():
            self._expired()
        elif self._deadline != NEVER:
            self._timer = self._loop.call_at(self._deadline, self._expire)

    def _pause_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def _resume_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()


class BodyBuffer:
    """The chunks of a body that have arrived and were not read; the slower side sets the pace.

    With more than `limit` bytes it is full. It has room again when only `kept` chunks are left, or its reader waits.
    """

    kept: ClassVar[int] = 1

    __slots__ = ("_chunks", "_error", "_filled", "_room", "_wanted", "ended", "limit", "size")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.ended = False  # whether everything arrived, or nothing more will
        self.size = 0  # bytes
        self._error: Exception | None = None
        self._chunks: deque[bytes] = deque()
        self._room: Future[None] | None = None  # while it is full
        self._filled: Future[None] | None = None  # while its reader waits
        self._wanted = 0  # bytes for which the reader waits

    @property
    def is_awaited(self) -> bool:
        """Whether its reader waits for more."""
        return self._filled is not None

    def deliver(self, chunk: bytes) -> Future[None] | None:
        """Takes a chunk; returns None, or a future that is done when there is room for the next one."""
        self._chunks.append(chunk)
        self.size += len(chunk)
        self._wake()
        if self.size <= self.limit or self.size < self._wanted:
            return None
        self._room = asyncio.get_running_loop().create_future()
        return self._room

    def end(self, error: Exception | None = None) -> None:
        """Ends the body: it is complete, or its reader gets an error after the chunks."""
        self.ended, self._error = True, error
        self._wake()
        self._make_room()

    def drop(self) -> None:
        """Drops the chunks that were not read."""
        self._chunks.clear()
        self.size = 0
        self._make_room()

    async def read(self) -> bytes:
        """Returns the next chunk, empty at the end; raises the error of a body that broke off."""
        if not self._chunks and not self.ended:
            await self.until(1)
        if self._chunks:
            chunk = self._chunks.popleft()
            self.size -= len(chunk)
            if len(self._chunks) <= self.kept:
                self._make_room()
            return chunk
        if self._error is not None:
            # The error that is raised keeps the frames that it passes, and the body with them: if the body kept that
            # error too, only the garbage collector could free them.
            raise copy(self._error) from self._error
        return b""

    def peek(self) -> bytes:
        """Returns the bytes that have arrived and were not read."""
        return b"".join(self._chunks)

    async def until(self, size: int) -> None:
        """Waits for a number of bytes, or for the end."""
        self._wanted = size
        if self.size >= size or self.ended:
            return
        self._make_room()
        self._filled = asyncio.get_running_loop().create_future()
        try:
            await self._filled
        finally:
            self._filled, self._wanted = None, 0

    def _wake(self) -> None:
        if self._filled is not None and not self._filled.done() and (self.size >= self._wanted or self.ended):
            self._filled.set_result(None)

    def _make_room(self) -> None:
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)


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

STAND_IN = RequestStartLine("GET", "/", "HTTP/1.0")
"""Stands in for a head that cannot be read; the connection ends with its answer. HTTP/1.0 needs no Host."""

RequestState = Literal["body", "done", "broken"]
"""How far a request has been read: more is expected, all is there, or what follows cannot be read."""

AnswerState = Literal["head", "body", "done"]
"""How far an answer has been written: its head comes next, its body, or nothing."""


class Stream(HTTPConnection):
    """One request and its answer, as the application sees them, in any version of HTTP.

    `peer` is where it comes from before any trusted proxy; `mistake` is the error that makes the request unreadable, or
    that ended its connection.
    """

    delegate: HTTPMessageDelegate | None = None
    writing: AnswerState = "head"
    _remaining: float = 0  # bytes of the answer's body
    _on_close: Callable[[], None] | None = None

    def __init__(self, connection: ClientConnection, mistake: RequestError | None, *, has_body: bool) -> None:
        self.peer = connection.peer
        self.mistake = mistake
        self.reading: RequestState = "body" if has_body and mistake is None else "done"
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
        self.reading = "done"
        delegate, self.delegate = self.delegate, None  # breaks a reference cycle
        assert delegate is not None
        delegate.finish()

    def break_off(self, mistake: RequestError) -> None:
        """Ends a request whose rest will not arrive, or whose client has left."""
        self.mistake = mistake
        if self.reading == "body":
            self.reading = "broken"
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


class WireRequest(HTTPServerRequest):
    """A request whose head the wire has checked; Tornado's class would check it again, and read its query twice."""

    def __init__(self, stream: Stream, line: RequestStartLine, fields: Fields) -> None:
        self.method, self.uri, self.version = line
        self.headers = fields
        self.connection = stream


class ConnectionServer(HTTPServerConnectionDelegate):
    """What connections have for a server, which hears as well when they are closed (`on_close`)."""

    def on_idle(self, connection: ClientConnection) -> None:
        """Hears that no request of a connection is under way any more."""


class ClientConnection(ReadingProtocol):
    """A connection of a client, whose requests `server` answers; `peer` is their origin before any trusted proxy."""

    def __init__(self, server: ConnectionServer, peer: Origin, allowed: Limits) -> None:
        super().__init__(READ_OF_CLIENT)
        self.peer = peer
        self._server = server
        self._limits = allowed
        self._unsent = 0  # bytes, when that was last looked at
        # Of no request: what a request notes, such as its calls to S3, is not for those that the client sends after it.
        self._variables = copy_context()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Notes the certificate of who has connected, verified by the handshake."""
        super().connection_made(transport)
        secured = transport.get_extra_info("ssl_object")
        self.peer = replace(self.peer, certificate=_read_certificate(secured.getpeercert() if secured else None))

    # What the server asks.

    def wind_down(self) -> None:
        """Serves what is on its way, and no more."""

    def close_if_idle(self) -> None:
        """Takes no further request, and closes at once unless one is being answered."""

    def close(self) -> None:
        """Closes the connection at once."""

    # For subclasses.

    def _unsent_bytes(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def _keeps_pace(self) -> bool:
        """Whether the client has read enough since the last look, `sendTimeout` ago."""
        before, self._unsent = self._unsent, self._unsent_bytes()
        return before - self._unsent >= LEAST_RATE * self._limits.send_timeout


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
