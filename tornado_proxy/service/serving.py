"""Serving in this process: sockets, gateway and the generation in force, put together."""

from __future__ import annotations

import asyncio
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
from tornado_proxy.telemetry.access_log import AccessLog, LogForm
from tornado_proxy.telemetry.bus import Bus
from tornado_proxy.telemetry.events import Event
from tornado_proxy.telemetry.metrics import RequestMetrics
from tornado_proxy.telemetry.service_log import service_log


class Serving(Protocol):
    """What answers requests: this process, or workers that it keeps."""

    async def start(self) -> None:
        """Begin to answer."""
        ...

    async def put(self, number: int, loaded: Loaded, sources: Sources) -> None:
        """Put in force what was loaded from sources; returns when every new request gets it."""
        ...

    def answers(self) -> bool:
        """Whether every event loop that answers requests has turned lately."""
        ...

    async def workers(self) -> Sequence[dict[str, object]]:
        """What each process does, fit for JSON."""
        ...

    def metrics(self) -> bytes:
        """The metrics of requests, in Prometheus's text format."""
        ...

    async def wind_down(self, grace: float) -> None:
        """Accept no more, finish what runs within `grace` seconds."""
        ...


class Solo:
    """The process answers by itself."""

    def __init__(self, loaded: Loaded, sockets: Sockets, *, number: int = 1, name_generation: bool = False) -> None:
        settings = loaded.settings
        assert settings is not None
        self._sockets = sockets
        self._registry = CollectorRegistry()
        listeners: list[Callable[[Event], None]] = [service_log, AccessLog(LogForm(settings.log.format))]
        bus = Bus([*listeners, RequestMetrics(self._registry)])
        self._workshop = Workshop.open(settings, bus.tell)
        self._live = Live(self._workshop.build(settings, loaded.rule_sets), bus.tell, number)
        self._gateway = Gateway(self._live.current, bus.tell, name_generation=name_generation)
        self._server = Server(self._gateway, settings.limits)

    async def start(self) -> None:
        """Begin to answer."""
        self._server.add_sockets(self._sockets.sockets)

    async def put(self, number: int, loaded: Loaded, sources: Sources) -> None:  # noqa: ARG002 - for workers
        """Build on a thread, swap on the loop."""
        assert loaded.settings is not None
        before = self._live.current().parts
        parts = await asyncio.to_thread(self._workshop.build, loaded.settings, loaded.rule_sets, before)
        self._live.swap(parts, number)

    def answers(self) -> bool:
        """It does: whoever asks is on the same loop."""
        return True

    def view(self) -> dict[str, object]:
        """What this process does, fit for JSON."""
        return {
            "pid": os.getpid(),
            "generation": self._live.current().number,
            "inFlight": self._gateway.in_flight,
            "retiring": self._live.retiring,
        }

    async def workers(self) -> Sequence[dict[str, object]]:
        """What this process does."""
        return [self.view()]

    def metrics(self) -> bytes:
        """The metrics of requests."""
        return generate_latest(self._registry)

    async def wind_down(self, grace: float) -> None:
        """Finish what runs, retire the generation, end the threads."""
        await self._server.shut_down(grace)
        await self._live.close()
        await self._workshop.close()
