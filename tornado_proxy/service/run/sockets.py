"""Listening sockets: opened here, or by the service manager."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from tornado_proxy.config.server import Listener
from tornado_proxy.service.limits import BACKLOG

_FIRST_DESCRIPTOR = 3  # SD_LISTEN_FDS_START


class CannotListen(Exception):
    """An address on which the process cannot listen; the text gives the reason."""


class Sockets(msgspec.Struct, frozen=True):
    """Listening sockets, and the URL that people can use."""

    sockets: tuple[socket.socket, ...]
    url: str
    inherited: bool = False  # from the service manager: the next process accepts what waits in their queue


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
    """Listens on a Unix socket for the same user, in place of one that was left; raises `CannotListen`."""
    listening = socket.socket(socket.AF_UNIX)
    try:
        os.fchmod(listening.fileno(), 0o600)  # before it has a name, so that nobody else can ever connect
        if path.is_socket():
            with socket.socket(socket.AF_UNIX) as client:
                is_alive = client.connect_ex(os.fspath(path)) == 0
            if not is_alive:
                path.unlink()
        listening.bind(os.fspath(path))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise CannotListen(f"cannot listen on `{path}`: {error.strerror or error}") from error
    listening.setblocking(False)
    return listening


def _bound(listener: Listener) -> list[socket.socket]:
    """Opens a socket for each address of a name, all on one port; if one fails, closes the others."""
    kind, passive = socket.SOCK_STREAM, socket.AI_PASSIVE
    addresses = socket.getaddrinfo(listener.address or None, listener.port, type=kind, flags=passive)
    port = listener.port
    with ExitStack() as undo:
        sockets: list[socket.socket] = []
        for family, address in dict.fromkeys((family, address) for family, *_, address in addresses):
            bound = undo.enter_context(
                socket.create_server((address[0], port, *address[2:]), family=family, backlog=BACKLOG)
            )
            bound.setblocking(False)
            # Port 0 chooses a free port, which the other addresses then use too.
            port = bound.getsockname()[1]
            sockets.append(bound)
        undo.pop_all()
    return sockets


def named(sockets: Sequence[socket.socket], *, inherited: bool = False, is_tls: bool = False) -> Sockets:
    """Wraps listening sockets, with the URL of the first."""
    address = sockets[0].getsockname()
    if not isinstance(address, tuple):
        return Sockets(tuple(sockets), f"unix:{address}", inherited)
    host, port = address[:2]
    shown = f"[{host}]" if ":" in host else host
    return Sockets(tuple(sockets), f"{'https' if is_tls else 'http'}://{shown}:{port}", inherited)


def inherited_sockets(environment: Mapping[str, str], pid: int) -> dict[str, list[socket.socket]]:
    """Takes over the sockets that systemd opened for this process (sd_listen_fds(3)); returns them by name."""
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
