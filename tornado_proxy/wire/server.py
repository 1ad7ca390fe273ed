"""The server: accepts connections, opens each (PROXY protocol, TLS), and shuts down gracefully.

A connection is open once its client may send requests. The time until then is bounded. If too many are opening, the
oldest gives way to the newest, so that clients that never finish a handshake cannot keep others out. If too many are
open, the one that has waited longest for a request gives way.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import socket
import ssl
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

import msgspec
from msgspec.structs import replace
from tornado.httputil import HTTPConnection, HTTPMessageDelegate, HTTPServerConnectionDelegate

from tornado_proxy.config.server import Limits
from tornado_proxy.semantics import request
from tornado_proxy.semantics.limits import LONGEST_PROXY_LINE
from tornado_proxy.wire import limits
from tornado_proxy.wire.connection import Connection
from tornado_proxy.wire.stream import ClientConnection, ConnectionServer

_LOG = logging.getLogger("tornado_proxy")


class ConnectionSetup(msgspec.Struct, frozen=True):
    """The start of a connection: a PROXY header from certain peers, a TLS handshake, both, or neither.

    `http2` makes the connection of a client that chose HTTP/2 in the handshake.
    """

    tls: ssl.SSLContext | None = None
    proxied: request.TrustedProxies = msgspec.field(default_factory=request.TrustedProxies)
    http2: Callable[[ConnectionServer, request.Origin, Limits], ClientConnection] | None = None


class Acceptor:
    """Accepts connections; gives each to `serve`, with the address of its peer.

    When the system is out of descriptors or memory, `make_room` may free some and return true; otherwise nothing is
    accepted for `pause` seconds. `has_room` says whether one more may be accepted, and makes room for it if its
    argument is true; without room, the queue waits until `go_on` is called. The log calls the connections by `name`.
    """

    pause = 1.0

    def __init__(
        self,
        name: str,
        serve: Callable[[socket.socket, object], None],
        make_room: Callable[[], bool] = lambda: False,
        has_room: Callable[[bool], bool] = lambda _: True,
    ) -> None:
        self._name = name
        self._serve = serve
        self._make_room = make_room
        self._has_room = has_room
        self._listening: list[socket.socket] = []
        self._waiting: list[socket.socket] = []  # for room

    def add_sockets(self, sockets: Iterable[socket.socket]) -> None:
        """Accepts connections on sockets that listen already and do not block."""
        for each in sockets:
            with suppress(OSError):  # a Unix socket has no such option; accepted connections inherit it
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, limits.UNSENT_IN_KERNEL)
            self._listening.append(each)
            self._resume(each)

    def stop(self, *, leave_queue: bool) -> None:
        """Closes the sockets; accepts the connections in the kernel's queue first, unless `leave_queue`."""
        while self._listening:
            listening = self._listening.pop()
            asyncio.get_running_loop().remove_reader(listening)
            with suppress(OSError):
                # The kernel resets what is in its queue when the socket is closed for good.
                while not leave_queue:
                    self._serve(*listening.accept())
            listening.close()

    def go_on(self) -> None:
        """Accepts again, since there may be room."""
        while self._waiting:
            self._resume(self._waiting.pop())

    def _resume(self, listening: socket.socket) -> None:
        if listening in self._listening:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        for number in range(limits.ACCEPTED_AT_ONCE):
            # Only the first one is known to wait.
            if not self._has_room(number == 0):
                if number:
                    return
                loop = asyncio.get_running_loop()
                loop.remove_reader(listening)
                self._waiting.append(listening)
                loop.call_later(self.pause, self.go_on)  # a client may be idle for long enough by then
                return
            try:
                connection, address = listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                if not self._make_room():
                    self._pause(listening, error)
                    return
            else:
                self._serve(connection, address)

    def _pause(self, listening: socket.socket, error: OSError) -> None:
        """Stops accepting for a while: a queue that cannot be emptied would keep the loop busy."""
        _LOG.error("%s cannot be accepted: %s", self._name, error.strerror)
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening)
        loop.call_later(self.pause, self._resume, listening)


