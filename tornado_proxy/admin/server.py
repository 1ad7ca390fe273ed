"""The server of the admin listener, which answers even if requests have taken every other descriptor of the process."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream

from tornado_proxy.wire.server import Acceptor

_SPARE = 8  # connections that are accepted after the last descriptor is taken


class AdminServer(HTTPServer):
    """An HTTP server that keeps back a few descriptors for its connections.

    Sockets in the file system have no TLS: their permissions say who may use them.
    """

    def initialize(self, *arguments: Any, **options: Any) -> None:
        """Takes what `HTTPServer` takes; called by Tornado."""
        super().initialize(*arguments, **options)
        self._acceptor = Acceptor("connections to the admin listener", self._handle_connection, self._make_room)
        self._wanted = _SPARE
        self._spare: list[int] = []

    def add_sockets(self, sockets: Iterable[socket.socket]) -> None:
        """Accepts connections on sockets that do not block."""
        IOLoop.current()  # imports modules, for which there may be no descriptor later
        self._fill()
        self._acceptor.add_sockets(sockets)

    def stop(self) -> None:
        """Accepts no more, and closes the sockets."""
        self._acceptor.stop(leave_queue=True)
        self._wanted = 0
        while self._spare:
            os.close(self._spare.pop())

    def on_close(self, server_conn: object) -> None:
        """Keeps the descriptor of a connection that has ended; called by Tornado."""
        super().on_close(server_conn)
        asyncio.get_running_loop().call_soon(self._fill)

    def _handle_connection(self, connection: socket.socket, address: Any) -> None:
        if connection.family == socket.AF_UNIX:
            self.handle_stream(IOStream(connection), address)
        else:
            super()._handle_connection(connection, address)
        self._fill()

    def _make_room(self) -> bool:
        """Gives up a spare descriptor; if a thread takes it before the connection does, the next one is given up."""
        if not self._spare:
            return False
        os.close(self._spare.pop())
        return True

    def _fill(self) -> None:
        with suppress(OSError):
            while len(self._spare) < self._wanted:
                self._spare.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
