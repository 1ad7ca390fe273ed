"""The server of the admin listener: it answers where requests have taken every descriptor that the process may have."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream

_LOG = logging.getLogger("tornado_proxy")

_SPARE = 8  # connections that are accepted where no descriptor is left
_PAUSE = 1.0  # seconds until connections are accepted again where those are used up
_AT_ONCE = 16


class AdminServer(HTTPServer):
    """HTTP on sockets that listen already, with a few descriptors kept back for its connections.

    Sockets in the file system have no TLS: their permissions say who may use them.
    """

    def initialize(self, *arguments: Any, **options: Any) -> None:
        """Take what `HTTPServer` takes; called by Tornado."""
        super().initialize(*arguments, **options)
        self._listening: list[socket.socket] = []
        self._spare: list[int] = []

    def add_sockets(self, sockets: Iterable[socket.socket]) -> None:
        """Accepts connections on sockets that do not block."""
        IOLoop.current()  # makes it, for which modules are imported: the first connection may be one too many for that
        for each in sockets:
            self._listening.append(each)
            self._resume(each)

    def stop(self) -> None:
        """Accepts no more, and closes the sockets."""
        while self._listening:
            listening = self._listening.pop()
            asyncio.get_running_loop().remove_reader(listening)
            listening.close()
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

    def _resume(self, listening: socket.socket) -> None:
        if listening in self._listening:
            self._fill()
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, address = listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                if not self._spare:
                    self._pause(listening, error)
                    return
                # Only a thread could take the descriptor before the next turn, and then the next one is given.
                os.close(self._spare.pop())
            else:
                self._handle_connection(connection, address)

    def _pause(self, listening: socket.socket, error: OSError) -> None:
        """Leave connections to the kernel for a while: a queue that cannot be emptied would keep the loop spinning."""
        _LOG.error("connections to the admin listener cannot be accepted: %s", error.strerror)
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening)
        loop.call_later(_PAUSE, self._resume, listening)

    def _fill(self) -> None:
        """Keep back as many descriptors as there are left."""
        with suppress(OSError):
            while self._listening and len(self._spare) < _SPARE:
                self._spare.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
