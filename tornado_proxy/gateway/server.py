"""The server: accepts connections, serves each, and winds down without losing a request."""

from __future__ import annotations

import asyncio

from tornado.httputil import HTTPServerConnectionDelegate
from tornado.iostream import IOStream
from tornado.tcpserver import TCPServer

from tornado_proxy.config.model import Limits
from tornado_proxy.gateway.connection import ServerConnection


class Server(TCPServer):
    """HTTP/1 on sockets that are given by `listen` or `add_sockets`; requests are started by a delegate."""

    def __init__(self, delegate: HTTPServerConnectionDelegate, limits: Limits) -> None:
        super().__init__()
        self._delegate = delegate
        self._limits = limits
        self._connections: set[ServerConnection] = set()
        self._gone = asyncio.Event()
        self._gone.set()

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

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports that it listens on, which port 0 left to the system."""
        return tuple(each.getsockname()[1] for each in self._sockets.values() if isinstance(each.getsockname(), tuple))

    async def shut_down(self, grace: float) -> None:
        """Accept no more, finish what runs within `grace` seconds, cut what does not."""
        self.stop()
        for connection in tuple(self._connections):
            connection.wind_down()
        try:
            async with asyncio.timeout(grace):
                await self._gone.wait()
        except TimeoutError:
            for connection in tuple(self._connections):
                connection.cut()
            await self._gone.wait()
