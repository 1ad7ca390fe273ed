"""Serving in this process: sockets, gateway and the generation in force, put together."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from typing import Protocol

from prometheus_client import CollectorRegistry, generate_latest

from tornado_proxy.gateway.application import Gateway
from tornado_proxy.gateway.server import Server
from tornado_proxy.service.building import Workshop
from tornado_proxy.service.listening import Sockets
from tornado_proxy.service.live import Live
from tornado_proxy.service.loading import Loaded
from tornado_proxy.service.sources import Sources
from tornado_proxy.service.turns import Memory, in_short_turns
from tornado_proxy.telemetry.access_log import AccessLog, LogForm
from tornado_proxy.telemetry.bus import Bus
from tornado_proxy.telemetry.events import Event
from tornado_proxy.telemetry.metrics import RequestMetrics
from tornado_proxy.telemetry.service_log import service_log
from tornado_proxy.telemetry.totals import Counts, counts_of

_LOG = logging.getLogger("tornado_proxy")

_LET_GO = 2.0  # seconds in which what served requests that were cut may still end


class Serving(Protocol):
    """What answers requests: this process, or workers that it keeps."""

    async def start(self, sockets: Sockets) -> None:
        """Begin to answer on sockets, which it takes over; returns when it does."""
        ...

    async def put(self, number: int, loaded: Loaded, sources: Sources) -> None:
        """Put in force what was loaded from sources; returns when every new request gets it.

        Raises `Unbuildable` where nothing can be made of it, and what is in force stays.
        """
        ...

    def answers(self) -> bool:
        """Whether every event loop that answers requests has turned lately."""
        ...

    async def workers(self) -> Sequence[dict[str, object]]:
        """What each process does, fit for JSON."""
        ...

    def serves(self) -> bool:
        """Whether anybody answers requests."""
        ...

    async def metrics(self) -> bytes:
        """The metrics of requests, in Prometheus's text format."""
        ...

    async def wind_down(self, grace: float) -> None:
        """Accept no more, finish what runs within `grace` seconds."""
        ...


class Solo:
    """The process answers by itself."""

    def __init__(self, loaded: Loaded, *, number: int = 1, name_generation: bool = False) -> None:
        settings = loaded.settings
        assert settings is not None
        self._inherited = False
        self._memory = Memory()
        self._registry = CollectorRegistry()
        listeners: list[Callable[[Event], None]] = [service_log, AccessLog(LogForm(settings.log.format))]
        bus = Bus([*listeners, RequestMetrics(self._registry)])
        self._workshop = Workshop.open(settings, bus.tell)
        self._live = Live(self._workshop.build(settings, loaded.rule_sets), bus.tell, number)
        self._gateway = Gateway(self._live.current, bus.tell, name_generation=name_generation)
        self._server = Server(self._gateway, settings.limits)

    async def start(self, sockets: Sockets) -> None:
        """Begin to answer."""
        self._inherited = sockets.inherited
        self._server.add_sockets(sockets.sockets)
        self._memory.settle()

    async def put(self, number: int, loaded: Loaded, sources: Sources) -> None:  # noqa: ARG002 - for workers
        """Build on a thread, swap on the loop."""
        assert loaded.settings is not None
        before = self._live.current().parts
        build = self._workshop.build
        parts = await asyncio.to_thread(in_short_turns, build, loaded.settings, loaded.rule_sets, before)
        self._live.swap(parts, number)
        self._memory.settle(clients=len({*parts.stores.values()} - {*before.stores.values()}))
        self._server.limits = loaded.settings.limits

    def answers(self) -> bool:
        """It does: whoever asks is on the same loop."""
        return True

    @property
    def number(self) -> int:
        """The number of the generation in force."""
        return self._live.current().number

    def view(self) -> dict[str, object]:
        """What this process does, fit for JSON."""
        return {
            "pid": os.getpid(),
            "generation": self.number,
            "inFlight": self._gateway.in_flight,
            "retiring": self._live.retiring,
        }

    async def workers(self) -> Sequence[dict[str, object]]:
        """What this process does."""
        return [self.view()]

    def serves(self) -> bool:
        """It does, as above."""
        return True

    def counts(self) -> Counts:
        """What this process has counted."""
        return counts_of(self._registry)

    async def metrics(self) -> bytes:
        """The metrics of requests."""
        return generate_latest(self._registry)

    async def wind_down(self, grace: float, *, leave_queue: bool | None = None) -> None:
        """Finish what runs, retire the generation, end the threads.

        Connections that nobody has accepted are left to other processes, if any hold the sockets; whoever knows better
        than the sockets whether any do, says so by `leave_queue`.
        """
        await self._server.shut_down(grace, leave_queue=self._inherited if leave_queue is None else leave_queue)
        try:
            async with asyncio.timeout(_LET_GO):
                await self._live.close()
        except TimeoutError:
            _LOG.warning("calls to buckets that do not end are abandoned")
        await self._workshop.close()
