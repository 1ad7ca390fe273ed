"""The connections to S3: HTTP/1.1 for one request at a time, kept open, shared, limited in number; and its retries.

A connection is a socket and a parser. It fills the answer to a request, which the caller reads. It is free for the
next request as soon as the last byte of the answer has arrived, whether it was read or not.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
from asyncio import Future
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from math import inf
from ssl import SSLCertVerificationError, SSLContext, SSLError

from botocore.retries.quota import RetryQuota

from tornado_proxy.config.model import Bucket
from tornado_proxy.config.server import S3Pool
from tornado_proxy.routing.request import RequestError
from tornado_proxy.s3 import limits
from tornado_proxy.s3.answers import ObjectHead
from tornado_proxy.s3.client import HOW_TO_TRUST
from tornado_proxy.s3.failures import THROTTLED
from tornado_proxy.s3.resumable import Released
from tornado_proxy.semantics.request import shortage
from tornado_proxy.storage.errors import Busy, StorageError, TimedOut, Unreachable, UpstreamError
from tornado_proxy.wire.dialing import Dialer
from tornado_proxy.wire.incoming import ResponseParser
from tornado_proxy.wire.limits import LARGEST_READ
from tornado_proxy.wire.shares import Place, Shares
from tornado_proxy.wire.stream import NEVER, BodyBuffer, ReadingProtocol

_BEGINNING = b"HTTP/1."  # of each answer; whoever sends anything else might never send the end of a head

_MOST_WAITING = LARGEST_READ // 2  # so that one of the largest reads waits, and not two


class S3Response(BodyBuffer):
    """The answer of S3 to one request; drop it unless it was read to its end.

    `status` is 0 before the head has arrived. Header names are in lower case; repeated ones have their values joined by
    commas. `head` is what they say of an object, once they were read so. `is_unseen` means that a reused connection
    failed before the first byte: S3 had closed it, and most likely did not see the request. `pause` is for how many
    seconds its reader may let a full buffer wait before the connection is let go.
    """

    __slots__ = ("_connection", "head", "headers", "is_unseen", "pause", "status")

    head: ObjectHead

    def __init__(self, connection: S3Connection) -> None:
        super().__init__(limits.SMALLEST_READ)
        self.is_unseen = False
        self.pause = NEVER
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self._connection: S3Connection | None = connection

    async def begin(self) -> None:
        """Waits for the first bytes of the body, its end or a failure; raises `StorageError` for a failure."""
        try:
            await self.until(limits.FIRST_BYTES)
        except BaseException:
            self.close()
            raise
        if self._error is not None:
            raise copy(self._error) from self._error  # as in `read`

    async def read_all(self, most: int) -> bytes:
        """Returns the whole body; raises `UpstreamError` if it is longer than `most` bytes."""
        chunks, size = [], 0
        while chunk := await self.read():
            size += len(chunk)
            if size > most:
                self.close()
                raise UpstreamError(f"the answer of S3 has more than {most} bytes")
            chunks.append(chunk)
        return b"".join(chunks)

    def let_go(self, seconds: float) -> None:
        """Allows that the connection is let go once a full buffer has waited for some seconds."""
        self.pause = seconds
        if self._connection is not None:
            self._connection.watch_pause()

    def close(self) -> None:
        """Closes the connection unless the answer is complete: nobody waits for the rest."""
        if self._connection is not None:
            self._connection.abort()

    def end(self, error: Exception | None = None) -> None:
        """Ends the answer, complete or with an error."""
        self._connection = None
        super().end(error)


class S3Connection(ReadingProtocol):
    """A connection of a pool, which it tells when it is free (`give_back`) or closed (`lose`).

    It fails if S3 sends nothing for the pool's `read_timeout`. While the reader of an answer is slow and the connection
    may be let go, it is one of the pool's `paused`.
    """

    old_at = NEVER  # in the time of the loop

    def __init__(self, pool: Pool) -> None:
        super().__init__(limits.SMALLEST_READ)
        self._pool = pool
        self._is_closed = False
        self._answer: S3Response | None = None
        self._parser = ResponseParser(is_head_only=True)
        self._heads = 0  # bytes of the heads, interim ones included
        self._is_used = False
        self._has_come = False
        self._paused_at = 0.0
        self._awaited = 0  # full reads in a row for which the reader waited

    @property
    def is_old(self) -> bool:
        """Whether another connection should have the next request."""
        return self._loop.time() >= self.old_at

    def ask(self, request: bytes, *, is_head_only: bool) -> S3Response:
        """Sends a request and returns its answer; the answer to a HEAD has no body."""
        self._parser = ResponseParser(is_head_only=is_head_only)
        answer = self._answer = S3Response(self)
        self._heads = 0
        self._has_come = False
        self._set_deadline(self._pool.read_timeout)
        if self._transport is not None:
            self._transport.write(request)
        return answer

    def fail(self, error: StorageError) -> None:
        """Ends the current answer with an error, and closes the connection."""
        answer, self._answer = self._answer, None
        self.abort()
        if answer is not None:
            answer.is_unseen = self._is_used and not self._has_come and isinstance(error, Unreachable)
            answer.end(error)

    def release(self) -> None:
        """Lets the connection go, whose reader is slow."""
        self.fail(Released("the connection to S3 was let go for a slow reader"))

    def watch_pause(self) -> None:
        """Sets the deadline of a reader that lets a full buffer wait."""
        if self._taking is not None and self._answer is not None and self._answer.pause < NEVER:
            self._pool.paused[self] = None
            # None is kept for a slow reader while others wait.
            self._set_deadline(limits.SLOW_READER if self._pool.is_waited_for() else self._answer.pause)

    def abort(self) -> None:
        """Closes at once."""
        self._pool.paused.pop(self, None)
        if not self._is_closed:
            self._is_closed = True
            self._pool.lose(self)
            if self._transport is not None:
                self._transport.abort()
        if self._answer is not None:
            self.fail(Unreachable("the connection to S3 was closed"))

    # Called by asyncio

    def buffer_updated(self, nbytes: int) -> None:
        """Takes the bytes that were read."""
        answer, data = self._answer, self._buffer[:nbytes]
        if answer is None:
            # Without a request these bytes would become the answer to the next one.
            self.abort()
            return
        self._has_come = True
        if self._parser.is_plain and not self._received:
            piece = self._parser.cut_body(data)  # not by way of what was received: a copy less
            self._received += data[len(piece) :]
            self._pass_on(answer, piece)
        else:
            self._received += data
        self._advance()

    def eof_received(self) -> None:
        """Ends the answer, since S3 sends no more."""
        self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the answer; it is complete only if the end of the connection marks the end of the body."""
        if (answer := self._answer) is None:
            self.abort()
        elif not answer.status:
            self.fail(Unreachable(f"S3 closed the connection without an answer{f': {exc}' if exc else ''}"))
        elif exc is None and self._parser.ends_with_connection:
            self._finish(answer)
        else:
            self.fail(Unreachable("the connection to S3 broke within a body"))
        super().connection_lost(exc)

    # The answer

    def _advance(self) -> None:
        try:
            while self._taking is None and self._answer is not None and self._read(self._answer):
                pass
        except RequestError as error:
            self.fail(UpstreamError(f"the answer of S3 is not HTTP: {error}"))

    def _read(self, answer: S3Response) -> bool:
        """Reads a head, a piece of the body or its end; returns whether there was one."""
        parser = self._parser
        if not parser.status:
            return self._read_head(answer)
        if parser.complete:
            self._finish(answer)
            return True
        piece = parser.read_body(self._received) if self._received else b""
        if piece:
            self._pass_on(answer, piece)
        return bool(piece) or parser.complete

    def _read_head(self, answer: S3Response) -> bool:
        end = self._find_head()
        self._heads += end
        if self._heads > limits.LARGEST_HEAD or (not end and len(self._received) > limits.LARGEST_HEAD):
            self.fail(UpstreamError("the head of S3's answer is too large"))
        elif not _BEGINNING.startswith(self._received[: len(_BEGINNING)]):
            self.fail(UpstreamError("the answer of S3 is not HTTP"))
        elif end:
            head = bytes(self._received[:end])
            del self._received[:end]
            self._parser.read_head(head)
            answer.status, answer.headers = self._parser.status, self._parser.headers
            if self._parser.remaining <= limits.PIECE_FOR_SLOW:
                answer.limit = limits.PIECE_FOR_SLOW  # all of it is taken, so that the connection is free
        return end > 0

    def _pass_on(self, answer: S3Response, piece: bytes) -> None:
        if self._parser.complete:
            answer.deliver(piece)
            return
        # A head must be complete by the deadline; a body only must make progress.
        self._set_deadline(self._pool.read_timeout)
        is_full = len(piece) == len(self._buffer) < LARGEST_READ
        self._awaited = self._awaited + 1 if answer.is_awaited and is_full else 0
        room = answer.deliver(piece)
        if self._awaited == limits.READS_BEFORE_LARGER:
            self._awaited = 0
            self._read_at_most(answer, 2 * len(piece))
        if room is not None:
            self._await(room)
            self._paused_at = self._loop.time()
            self._deadline = NEVER
            self.watch_pause()

    def _go_on(self, taken: Future[object]) -> None:
        if self._answer is None:
            return
        self._pool.paused.pop(self, None)
        self._set_deadline(self._pool.read_timeout)
        if self._loop.time() - self._paused_at > limits.SLOW_READER:
            self._read_at_most(self._answer, limits.SMALLEST_READ)
        super()._go_on(taken)

    def _read_at_most(self, answer: S3Response, size: int) -> None:
        self._limit_reads(size)
        answer.limit = min(size, _MOST_WAITING)

    def _finish(self, answer: S3Response) -> None:
        """Ends the answer; the connection is free for another one if S3 keeps it open."""
        self._answer = None
        self._is_used = True
        is_reusable = self._parser.keeps_alive and not self._received
        if not is_reusable or self._is_closed or self._transport is None or self._transport.is_closing():
            self.abort()
        else:
            if len(self._buffer) > limits.SMALLEST_READ:
                self._limit_reads(limits.SMALLEST_READ)
            self._set_deadline(limits.IDLE_FOR)
            self._pool.give_back(self)
        answer.end()

    def _expired(self) -> None:
        if self._answer is None:
            self.abort()
        elif self._taking is not None:
            self.release()
        else:
            self.fail(TimedOut(f"S3 sent nothing for {self._pool.read_timeout:g} seconds"))