def most_connections() -> int:
    """Returns how many clients may be connected: three quarters of the free descriptors, as S3 has a fifth of all."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return sys.maxsize
    opened = sum(1 for _ in os.scandir("/proc/self/fd"))
    return max((limit - opened - limits.DESCRIPTORS_KEPT_BACK) * 3 // 4, limits.FEWEST_CLIENTS)


class _Negotiated(asyncio.Protocol):
    """Hands a connection, after its handshake, to the protocol that was agreed on (ALPN, RFC 7301)."""

    def __init__(self, choose: Callable[[str | None], asyncio.BaseProtocol]) -> None:
        self._choose = choose

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        chosen = self._choose(transport.get_extra_info("ssl_object").selected_alpn_protocol())
        transport.set_protocol(chosen)
        chosen.connection_made(transport)


class HttpServer(ConnectionServer):
    """Serves HTTP on the sockets given to `add_sockets`; `application` answers the requests.

    `limits` and `setup` may be replaced while it serves; existing connections keep theirs. One that could last for
    days, since it speaks HTTP/2, is told to connect anew if TLS is another.
    """

    def __init__(
        self, application: HTTPServerConnectionDelegate, allowed: Limits, setup: ConnectionSetup | None = None
    ) -> None:
        self.limits = allowed
        self._setup = setup or ConnectionSetup()
        self.acceptor = Acceptor("connections", self._serve, has_room=self._has_room)
        self._application = application
        self._most = most_connections()
        self._connections: set[ClientConnection] = set()
        # Being opened, and without a request, each since when (loop time), the longest first.
        self._opening: dict[ClientConnection, tuple[asyncio.Task[None], float]] = {}
        self._idle: dict[ClientConnection, float] = {}
        self._gone = asyncio.Event()
        self._gone.set()

    @property
    def setup(self) -> ConnectionSetup:
        """How connections begin."""
        return self._setup

    @setup.setter
    def setup(self, setup: ConnectionSetup) -> None:
        before, self._setup = self._setup, setup
        if before.tls is not setup.tls:
            for each in self._connections:
                if not isinstance(each, Connection):
                    each.wind_down()

    def add_sockets(self, sockets: Iterable[socket.socket]) -> None:
        """Accepts connections on sockets that listen already and do not block."""
        self.acceptor.add_sockets(sockets)

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        """Passes a request of a connection to the application."""
        assert isinstance(server_conn, ClientConnection)
        self._idle.pop(server_conn, None)
        return self._application.start_request(server_conn, request_conn)

    def on_idle(self, connection: ClientConnection) -> None:
        """Notes since when a connection has no request."""
        self._idle.setdefault(connection, asyncio.get_running_loop().time())

    def on_close(self, server_conn: object) -> None:
        """Forgets a connection."""
        assert isinstance(server_conn, ClientConnection)
        self._connections.discard(server_conn)
        self._idle.pop(server_conn, None)
        self.acceptor.go_on()
        if not self._connections:
            self._gone.set()

    async def shut_down(self, grace: float, *, leave_queue: bool = False) -> None:
        """Stops accepting, waits up to `grace` seconds for running requests, and closes the rest.

        Connections in the kernel's queue are served too, unless `leave_queue`: then another process, which holds the
        same sockets, will accept them.
        """
        self.acceptor.stop(leave_queue=leave_queue)
        for each in self._connections:
            each.wind_down()
        await self._until_gone(min(limits.LAST_CALL, grace))
        for each in tuple(self._connections):
            each.close_if_idle()
        await self._until_gone(grace)
        for each in tuple(self._connections):
            each.close()
            if each in self._opening:
                self._opening[each][0].cancel()
        await self._gone.wait()

    def _serve(self, accepted: socket.socket, address: object) -> None:
        accepted.setblocking(False)
        # A Unix socket has no address of its peer.
        host = request.peer_address(address[0]) if isinstance(address, tuple) and address else ""
        peer = request.Origin(host, "https" if self.setup.tls else "http")
        connection = Connection(self, peer, self.limits)
        # Counted before anything is awaited, so that a shutdown in the same turn of the loop waits for it.
        self._connections.add(connection)
        self._gone.clear()
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._open(connection, peer, accepted, self.setup))
        self._opening[connection] = task, loop.time()

        def opened(_: object) -> None:
            self._opening.pop(connection, None)
            self.acceptor.go_on()

        task.add_done_callback(opened)

    async def _open(
        self, connection: Connection, peer: request.Origin, accepted: socket.socket, setup: ConnectionSetup
    ) -> None:
        loop = asyncio.get_running_loop()
        try:
            if peer.address in setup.proxied:
                async with asyncio.timeout(limits.OPEN_WITHIN):
                    client = await _client_behind(accepted)
                connection.peer = replace(peer, address=client or peer.address, is_stand_in=client is None)
            if setup.tls is None:
                await loop.connect_accepted_socket(lambda: connection, accepted)
            else:
                await loop.connect_accepted_socket(
                    lambda: _Negotiated(partial(self._choose, connection)),
                    accepted,
                    ssl=setup.tls,
                    ssl_handshake_timeout=limits.OPEN_WITHIN,
                    ssl_shutdown_timeout=limits.CLOSE_WITHIN,
                )
        except (OSError, request.NotProxied, TimeoutError) as error:
            _LOG.debug("a connection of %s was not opened: %s", peer.address, error)
            self._give_up(connection, accepted)
        except BaseException:
            self._give_up(connection, accepted)
            raise

    def _choose(self, connection: Connection, protocol: str | None) -> ClientConnection:
        """Returns the connection of an agreed protocol; one of HTTP/2 takes the place of the one that was opened."""
        if protocol != "h2":
            return connection
        assert self.setup.http2 is not None, "a listener without HTTP/2 does not offer it"
        chosen = self.setup.http2(self, connection.peer, self.limits)
        self._connections.add(chosen)
        self._connections.discard(connection)
        if connection.is_last:
            asyncio.get_running_loop().call_soon(chosen.wind_down)
        return chosen

    def _has_room(self, makes_room: bool) -> bool:  # noqa: FBT001 - the acceptor's interface
        """Whether another client may connect; `makes_room` closes what has been opening, or idle, longest."""
        is_full = len(self._connections) >= self._most
        many_opening = len(self._opening) >= min(limits.MOST_OPENING, self._most // 2)
        if not makes_room:
            return not is_full and not many_opening
        # A client that has just connected is about to send its request, or in the middle of its handshake.
        young = asyncio.get_running_loop().time() - limits.YOUNG_FOR
        if many_opening:
            task, since = next(iter(self._opening.values()))
            if since > young:
                return False
            task.cancel()
        if is_full:
            idle, since = next(iter(self._idle.items()), (None, 0.0))
            if idle is None or since > young:
                return False
            self.on_close(idle)
            idle.close()
        return True

    def _give_up(self, connection: Connection, accepted: socket.socket) -> None:
        accepted.close()
        self.on_close(connection)

    async def _until_gone(self, limit: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self._gone.wait()


async def _client_behind(accepted: socket.socket) -> str | None:
    """Returns the client's address from the PROXY header of a connection; raises `NotProxied` and `OSError`.

    Only the header is read: what follows it belongs to TLS or HTTP.
    """
    start = await _exactly(accepted, len(request.PROXY_SIGNATURE))
    if start == request.PROXY_SIGNATURE:
        head = start + await _exactly(accepted, request.PROXY_HEAD - len(start))
        return request.read_proxy_header(head, await _exactly(accepted, request.proxy_header_rest(head)))
    while not start.endswith(b"\n"):
        if len(start) >= LONGEST_PROXY_LINE or not start.startswith(b"PROXY "):
            raise request.NotProxied("there is no header of the PROXY protocol")
        start += await _exactly(accepted, 1)
    return request.read_proxy_line(start)


async def _exactly(accepted: socket.socket, count: int) -> bytes:
    received = b""
    while len(received) < count:
        piece = await asyncio.get_running_loop().sock_recv(accepted, count - len(received))
        if not piece:
            raise request.NotProxied("the connection ended within the header")
        received += piece
    return received
