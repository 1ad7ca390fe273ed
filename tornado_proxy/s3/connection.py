"""A connection to S3: HTTP/1.1 for one request at a time, parsed by llhttp.

The connection is a socket and a parser. It fills the answer to a request, which the caller reads. It is free for the
next request as soon as the last byte of the answer has arrived, whether it was read or not.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from math import inf
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from tornado_proxy.storage.errors import StorageError, Unreachable, UpstreamError

FIRST_BYTES = 64 * 1024
"""Bytes of a body that must arrive before it is passed on: until then a failure can still become an error status."""

LARGEST_HEAD = 64 * 1024

# Bytes of one read. For 100 MiB on loopback, 128 KiB cost the same CPU time, and 64 KiB cost half as much again.
_BUFFER = 256 * 1024

# Bytes that may wait for their consumer: reading pauses after two reads of the socket. With more, each slow client
# would hold more memory; with less, each chunk would pause and resume reading.
_HIGH_WATER = 256 * 1024 + 1
_LOW_WATER = 64 * 1024


def make_buffer() -> memoryview:
    """Returns a buffer for all connections of an event loop; each read is copied before the next one.

    asyncio would otherwise allocate a buffer for each read, which costs as much as the read.
    """
    return memoryview(bytearray(_BUFFER))


class S3Response:
    """The answer of S3 to one request; drop it unless it was read to its end.

    `status` is 0 before the head has arrived. Header names are in lower case; repeated ones have their values joined by
    commas. `is_unseen` means that a reused connection failed before the first byte: S3 had closed it, and most likely
    did not see the request.
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
        "status",
    )

    def __init__(self, connection: S3Connection, *, is_head_only: bool) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.error: StorageError | None = None
        self.is_head_only = is_head_only
        self.is_unseen = False
        self._chunks: deque[bytes] = deque()
        self._buffered = 0
        self._connection: S3Connection | None = connection
        self._waiter: asyncio.Future[None] | None = None
        self._wanted = 0

    async def begin(self) -> None:
        """Waits for the first bytes of the body, its end or a failure; raises `StorageError` for a failure."""
        try:
            await self._wait(FIRST_BYTES)
        except BaseException:
            self.drop()
            raise
        if self.error is not None:
            raise self.error

    async def read(self) -> bytes:
        """Returns the next chunk, empty at the end; raises `StorageError` if the body is truncated."""
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
        """Returns the bytes of the body that have arrived and were not read."""
        return b"".join(self._chunks)

    async def read_all(self, most: int) -> bytes:
        """Returns the whole body; raises `UpstreamError` if it is longer than `most` bytes."""
        chunks, size = [], 0
        while chunk := await self.read():
            size += len(chunk)
            if size > most:
                self.drop()
                raise UpstreamError(f"the answer of S3 has more than {most} bytes")
            chunks.append(chunk)
        return b"".join(chunks)

    def drop(self) -> None:
        """Closes the connection unless the answer is complete: nobody waits for the rest."""
        if self._connection is not None:
            self._connection.abort()

    # Called by the connection

    def add(self, chunk: bytes) -> bool:
        """Takes a chunk; returns whether reading should pause until the consumer catches up."""
        self._chunks.append(chunk)
        self._buffered += len(chunk)
        return self._buffered >= _HIGH_WATER

    def wake(self) -> None:
        """Wakes the consumer if there is enough for it."""
        waiter = self._waiter
        if waiter is not None and not waiter.done() and self._is_there():
            waiter.set_result(None)

    def end(self, error: StorageError | None = None) -> None:
        """Ends the answer, complete or with an error."""
        if self._connection is not None:
            self._connection = None
            self.error = error
            self.wake()

    def _is_there(self) -> bool:
        return self._connection is None or self._buffered >= self._wanted

    async def _wait(self, amount: int) -> None:
        """Waits for a number of bytes, the end or a failure."""
        self._wanted = amount
        if self._is_there():
            return
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None


