"""The service manager: its messages and its watchdog.

See sd_notify(3) and sd_watchdog_enabled(3). Without systemd nothing happens.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping

import msgspec

from tornado_proxy.service.limits import LONGEST_STATUS


class Notifier(msgspec.Struct, frozen=True):
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
    if len(line) > LONGEST_STATUS:
        line = line[: LONGEST_STATUS - 1] + "…"
    return (f"STATUS={line}",) if line else ()


def watchdog_period(environment: Mapping[str, str], pid: int) -> float | None:
    """Returns the seconds after which systemd restarts a silent service; None if it does not watch this process."""
    period = environment.get("WATCHDOG_USEC", "")
    if not period.isdecimal() or int(period) == 0:
        return None
    if environment.get("WATCHDOG_PID", str(pid)) != str(pid):
        return None
    return int(period) / 1_000_000
