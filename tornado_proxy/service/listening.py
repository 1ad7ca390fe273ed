"""The listening sockets of a process: opened, or taken over from the service manager."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

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
        return named(_bound(listener))
    except OSError as error:
        # Python adds the address to what the system says, and a name that is not found has a number below zero.
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else error.strerror or error
        raise CannotListen(f"cannot listen on {listener.address}:{listener.port}: {reason}") from error


def _bound(listener: Listener) -> list[socket.socket]:
    """A socket for each address that a name stands for, all on one port; none is left open where one cannot be had."""
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


def named(sockets: Sequence[socket.socket], *, inherited: bool = False) -> Sockets:
    """Sockets that listen already, with the URL of the first."""
    address = sockets[0].getsockname()
    if not isinstance(address, tuple):
        return Sockets(tuple(sockets), f"unix:{address}", inherited)
    host, port = address[:2]
    shown = f"[{host}]" if ":" in host else host
    return Sockets(tuple(sockets), f"http://{shown}:{port}", inherited)
