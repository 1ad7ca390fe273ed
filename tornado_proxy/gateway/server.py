"""The server: accepts connections, serves each, and winds down without losing a request."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress

from tornado.netutil import bind_sockets

from tornado_proxy.config.model import Limits
from tornado_proxy.gateway.connection import Begin, Connection
from tornado_proxy.semantics.forwarded import Origin

_LOG = logging.getLogger("tornado_proxy")

_LAST_CALL = 0.2  # seconds in which a request that is on its way to an idle connection may still arrive there
_AT_ONCE = 128  # connections accepted before anything else gets its turn


class Server:
    """HTTP/1 on sockets that are given by `listen` or `add_sockets`; each request is given to `begin`.

    `limits` may be replaced while it serves: connections keep what held when they came. `pause` is the time in seconds
    without accepting, where the system has no descriptor or memory for one more connection.
    """

    pause = 1.0

    def __init__(self, begin: Begin, limits: Limits) -> None:
        self.limits = limits
        self._begin = begin
        self._listening: list[socket.socket] = []
        self._connections: set[Connection] = set()
        self._opening: set[asyncio.Task[object]] = set()
        self._gone = asyncio.Event()
        self._gone.set()

    def __repr__(self) -> str:
        return f"<Server on ports {self.ports}, {len(self._connections)} connections>"

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports that it listens on, which port 0 left to the system; a Unix socket has none."""
        internet = (socket.AF_INET, socket.AF_INET6)
        return tuple(each.getsockname()[1] for each in self._listening if each.family in internet)

    def listen(self, port: int, address: str) -> None:
        """Accept connections on an address."""
        self.add_sockets(bind_sockets(port, address))

    def add_sockets(self, sockets: Iterable[socket.socket]) -> None:
        """Accept connections on sockets that listen already and do not block."""
        for each in sockets:
            self._listening.append(each)
            self._resume(each)

    async def shut_down(self, grace: float, *, leave_queue: bool = False) -> None:
        """Accept no more, finish what runs within `grace` seconds, cut what does not.

        Connections that the kernel has taken and nobody has accepted yet are served too, unless `leave_queue`: then
        another process holds the sockets, and will accept them.
        """
        self._stop_listening(leave_queue=leave_queue)
        self._each(Connection.wind_down)
        await self._until_gone(min(_LAST_CALL, grace))
        self._each(Connection.close_if_idle)
        await self._until_gone(grace)
        self._each(Connection.close)
        await self._gone.wait()

    def _stop_listening(self, *, leave_queue: bool) -> None:
        while self._listening:
            listening = self._listening.pop()
            asyncio.get_running_loop().remove_reader(listening)
            with suppress(OSError):
                # What is left in the kernel's queue when a socket is closed for good is reset.
                while not leave_queue:
                    self._serve(*listening.accept())
            listening.close()

    def _resume(self, listening: socket.socket) -> None:
        if listening in self._listening:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, address = listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(listening, error)
                return
            self._serve(connection, address)

    def _pause(self, listening: socket.socket, error: OSError) -> None:
        """Leave connections to the kernel for a while: a queue that cannot be emptied would keep the loop spinning."""
        _LOG.error("connections cannot be accepted: %s", error.strerror)
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening)
        loop.call_later(self.pause, self._resume, listening)

    def _serve(self, accepted: socket.socket, address: object) -> None:
        accepted.setblocking(False)
        connection = Connection(self._begin, Origin(_ip(address)), self.limits, self._end)
        # Counted before anything is awaited, so that a shutdown in the same turn of the loop waits for it.
        self._connections.add(connection)
        self._gone.clear()
        loop = asyncio.get_running_loop()
        opening = loop.create_task(loop.connect_accepted_socket(lambda: connection, accepted))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)

    def _end(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._gone.set()

    def _each(self, act: Callable[[Connection], None]) -> None:
        for connection in tuple(self._connections):
            act(connection)

    async def _until_gone(self, limit: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self._gone.wait()


def _ip(address: object) -> str:
    """The IP address of a socket's peer; nothing for a Unix socket, whose peers have none."""
    return str(address[0]) if isinstance(address, tuple) and address else ""
