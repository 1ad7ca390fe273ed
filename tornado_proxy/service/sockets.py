"""The listening sockets of a process: opened, or taken over from the service manager (sd_listen_fds(3)).

And how many descriptors connections may have.
"""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from tornado_proxy.config.model import Listener

BACKLOG = 1024
_FIRST_DESCRIPTOR = 3  # SD_LISTEN_FDS_START


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


def raise_descriptor_limit() -> None:
    """Lets the process open as many descriptors as its hard limit permits, as programs in Go do.

    The soft limit is often 1024, for the sake of select(2), and a client may need a connection to S3 besides its own.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # the kernel may permit less than the hard limit (fs.nr_open)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def open_sockets(listener: Listener) -> Sockets:
    """Listens on an address; raises `CannotListen`."""
    try:
        return named(_bound(listener), is_tls=listener.speaks_tls)
    except OSError as error:
        # Python adds the address to the system's text, and a name that is not found has a negative number.
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else error.strerror or error
        raise CannotListen(f"cannot listen on {listener.address}:{listener.port}: {reason}") from error


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


def inherited_sockets(environment: Mapping[str, str], pid: int) -> dict[str, list[socket.socket]]:
    """The sockets that the manager opened for this process, by name (`FileDescriptorName=`); empty without any.

    They are taken over: not blocking, and not inherited by children.
    """
    count = environment.get("LISTEN_FDS", "")
    if environment.get("LISTEN_PID") != str(pid) or not count.isdecimal():
        return {}
    names = environment.get("LISTEN_FDNAMES", "").split(":")
    sockets: dict[str, list[socket.socket]] = {}
    for index in range(int(count)):
        descriptor = _FIRST_DESCRIPTOR + index
        os.set_inheritable(descriptor, False)
        taken = socket.socket(fileno=descriptor)
        taken.setblocking(False)
        name = names[index] if index < len(names) and names[index] else "unknown"
        sockets.setdefault(name, []).append(taken)
    return sockets
