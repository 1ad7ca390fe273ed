"""Listening sockets, and the server of the admin listener on them: it answers where no descriptor is left."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream

from tornado_proxy.config.server import Listener

_LOG = logging.getLogger("tornado_proxy")

_SPARE = 8  # connections to the admin listener that are accepted where no descriptor is left
_PAUSE = 1.0  # seconds until connections are accepted again where those are used up
_AT_ONCE = 16
BACKLOG = 1024


class CannotListen(Exception):
    """An address that cannot be listened on; the text names it and gives the reason."""


@dataclass(frozen=True, slots=True)
class Sockets:
    """Listening sockets, and the URL that people can use.

    `inherited` ones belong to the service manager: they stay open when this process ends, and the next process accepts
    what waits in their queue.
    """

    sockets: tuple[socket.socket, ...]
    url: str
    inherited: bool = False

    def close(self) -> None:
        """Closes this process's copies."""
        for each in self.sockets:
            each.close()


def open_sockets(listener: Listener) -> Sockets:
    """Listens on an address; raises `CannotListen`."""
    try:
        return named(_bound(listener), is_tls=listener.speaks_tls)
    except OSError as error:
        # Python adds the address to the system's text, and a name that is not found has a negative number.
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else error.strerror or error
        raise CannotListen(f"cannot listen on {listener.address}:{listener.port}: {reason}") from error


def local_socket(path: Path) -> socket.socket:
    """Listens on a socket in the file system, which only the same user may use; raises `CannotListen`.

    One that an earlier process left is replaced.
    """
    made = socket.socket(socket.AF_UNIX)
    try:
        os.fchmod(made.fileno(), 0o600)  # before it has a name, so that it is open to others at no moment
        if path.is_socket() and not _is_alive(path):
            path.unlink()
        made.bind(os.fspath(path))
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        raise CannotListen(f"cannot listen on `{path}`: {error.strerror or error}") from error
    made.setblocking(False)
    return made


def _is_alive(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(os.fspath(path)) == 0


def _bound(listener: Listener) -> list[socket.socket]:
    """A socket for each address of a name, all on one port; where one cannot be had, none is left open."""
    kind, passive = socket.SOCK_STREAM, socket.AI_PASSIVE
    found = socket.getaddrinfo(listener.address or None, listener.port, type=kind, flags=passive)
    port = listener.port
    with ExitStack() as undo:
        sockets: list[socket.socket] = []
        for family, address in dict.fromkeys((family, address) for family, *_, address in found):
            made = undo.enter_context(
                socket.create_server((address[0], port, *address[2:]), family=family, backlog=BACKLOG)
            )
            made.setblocking(False)
            # Port 0 is any free one, and the same for the addresses after the first.
            port = made.getsockname()[1]
            sockets.append(made)
        undo.pop_all()
    return sockets


def named(sockets: Sequence[socket.socket], *, inherited: bool = False, is_tls: bool = False) -> Sockets:
    """Sockets that listen already, with the URL of the first."""
    address = sockets[0].getsockname()
    if not isinstance(address, tuple):
        return Sockets(tuple(sockets), f"unix:{address}", inherited)
    host, port = address[:2]
    shown = f"[{host}]" if ":" in host else host
    return Sockets(tuple(sockets), f"{'https' if is_tls else 'http'}://{shown}:{port}", inherited)


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
