"""The server: accepts connections, serves each, and winds down without losing a request."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress

from tornado.httputil import HTTPServerConnectionDelegate
from tornado.iostream import IOStream
from tornado.tcpserver import TCPServer

from tornado_proxy.config.model import Limits
from tornado_proxy.gateway.connection import ServerConnection

# Seconds in which a request that is on its way to an idle connection may still arrive there.
_LAST_CALL = 0.2


class Server(TCPServer):
    """HTTP/1 on sockets that are given by `listen` or `add_sockets`; requests are started by a delegate."""

    def __init__(self, delegate: HTTPServerConnectionDelegate, limits: Limits) -> None:
        super().__init__()
        self._delegate = delegate
        self._limits = limits
        self._listening: list[socket.socket] = []
        self._connections: set[ServerConnection] = set()
        self._gone = asyncio.Event()
        self._gone.set()

    def __repr__(self) -> str:
        return f"<Server on ports {self.ports}, {len(self._connections)} connections>"

    def add_sockets(self, sockets: Iterable[socket.socket]) -> None:
        """Accept connections on more sockets."""
        added = list(sockets)
        self._listening += added
        super().add_sockets(added)

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports that it listens on, which port 0 left to the system; a Unix socket has none."""
        internet = (socket.AF_INET, socket.AF_INET6)
        return tuple(
            each.getsockname()[1] for each in self._listening if each.fileno() >= 0 and each.family in internet
        )

    async def handle_stream(self, stream: IOStream, address: tuple[object, ...]) -> None:
        """Serve a connection until it is closed."""
        connection = ServerConnection(stream, address, self._limits)
        self._connections.add(connection)
        self._gone.clear()
        try:
            await connection.serve(self._delegate)
        finally:
            self._connections.discard(connection)
            if not self._connections:
                self._gone.set()

    async def shut_down(self, grace: float) -> None:
        """Accept no more, finish what runs within `grace` seconds, cut what does not."""
        self.stop()
        self._each(ServerConnection.wind_down)
        await self._until_gone(min(_LAST_CALL, grace))
        self._each(ServerConnection.close_if_idle)
        await self._until_gone(grace)
        self._each(ServerConnection.cut)
        await self._gone.wait()

    def _each(self, act: Callable[[ServerConnection], None]) -> None:
        for connection in tuple(self._connections):
            act(connection)

    async def _until_gone(self, limit: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self._gone.wait()
