"""A connection to S3: HTTP/1.1 for one request at a time, parsed by llhttp.

Nouns: a *connection* is a socket and its parser; an *answer* is what S3 sends for one request, filled by the
connection and read by the caller. The connection is free for the next request as soon as the last byte of an answer
has come, whether or not it has been read.
"""

from __future__ import annotations

import asyncio
from collections import deque
from math import inf
from typing import TYPE_CHECKING, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from tornado_proxy.storage.errors import StorageError, Unreachable, UpstreamError

if TYPE_CHECKING:
    from tornado_proxy.storage.s3.pool import Pool

FIRST_BYTES = 64 * 1024
"""The bytes of a body that come before it is passed on: until then a failure can be answered for."""

LARGEST_HEAD = 64 * 1024

# What one read of a socket takes. Measured with 100 MiB on loopback: 128 KiB cost as much, 64 KiB half as much again.
_BUFFER = 256 * 1024

# Bytes that may wait for their reader: one read of the socket does not stop the next, two do. More would be held for
# each slow client, less would have each chunk stop and start the reading.
_HIGH_WATER = 256 * 1024 + 1
_LOW_WATER = 64 * 1024


def make_buffer() -> memoryview:
    """A buffer for the connections of one event loop: each read is taken out of it before the next one happens.

    A buffer of its own for each read, as asyncio makes it otherwise, costs as much as the read itself.
    """
    return memoryview(bytearray(_BUFFER))


class S3Response:
    """What S3 sends for one request; drop it unless it was read whole.

    `status` is 0 until the head has come; header names are in lower case, and a name that comes twice has both values,
    joined by a comma. `is_unseen` is a failure before the first byte on a connection that had been used before: S3
    closed it, most likely before it saw the request.
    """

    __slots__ = (
        "_buffered",
        "_chunks",
        "_connection",
        "_waiter",
        "_wanted",
        "error",
        "headers",
        "is_head_only",
        "is_unseen",
        "is_whole",
        "status",
    )

    def __init__(self, connection: S3Connection, *, is_head_only: bool) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.error: StorageError | None = None
        self.is_head_only = is_head_only
        self.is_unseen = False
        self.is_whole = False
        self._chunks: deque[bytes] = deque()
        self._buffered = 0
        self._connection: S3Connection | None = connection
        self._waiter: asyncio.Future[None] | None = None
        self._wanted = 0

    async def begin(self) -> None:
        """Waits for the first bytes of the body, the end or a failure; raises `StorageError` for the last."""
        try:
            await self._wait(FIRST_BYTES)
        except BaseException:
            self.drop()
            raise
        if self.error is not None:
            raise self.error

    async def read(self) -> bytes:
        """The next chunk as it came, empty at the end; raises `StorageError` where the body breaks off."""
        if not self._chunks:
            await self._wait(1)
        if self._chunks:
            chunk = self._chunks.popleft()
            self._buffered -= len(chunk)
            if self._buffered < _LOW_WATER and self._connection is not None:
                self._connection.resume()
            return chunk
        if self.error is not None:
            raise self.error
        return b""

    def peek(self) -> bytes:
        """The bytes of the body that have come and were not read."""
        return b"".join(self._chunks)

    async def read_all(self, most: int) -> bytes:
        """The whole body; raises `UpstreamError` for one of more bytes than `most`."""
        chunks, size = [], 0
        while chunk := await self.read():
            size += len(chunk)
            if size > most:
                self.drop()
                raise UpstreamError(f"an answer of S3 has more than {most} bytes")
            chunks.append(chunk)
        return b"".join(chunks)

    def drop(self) -> None:
        """Closes the connection if more is to come: what nobody reads is not waited for."""
        if self._connection is not None:
            self._connection.abort()

    # What follows is the connection's.

    def add(self, chunk: bytes) -> bool:
        """Takes a chunk; returns whether no more should come before it is read."""
        self._chunks.append(chunk)
        self._buffered += len(chunk)
        return self._buffered >= _HIGH_WATER

    def wake(self) -> None:
        """Wakes the reader, to look at what has come."""
        waiter = self._waiter
        if waiter is not None and not waiter.done() and self._is_there():
            waiter.set_result(None)

    def end(self, error: StorageError | None = None) -> None:
        """Nothing follows: the answer is whole, or has failed."""
        if self._connection is not None:
            self._connection = None
            self.is_whole = error is None
            self.error = error
            self.wake()

    def _is_there(self) -> bool:
        return self._connection is None or self._buffered >= self._wanted

    async def _wait(self, amount: int) -> None:
        """Waits for `size` bytes, for the end or for a failure."""
        self._wanted = amount
        if self._is_there():
            return
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None


