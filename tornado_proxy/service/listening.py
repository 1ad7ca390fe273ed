"""The listening sockets of a process: opened, or taken over from the service manager."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass

from tornado.netutil import bind_sockets

from tornado_proxy.config.model import Listener

BACKLOG = 1024


class CannotListen(Exception):
    """An address that cannot be listened on; the text names it and says why."""


@dataclass(frozen=True, slots=True)
class Sockets:
    """Listening sockets, and the URL that people can use.

    `inherited` ones are the service manager's: they stay open when this process ends, and whoever comes next accepts
    what waits in their queue.
    """

    sockets: tuple[socket.socket, ...]
    url: str
    inherited: bool = False

    def close(self) -> None:
        """Close this process's copies."""
        for each in self.sockets:
            each.close()


def open_sockets(listener: Listener) -> Sockets:
    """Listen on an address; raises `CannotListen`."""
    try:
        sockets = bind_sockets(listener.port, listener.address, backlog=BACKLOG)
    except OSError as error:
        raise CannotListen(f"cannot listen on {listener.address}:{listener.port}: {error.strerror or error}") from error
    return named(sockets)


def named(sockets: Sequence[socket.socket], *, inherited: bool = False) -> Sockets:
    """Sockets that listen already, with the URL of the first."""
    address = sockets[0].getsockname()
    if not isinstance(address, tuple):
        return Sockets(tuple(sockets), f"unix:{address}", inherited)
    host, port = address[:2]
    shown = f"[{host}]" if ":" in host else host
    return Sockets(tuple(sockets), f"http://{shown}:{port}", inherited)
