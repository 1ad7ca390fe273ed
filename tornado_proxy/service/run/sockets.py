"""Listening sockets, and systemd, which may have opened them: its messages and its watchdog.

See sd_listen_fds(3), sd_notify(3) and sd_watchdog_enabled(3). Without systemd the functions for it do nothing.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tornado_proxy.config.server import Listener

BACKLOG = 1024
_FIRST_DESCRIPTOR = 3  # SD_LISTEN_FDS_START
_STATUS_LENGTH = 400  # characters; more would drown the rest of `systemctl status`


class CannotListen(Exception):
    """An address on which the process cannot listen; the text gives the reason."""


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
    """Listens on a Unix socket that only the same user may use; raises `CannotListen`.

    One that an earlier process left is replaced.
    """
    made = socket.socket(socket.AF_UNIX)
    try:
        os.fchmod(made.fileno(), 0o600)  # before it has a name, so that nobody else can ever connect
        if path.is_socket():
            with socket.socket(socket.AF_UNIX) as client:
                is_alive = client.connect_ex(os.fspath(path)) == 0
            if not is_alive:
                path.unlink()
        made.bind(os.fspath(path))
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        raise CannotListen(f"cannot listen on `{path}`: {error.strerror or error}") from error
    made.setblocking(False)
    return made


def _bound(listener: Listener) -> list[socket.socket]:
    """Opens a socket for each address of a name, all on one port; if one fails, closes the others."""
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
            # Port 0 chooses a free port, which the other addresses then use too.
            port = made.getsockname()[1]
            sockets.append(made)
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


@dataclass(frozen=True, slots=True)
class Notifier:
    """Sends the states of the service to the manager; `address` is NOTIFY_SOCKET, empty without a manager."""

    address: str = ""

    def ready(self, status: str) -> None:
        """Reports that the service is ready, or that a reload has ended."""
        self._send("READY=1", *_status(status))

    def reloading(self) -> None:
        """Reports the start of a reload; without the time, `Type=notify-reload` would wait for ever."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self, status: str, within: float) -> None:
        """Reports the start of the end, and asks for `within` seconds, even if the unit allows less."""
        self._send("STOPPING=1", f"EXTEND_TIMEOUT_USEC={round(within * 1_000_000)}", *_status(status))

    def status(self, status: str) -> None:
        """Sets the line that `systemctl status` shows."""
        self._send(*_status(status))

    def alive(self) -> None:
        """Feeds the watchdog for another period."""
        self._send("WATCHDOG=1")

    def _send(self, *fields: str) -> None:
        if not self.address:
            return
        # A leading `@` stands for the NUL of Linux's abstract namespace.
        address = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as link:
                link.setblocking(False)  # the event loop must not wait for systemd
                link.sendto("\n".join(fields).encode(), address)
        except OSError:
            # The service goes on without systemd.
            return


def _status(text: str) -> tuple[str, ...]:
    line = " ".join(text.split())
    if len(line) > _STATUS_LENGTH:
        line = line[: _STATUS_LENGTH - 1] + "…"
    return (f"STATUS={line}",) if line else ()


def watchdog_period(environment: Mapping[str, str], pid: int) -> float | None:
    """Returns the seconds after which systemd restarts a silent service; None if it does not watch this process."""
    period = environment.get("WATCHDOG_USEC", "")
    if not period.isdecimal() or int(period) == 0:
        return None
    if environment.get("WATCHDOG_PID", str(pid)) != str(pid):
        return None
    return int(period) / 1_000_000


def inherited_sockets(environment: Mapping[str, str], pid: int) -> dict[str, list[socket.socket]]:
    """Returns the sockets that systemd opened for this process, by name (`FileDescriptorName=`).

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
