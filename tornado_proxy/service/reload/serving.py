"""The interface of what answers requests, to which a reload hands each new generation."""

from __future__ import annotations

from collections.abc import Sequence
from socket import socket
from typing import Protocol

from tornado_proxy.service.reload.snapshot import CompiledSnapshot
from tornado_proxy.storage.probe import ProbeResult
from tornado_proxy.telemetry.metrics import ProcessReport


class Serving(Protocol):
    """Answers requests: `SingleProcess` or `Supervisor`. `worker_ends` counts workers that ended by themselves."""

    worker_ends: int

    async def start(self, sockets: Sequence[socket], *, inherited: bool) -> None:
        """Takes over listening sockets, and returns when requests are answered.

        Inherited ones belong to the service manager: the next process accepts what waits in their queue.
        """

    async def activate(self, number: int, loaded: CompiledSnapshot) -> None:
        """Puts a snapshot in force, and returns when every new request gets it.

        Raises `Unbuildable`; the snapshot before it then stays in force.
        """

    def is_serving(self) -> bool:
        """Whether any process answers requests."""

    def is_responsive(self) -> bool:
        """Whether every event loop that answers requests has run recently."""

    def workers(self) -> Sequence[dict[str, object]]:
        """Returns the state of each process that answers requests, as JSON."""

    async def report(self) -> ProcessReport:
        """Returns all counts since the start, including those of processes that have ended."""

    async def probe(self) -> Sequence[ProbeResult]:
        """Probes the buckets of the generation in force."""

    async def purge(self, target: str | None, prefix: str) -> int:
        """Purges the objects of a target, or of all, whose keys begin with a prefix from all caches.

        Returns the number of objects, each counted in each process.
        """

    def set_log_level(self, level: str) -> None:
        """Sets the log level of all processes."""

    async def wind_down(self, grace: float) -> None:
        """Accepts no more, and finishes running requests within `grace` seconds."""