def lifetime() -> float:
    """Returns the seconds that a new connection is used; those made together do not end together."""
    return random.uniform(limits.LONGEST_LIFETIME / 2, limits.LONGEST_LIFETIME)  # noqa: S311 - no secret


class Retries:
    """What a bucket may be asked again, by both ways: as boto3 has it in its mode `standard`.

    A retry costs some of a quota, which successful calls fill up again. So a storm is not answered with several times
    the load, and a request that fails alone is repeated.
    """

    def __init__(self) -> None:
        self._quota = RetryQuota(limits.RETRIES)

    def take(self, status: int) -> int:
        """Pays for a retry after a status, 0 if there was none; returns the price, 0 if there is not enough left."""
        price = limits.PRICE_OF_THROTTLED if status in THROTTLED else limits.PRICE_OF_RETRY
        return price if self._quota.acquire(price) else 0

    def give_back(self, price: int) -> None:
        """Takes note of a success, after a retry of some price, or without one (0)."""
        self._quota.release(price or 1)


class Pool:
    """Connections to a host and port on one event loop; over TLS if a function makes its contexts.

    Beyond the limit of connections, or beyond a client's share of them, requests wait.
    """

    def __init__(
        self, host: str, port: int, make_tls: Callable[[], SSLContext] | None, bucket: Bucket, pool: S3Pool
    ) -> None:
        self.read_timeout = bucket.read_timeout  # seconds of silence
        self.paused: dict[S3Connection, None] = {}  # with slow readers, the one that waits longest first
        self._connect_timeout = bucket.connect_timeout
        self._dialer = Dialer(host, port)
        self._make_tls = make_tls
        self._tls = make_tls and make_tls()
        self._distrusted_at = -inf
        self._is_distrusting = False  # whether to read again whom to trust
        self._idle: dict[S3Connection, None] = {}  # the one that is idle longest first
        self._busy: dict[S3Connection, Place] = {}
        self._places = Shares("a connection to S3", pool.connections, pool.queue, Busy)
        self.is_waited_for = self._places.is_waited_for
        self._is_closed = False

    def __repr__(self) -> str:
        return f"<Pool of {self._dialer.host}:{self._dialer.port}, {len(self._busy)} busy, {len(self._idle)} idle>"

    async def request(self, data: bytes, *, is_head_only: bool = False, is_bulk: bool = False) -> S3Response:
        """Sends a request without a body, and waits for the beginning of its answer.

        One for more of a body (`is_bulk`) gets its connection after those whose clients have no byte yet.

        Raises `Busy` if too many requests wait, `TimedOut`, `Unreachable`, and `UpstreamError` for an answer that is
        not HTTP. If S3 has closed an idle connection, the request is sent again over a new one.
        """
        answer = (await self._acquire(is_bulk=is_bulk)).ask(data, is_head_only=is_head_only)
        try:
            await answer.begin()
        except Unreachable:
            if not answer.is_unseen:
                raise
            # The other idle connections may be closed as well, so none of them is tried.
            self._close_idle()
            answer = (await self._acquire(is_bulk=is_bulk)).ask(data, is_head_only=is_head_only)
            await answer.begin()
        return answer

    def close(self) -> None:
        """Closes idle connections now, and the others after their answers."""
        self._is_closed = True
        self._close_idle()
        self._places.close(lambda: Unreachable("the connections to S3 are closed"))

    # Called by the connections

    def give_back(self, connection: S3Connection) -> None:
        """Keeps a free connection for the next request."""
        place = self._busy.pop(connection)
        if self._is_closed or connection.is_old:
            connection.abort()
        else:
            self._idle[connection] = None
        self._places.give_back(place)

    def lose(self, connection: S3Connection) -> None:
        """Forgets a closed connection; a waiting request may open another."""
        if self._idle.pop(connection, self) is self and (place := self._busy.pop(connection, None)) is not None:
            self._places.give_back(place)

    # Acquiring

    async def _acquire(self, *, is_bulk: bool) -> S3Connection:
        """Returns a connection for one request; if there is none, those with slow readers are let go."""
        while self.paused and not self._places.has_one():
            next(iter(self.paused)).release()
        place = await self._places.take(is_urgent=not is_bulk)
        try:
            connection = self._idle.popitem()[0] if self._idle else await self._connect()
        except BaseException:
            self._places.give_back(place)
            raise
        self._busy[connection] = place
        return connection

    async def _connect(self) -> S3Connection:
        loop = asyncio.get_running_loop()
        host, port = self._dialer.host, self._dialer.port
        if self._is_distrusting and self._make_tls is not None:
            self._is_distrusting = False  # its authority may have been renewed
            with suppress(StorageError):  # the file may be replaced right now
                self._tls = await asyncio.to_thread(self._make_tls)
        try:
            async with asyncio.timeout(self._connect_timeout):
                sock = await self._dialer.connect()
                _, made = await loop.create_connection(
                    lambda: S3Connection(self), sock=sock, ssl=self._tls, server_hostname=host if self._tls else None
                )
        except TimeoutError as error:
            raise TimedOut(f"no connection to {host}:{port} in {self._connect_timeout:g} seconds") from error
        except (OSError, UnicodeError) as error:
            if (
                isinstance(error, SSLCertVerificationError)
                and loop.time() >= self._distrusted_at + limits.DISTRUSTED_FOR
            ):
                self._distrusted_at, self._is_distrusting = loop.time(), True
            if missing := shortage(error):
                raise Busy(f"no connection to {host}:{port}: {missing}") from error
            raise Unreachable(f"no connection to {host}:{port}: {_reason(error)}") from error
        made.old_at = loop.time() + lifetime()
        return made

    def _close_idle(self) -> None:
        for connection in [*self._idle]:
            connection.abort()


def _reason(error: OSError | UnicodeError) -> str:
    """Returns why there is no connection, without the address and the numbers of libraries."""
    match error:
        case ConnectionError() if error.errno:
            return os.strerror(error.errno)  # the message of asyncio has the address
        case SSLCertVerificationError():
            return f"its certificate is not trusted: {error.verify_message}; {HOW_TO_TRUST}"
        case SSLError(reason="WRONG_VERSION_NUMBER"):
            return "it speaks no TLS; for plain HTTP, write `http://` before the address in `bucket.s3Endpoint`"
        case socket.gaierror():
            return str(error.strerror)
    return str(error)