class S3Connection(asyncio.BufferedProtocol):
    """A connection of a pool, which it tells when it is free (`give_back`) or closed (`lose`).

    `deadline` is the time of the loop by which S3 must send something.
    """

    def __init__(
        self,
        give_back: Callable[[S3Connection], None],
        lose: Callable[[S3Connection], None],
        read_timeout: float,
        buffer: memoryview,
    ) -> None:
        self.deadline = inf
        self._give_back = give_back
        self._lose: Callable[[S3Connection], None] | None = lose  # None once it is closed
        self._buffer = buffer
        self._read_timeout = read_timeout
        self._loop = asyncio.get_running_loop()
        self._answer: S3Response | None = None
        self._parser = HttpResponseParser(self)
        self._is_used = False
        self._is_paused = False

    def ask(self, request: bytes, *, is_head_only: bool) -> S3Response:
        """Sends a request and returns its answer; the answer to a HEAD has no body."""
        answer = self._answer = S3Response(self, is_head_only=is_head_only)
        self._head_size = 0
        self._body_size = 0
        self._left = 0  # bytes of the body that bypass the parser
        self._has_come = False
        self._is_complete = False
        self._is_reusable = True
        self.deadline = self._loop.time() + self._read_timeout
        self._transport.write(request)
        return answer

    def resume(self) -> None:
        """Continues to read after the consumer has caught up."""
        if self._is_paused:
            self._is_paused = False
            self.deadline = self._loop.time() + self._read_timeout
            self._transport.resume_reading()

    def fail(self, error: StorageError) -> None:
        """Ends the current answer with an error, and closes the connection."""
        answer, self._answer = self._answer, None
        self.abort()
        if answer is not None:
            answer.is_unseen = self._is_used and not self._has_come and isinstance(error, Unreachable)
            answer.end(error)

    def abort(self) -> None:
        """Closes at once."""
        lose, self._lose = self._lose, None
        if lose is not None:
            lose(self)
            self._transport.abort()
        if self._answer is not None:
            self.fail(Unreachable("the connection to S3 was closed"))

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - part of asyncio's interface
        """Returns the buffer for the next bytes."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Feeds the parser, or passes on bytes of a body of known length."""
        data = self._buffer[:nbytes]
        answer = self._answer
        if answer is None:
            # Without a request these bytes would become the answer to the next one.
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
        # A head must be complete by the deadline; a body only must make progress.
        if answer.status and not self._is_paused:
            self.deadline = self._loop.time() + self._read_timeout
        answer.wake()

    def eof_received(self) -> None:
        """Ends the answer, since S3 sends no more."""
        self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the answer; it is complete only if the end of the connection marks the end of the body."""
        answer = self._answer
        if answer is None:
            self.abort()
        elif not answer.status:
            self.fail(Unreachable(f"S3 closed the connection without an answer{f': {exc}' if exc else ''}"))
        elif exc is None and not (answer.headers.keys() & {b"content-length", b"transfer-encoding"}):
            self._is_reusable = False
            self._finish(answer)
        else:
            self.fail(Unreachable("the connection to S3 broke within a body"))

    # Called by the parser

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keeps a header; trailers of a chunked body are ignored."""
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
        """Takes the status; after an interim answer (RFC 9110 15.2) another one follows."""
        answer = self._answer
        status: int = self._parser.get_status_code()
        if answer is None or answer.status:
            raise ValueError("an answer without a request")
        if status < 200:
            answer.headers.clear()
            return
        if answer.headers.get(b"transfer-encoding", b"chunked").strip().lower() != b"chunked":
            raise ValueError("an unsupported Transfer-Encoding")  # llhttp takes chunks in chunks for chunks
        answer.status = status
        self._is_complete = answer.is_head_only
        self._is_reusable = self._parser.should_keep_alive()

    def on_body(self, chunk: bytes) -> None:
        """Takes a chunk of the body."""
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
                self.fail(UpstreamError(f"the answer of S3 is not HTTP: {error.__context__ or error}"))
            # Otherwise S3 sent more than it announced: the answer is complete, and the rest is not the next answer.
            self._is_reusable = False
            return
        if not answer.status:
            self._head_size += len(data)
            if self._head_size > LARGEST_HEAD:
                self.fail(UpstreamError("the head of S3's answer is too large"))
        elif answer.is_head_only:
            # llhttp would wait for the body that the answer to a HEAD only announces.
            self._parser = HttpResponseParser(self)
        elif not self._is_complete:
            # A body of known length bypasses the parser, which would copy it.
            self._left = max(0, int(answer.headers.get(b"content-length", b"0")) - self._body_size)

    def _pass_on(self, answer: S3Response, data: memoryview) -> None:
        """Passes on bytes of a body without the parser."""
        if len(data) > self._left:
            self._is_reusable = False
            data = data[: self._left]
        self._left -= len(data)
        self._add(answer, bytes(data))
        if not self._left:
            self._parser = HttpResponseParser(self)
            self._is_complete = True

    def _add(self, answer: S3Response, chunk: bytes) -> None:
        """Passes a chunk to the answer, and pauses reading if its consumer is slow."""
        if answer.add(chunk) and not self._is_paused:
            self._is_paused = True
            self.deadline = inf
            self._transport.pause_reading()

    def _finish(self, answer: S3Response) -> None:
        """Ends the answer; the connection is free for another one if S3 keeps it open."""
        self._answer = None
        self._is_used = True
        self.deadline = inf
        if not self._is_reusable or self._lose is None or self._transport.is_closing():
            self.abort()
        else:
            if self._is_paused:
                self._is_paused = False
                self._transport.resume_reading()
            self._give_back(self)
        answer.end()