class S3Connection(asyncio.BufferedProtocol):
    """A connection that its owner has opened; `deadline` is when S3 must have sent something, in the loop's time."""

    def __init__(self, owner: Pool, read_timeout: float, buffer: memoryview) -> None:
        self.deadline = inf
        self._owner: Pool | None = owner
        self._buffer = buffer
        self._read_timeout = read_timeout
        self._loop = asyncio.get_running_loop()
        self._answer: S3Response | None = None
        self._parser = HttpResponseParser(self)
        self._is_used = False
        self._is_paused = False

    def __repr__(self) -> str:
        return f"<S3Connection {'idle' if self._answer is None else 'busy'}>"

    def ask(self, request: bytes, *, is_head_only: bool) -> S3Response:
        """Sends a request, whose answer has no body if it is that of a HEAD."""
        answer = self._answer = S3Response(self, is_head_only=is_head_only)
        self._head_size = 0
        self._body_size = 0
        self._left = 0  # bytes of the body that do not go through the parser
        self._has_come = False
        self._is_complete = False
        self._is_reusable = True
        self.deadline = self._loop.time() + self._read_timeout
        self._transport.write(request)
        return answer

    def resume(self) -> None:
        """Reads on, after a body was read as slowly as its client takes it."""
        if self._is_paused:
            self._is_paused = False
            self.deadline = self._loop.time() + self._read_timeout
            self._transport.resume_reading()

    def fail(self, error: StorageError) -> None:
        """Ends the answer that is awaited with an error, and the connection with it."""
        answer, self._answer = self._answer, None
        self.abort()
        if answer is not None:
            answer.is_unseen = self._is_used and not self._has_come and isinstance(error, Unreachable)
            answer.end(error)

    def abort(self) -> None:
        """Closes at once."""
        if self._owner is not None:
            self._owner.lose(self)
            self._owner = None
            self._transport.abort()
        if self._answer is not None:
            self.fail(Unreachable("the connection to S3 was given up"))

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's
        """The buffer that the next bytes go to."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Feeds the parser, or passes on the bytes of a body of known length."""
        data = self._buffer[:nbytes]
        answer = self._answer
        if answer is None:
            # Nothing was asked for: whatever this is, the next request would take it for its answer.
            self.abort()
            return
        self._has_come = True
        if self._left:
            self._pass_on(answer, data)
        else:
            self._parse(answer, data)
        if self._is_complete:
            self._finish(answer)
            return
        # A head has to come whole in that time, a body only must not stand still.
        if answer.status and not self._is_paused:
            self.deadline = self._loop.time() + self._read_timeout
        answer.wake()

    def eof_received(self) -> None:
        """Ends the answer: S3 sends no more."""
        self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the answer, whole only where the connection's end is the end of the body."""
        answer = self._answer
        if answer is None:
            self.abort()
        elif not answer.status:
            self.fail(Unreachable(f"S3 closed the connection without an answer{f': {exc}' if exc else ''}"))
        elif exc is None and not (answer.headers.keys() & {b"content-length", b"transfer-encoding"}):
            self._is_reusable = False
            self._finish(answer)
        else:
            self.fail(Unreachable("the connection to S3 broke off within a body"))

    # The parser's side

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keeps a header of the head; those after a chunked body are nothing that S3 promises."""
        answer = self._answer
        if answer is None or answer.status:
            return
        self._head_size += len(name) + len(value)
        if self._head_size > LARGEST_HEAD:
            raise ValueError("the head is too large")
        name = name.lower()
        headers = answer.headers
        headers[name] = b", ".join((headers[name], value)) if name in headers else value

    def on_headers_complete(self) -> None:
        """Takes the status; an interim answer (RFC 9110 15.2) is followed by another."""
        answer = self._answer
        status: int = self._parser.get_status_code()
        if answer is None or answer.status:
            raise ValueError("an answer that was not asked for")
        if status < 200:
            answer.headers.clear()
            return
        answer.status = status
        self._is_complete = answer.is_head_only
        self._is_reusable = self._parser.should_keep_alive()

    def on_body(self, chunk: bytes) -> None:
        """Takes a piece of the body."""
        answer = self._answer
        if answer is None or answer.is_head_only:
            self._is_reusable = False
        else:
            self._body_size += len(chunk)
            self._add(answer, chunk)

    def on_message_complete(self) -> None:
        """Ends the body, unless this was an interim answer."""
        self._is_complete = self._answer is not None and self._answer.status > 0

    def _parse(self, answer: S3Response, data: memoryview) -> None:
        """Feeds the parser."""
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            if not self._is_complete:
                self.fail(UpstreamError(f"an answer of S3 is not HTTP: {error.__context__ or error}"))
            # Otherwise more came than was announced: the answer is whole, and what follows it is not the next one.
            self._is_reusable = False
            return
        if not answer.status:
            self._head_size += len(data)
            if self._head_size > LARGEST_HEAD:
                self.fail(UpstreamError("the head of an answer of S3 is too large"))
        elif answer.is_head_only:
            # llhttp waits for the body that the answer to a HEAD only announces.
            self._parser = HttpResponseParser(self)
        elif not self._is_complete:
            # A body of a known length does not go through the parser, which would copy it.
            self._left = max(0, int(answer.headers.get(b"content-length", b"0")) - self._body_size)

    def _pass_on(self, answer: S3Response, data: memoryview) -> None:
        """Pass bytes of a body on as they came."""
        if len(data) > self._left:
            self._is_reusable = False
            data = data[: self._left]
        self._left -= len(data)
        self._add(answer, bytes(data))
        if not self._left:
            self._parser = HttpResponseParser(self)
            self._is_complete = True

    def _add(self, answer: S3Response, chunk: bytes) -> None:
        """Hands a piece of the body over, and stops reading while more is waiting than a slow client takes."""
        if answer.add(chunk) and not self._is_paused:
            self._is_paused = True
            self.deadline = inf
            self._transport.pause_reading()

    def _finish(self, answer: S3Response) -> None:
        """Ends the answer; the connection is for another one, if S3 keeps it open."""
        self._answer = None
        self._is_used = True
        self.deadline = inf
        if not self._is_reusable or self._owner is None or self._transport.is_closing():
            self.abort()
        else:
            if self._is_paused:
                self._is_paused = False
                self._transport.resume_reading()
            self._owner.give_back(self)
        answer.end()
