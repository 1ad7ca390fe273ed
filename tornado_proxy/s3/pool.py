"""The connections to one endpoint: kept open, shared, and limited in number."""

from __future__ import annotations

import asyncio
import os
import random
import resource
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import inf
from ssl import SSLCertVerificationError, SSLContext, SSLError

import msgspec

from tornado_proxy.s3.client import HOW_TO_TRUST
from tornado_proxy.s3.connection import Pauses, S3Connection, S3Response
from tornado_proxy.s3.limits import DISTRUSTED_FOR, IDLE_FOR, LONGEST_LIFETIME, SHARE_OF_DESCRIPTORS
from tornado_proxy.semantics.request import shortage
from tornado_proxy.storage.errors import Busy, StorageError, TimedOut, Unreachable
from tornado_proxy.wire.dialing import Dialer
from tornado_proxy.wire.shares import Place, Shares


def lifetime() -> float:
    """Returns the seconds that a new connection is used; those made together do not end together."""
    return random.uniform(LONGEST_LIFETIME / 2, LONGEST_LIFETIME)  # noqa: S311 - no secret


def most_connections(configured: int, buckets: int) -> int:
    """Returns how many connections each of some buckets may have: those configured, if there are descriptors."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return configured
    return max(1, min(configured, int(descriptors * SHARE_OF_DESCRIPTORS / max(1, buckets))))


class PoolLimits(msgspec.Struct, frozen=True):
    """The limits of a pool; times in seconds; `read_timeout` limits silence."""

    connections: int
    waiting: int
    connect_timeout: float
    read_timeout: float


class Pool:
    """Connections to a host and port on one event loop; over TLS if a function makes its contexts.

    Beyond the limit of connections, or beyond a client's share of them, requests wait.
    """

    def __init__(self, host: str, port: int, make_tls: Callable[[], SSLContext] | None, limits: PoolLimits) -> None:
        self._dialer = Dialer(host, port)
        self._make_tls = make_tls
        self._tls = make_tls and make_tls()
        self._distrusted_at = -inf
        self._is_distrusting = False  # whether to read again whom to trust
        self._limits = limits
        self._idle: dict[S3Connection, None] = {}  # the one that is idle longest first
        self._busy: dict[S3Connection, Place] = {}
        self._places = Shares("a connection to S3", limits.connections, limits.waiting, Busy)
        self._pauses = Pauses(self._places.is_waited_for)
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
        while self._pauses.paused and not self._places.has_one():
            next(iter(self._pauses.paused)).release()
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
        make = partial(S3Connection, self.give_back, self.lose, self._limits.read_timeout, IDLE_FOR, self._pauses)
        if self._is_distrusting and self._make_tls is not None:
            self._is_distrusting = False  # its authority may have been renewed
            with suppress(StorageError):  # the file may be replaced right now
                self._tls = await asyncio.to_thread(self._make_tls)
        try:
            async with asyncio.timeout(self._limits.connect_timeout):
                sock = await self._dialer.connect()
                _, made = await loop.create_connection(
                    make, sock=sock, ssl=self._tls, server_hostname=host if self._tls else None
                )
        except TimeoutError as error:
            raise TimedOut(f"no connection to {host}:{port} in {self._limits.connect_timeout:g} seconds") from error
        except (OSError, UnicodeError) as error:
            if isinstance(error, SSLCertVerificationError) and loop.time() >= self._distrusted_at + DISTRUSTED_FOR:
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
