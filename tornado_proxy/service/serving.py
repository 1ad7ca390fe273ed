"""Serving requests in this process."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from socket import socket
from typing import TYPE_CHECKING

from tornado_proxy.config.model import Settings
from tornado_proxy.config.server import Tracing
from tornado_proxy.routing.compare import KeptRequest
from tornado_proxy.semantics.request import TrustedProxies
from tornado_proxy.service.building import GenerationBuilder, cache_counts, forget_written, missing_extra, purge
from tornado_proxy.service.limits import STORES_CLOSE_WITHIN, WEBHOOKS_WITHIN
from tornado_proxy.service.runtime import access_listener, free_in_turns, in_background, set_log_level
from tornado_proxy.service.snapshot import Configuration
from tornado_proxy.telemetry.events import Bus, ObjectWritten, Retired, Served
from tornado_proxy.telemetry.exposition import ProcessMetrics
from tornado_proxy.telemetry.log import log_service_events
from tornado_proxy.telemetry.metrics import CountedNames, KeptRequests, ProcessReport, RequestMetrics
from tornado_proxy.telemetry.webhooks import WebhookCaller
from tornado_proxy.web.generation import Generation, Generations
from tornado_proxy.web.handlers import ProxyApplication
from tornado_proxy.wire.dialing import HttpFetcher
from tornado_proxy.wire.server import ConnectionSetup, HttpServer
from tornado_proxy.wire.stream import ClientConnection
from tornado_proxy.wire.tls import make_context

if TYPE_CHECKING:
    from tornado_proxy.telemetry.tracing import RequestTracer

_LOG = logging.getLogger("tornado_proxy")


def connection_setup(settings: Settings) -> ConnectionSetup:
    """Returns how connections of clients begin: TLS, HTTP/2, and the PROXY protocol; raises `Unbuildable`."""
    server = settings.server
    http2: Callable[..., ClientConnection] | None = None
    tls = make_context(server.ssl, http2=server.http2) if server.ssl and server.ssl.enabled else None
    if tls is not None and server.http2:
        try:
            from tornado_proxy.wire.http2 import Http2Connection  # noqa: PLC0415 - an extra

            http2 = Http2Connection
        except ImportError:
            otherwise = ", or set `server.http2` to false"
            raise missing_extra("`server.http2` with TLS needs the extra `http2`", "http2", otherwise) from None
    return ConnectionSetup(tls, TrustedProxies(server.trusted_proxies if server.proxy_protocol else ()), http2)


def _tracer(tracing: Tracing | None) -> RequestTracer | None:
    if tracing is None:
        return None
    try:
        from tornado_proxy.telemetry.tracing import RequestTracer  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_extra("`tracing` needs the extra `otel`", "otel") from None
    return RequestTracer(tracing)


class SingleProcess:
    """Serves in this process; raises `Unbuildable`. `spread` gets each object that other caches must drop.

    `service.supervisor.Supervisor` has the methods that `process`, `reloading` and `admin` call, for all workers.
    `activate` returns when all new requests get the configuration. `worker_ends` counts those that ended by themselves.
    """

    def __init__(
        self, configuration: Configuration, *, number: int = 1, spread: Callable[[ObjectWritten], None] | None = None
    ) -> None:
        settings = configuration.settings
        self.configuration = configuration
        self._inherited = False
        self.worker_ends = 0
        self._bus = bus = Bus()
        self.emit = bus.emit
        log_service_events(bus)
        if (log_request := access_listener(settings.log)) is not None:
            bus.add(log_request, Served)
        self._webhooks = WebhookCaller(HttpFetcher(), bus.emit)
        self._tracer = _tracer(settings.tracing)
        self._builder = GenerationBuilder(settings, bus.emit)
        self._metrics = RequestMetrics(lambda: self.application.in_flight, lambda: cache_counts(self.generation.parts))
        self._kept = KeptRequests(settings.internal_server.kept_requests)
        bus.add(self._kept.add, Served)
        bus.add(self._forget_generation, Retired)
        self._retiring: dict[int, list[object]] = {}  # what an edit has replaced, by number of the generation
        self._spread = spread
        bus.add(self._forget, ObjectWritten)
        parts = self._builder.build(configuration)
        self._names = CountedNames.of(parts.mounts.sites, parts.authenticators)
        # The tracer finds the calls of a request in the request's context.
        emit = bus.emit_soon if self._tracer is None else bus.emit
        self._generations = Generations(Generation(number, parts), emit)
        self.application = ProxyApplication(self._generations, emit)
        for each in (self._webhooks, self._tracer, self._metrics):
            if each is not None:
                each.listen(bus)
        self._server = HttpServer(self.application, settings.limits, connection_setup(settings))

    @property
    def generation(self) -> Generation:
        """The generation in force."""
        return self._generations.in_force

    async def start(self, sockets: Sequence[socket], *, inherited: bool) -> None:
        """Takes over listening sockets, and begins to answer.

        Inherited ones belong to the service manager: the next process accepts what waits in their queue.
        """
        self._inherited = inherited
        self._metrics.watch_loop()
        self._server.add_sockets(sockets)

    async def activate(self, number: int, configuration: Configuration) -> None:
        """Builds the generation on a thread, and puts it in force on the event loop; raises `Unbuildable` before."""
        in_force = self.generation.parts
        parts = await in_background(self._builder.build, configuration, in_force)
        # TLS contexts are slow to make, and most edits change rules only.
        changed = configuration.settings.server != in_force.settings.server
        setup = await asyncio.to_thread(connection_setup, configuration.settings) if changed else self._server.setup
        names = await in_background(CountedNames.of, parts.mounts.sites, parts.authenticators)
        # Nothing is awaited from here on: the new generation is in force with all that belongs to it.
        self._retiring[self.generation.number] = [*self.configuration.pieces()]
        self._generations.swap(Generation(number, parts))
        self.configuration = configuration
        self._names = names
        self._metrics.keep_only(names)
        self._kept.resize(configuration.settings.internal_server.kept_requests)
        self._server.limits = configuration.settings.limits
        self._server.setup = setup

    def responsive(self) -> Sequence[bool]:
        """Always true: the caller runs on the event loop that answers requests."""
        return [True]

    def workers(self) -> Sequence[dict[str, object]]:
        """The state of this process."""
        return [
            {
                "pid": os.getpid(),
                "generation": self.generation.number,
                "inFlight": self.application.in_flight,
                "retiring": self._generations.retiring,
            }
        ]

    async def report(self, *, has_metrics: bool = False) -> ProcessReport:
        """Returns the counts of this process, with its metrics if those are wanted."""
        metrics = (*ProcessMetrics().collect(), *self._metrics.collect()) if has_metrics else ()
        return ProcessReport(metrics, self._metrics.activity())

    async def requests(self) -> Sequence[KeptRequest]:
        """Returns the requests that this process keeps."""
        return self._kept.rows()

    async def purge(self, target: str | None, prefix: str) -> int:
        """Purges the caches."""
        return purge(self.generation.parts, target, prefix)

    def set_log_level(self, level: str) -> None:
        """Logs what is at least as severe as a level."""
        set_log_level(level)

    def forget(self, written: ObjectWritten) -> bool:
        """Drops an object that was written from the caches; returns whether its bucket has any."""
        return forget_written(self.generation.parts, written)

    def _forget_generation(self, retired: Retired) -> None:
        self._metrics.keep_only(self._names)  # its last requests were counted under names that may have gone
        free_in_turns(self._retiring.pop(retired.generation, []))

    def _forget(self, written: ObjectWritten) -> None:
        if self.forget(written) and self._spread is not None:
            self._spread(written)

    async def wind_down(self, grace: float, *, leave_queue: bool | None = None) -> None:
        """Finishes running requests, retires all generations, and ends the threads.

        `leave_queue` leaves connections that nobody has accepted to other processes with the same sockets; by default,
        if the sockets are inherited.
        """
        await self._server.shut_down(grace, leave_queue=self._inherited if leave_queue is None else leave_queue)
        self._bus.flush()
        await self._webhooks.close(WEBHOOKS_WITHIN)
        if self._tracer is not None:
            await asyncio.to_thread(self._tracer.close)
        try:
            async with asyncio.timeout(STORES_CLOSE_WITHIN):
                await self._generations.close()
        except TimeoutError:
            _LOG.warning("abandoned calls to buckets that did not end within %g s", STORES_CLOSE_WITHIN)
        await self._builder.close()
