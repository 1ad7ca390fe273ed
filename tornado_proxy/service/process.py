"""The process that operators see: edits and signals, the service manager, the admin listener, the end."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from ssl import SSLContext
from typing import TYPE_CHECKING

from tornado_proxy.config.show import show
from tornado_proxy.gateway.tls import make_context
from tornado_proxy.pages.status import Overview
from tornado_proxy.service.certificates import RENEW_AFTER
from tornado_proxy.service.generations import has_cache, in_background
from tornado_proxy.service.last_good import LastGood, keep_each
from tornado_proxy.service.overview import (
    Explain,
    Overviews,
    reloader_view,
    report_view,
    rewrite_rows,
    status_line,
)
from tornado_proxy.service.reload import Reloader
from tornado_proxy.service.runtime import DetachedExecutor
from tornado_proxy.service.serving import Serving
from tornado_proxy.service.snapshot import CompiledSnapshot, Snapshot
from tornado_proxy.service.sockets import Notifier, Sockets, watchdog_period
from tornado_proxy.storage.probe import ProbeResult
from tornado_proxy.telemetry.events import Bus, Event, Probed, ReloadReport
from tornado_proxy.telemetry.log import log_service_events, probe_fields

if TYPE_CHECKING:
    from tornado_proxy.service.admin import AdminServer

_LOG = logging.getLogger("tornado_proxy")

FEEDS_A_PERIOD = 3  # how often the watchdog is fed in its period
_LARGEST_ADMIN_BODY = 64 * 1024  # bytes; no page of the listener takes one
_JITTER = 0.1  # the part of the interval by which it varies, so that many instances do not probe at once
SPARE = 10.0  # seconds beyond the grace period that the manager is asked to wait


@dataclass(frozen=True, slots=True)
class Launch:
    """What a process is started with.

    `read` reads the snapshot again. `announce` gets the URLs of requests and of the admin listener when both are
    answered. `last_good` keeps each snapshot that is put in force; `from_last_good` is true if the first came from it.
    `explain` explains paths on the status page.
    """

    loaded: CompiledSnapshot
    sockets: Sockets
    admin: Sockets
    read: Callable[[], Snapshot]
    announce: Callable[[str, str], None]
    notifier: Notifier = field(default_factory=Notifier)
    last_good: LastGood | None = None
    from_last_good: bool = False
    explain: Explain | None = None


async def run(launch: Launch, serving: Serving) -> None:
    """Serves until SIGTERM or SIGINT, then finishes running requests within the grace period.

    Raises `CannotServe`.
    """
    asyncio.get_running_loop().set_default_executor(DetachedExecutor(thread_name_prefix="service"))
    await Process(launch, serving).run()


class Prober:
    """Calls `probe` every `interval` seconds; an interval of 0 turns it off."""

    def __init__(
        self, probe: Callable[[], Awaitable[Sequence[ProbeResult]]], interval: float, emit: Callable[[Event], None]
    ) -> None:
        self._probe = probe
        self._interval = interval
        self._emit = emit
        self._poked = asyncio.Event()
        self._results: dict[str, ProbeResult] = {}

    def __repr__(self) -> str:
        return f"<Prober of {len(self._results)} buckets>"

    @property
    def finds_bucket(self) -> bool:
        """Whether a bucket can be used, as far as is known: true where nothing is probed."""
        return not self._interval or any(result.is_up for result in self._results.values())

    def results(self) -> Sequence[ProbeResult]:
        """The last result of each bucket in force."""
        return list(self._results.values())

    def poke(self) -> None:
        """Notes that other buckets may be in force."""
        self._poked.set()

    async def run(self) -> None:
        """Probes until cancelled; a defect only ends the current probe."""
        while self._interval:
            self._poked.clear()
            try:
                results = await self._probe()
                if self._poked.is_set():
                    continue  # what was probed is not in force any more
                self._take(results)
            except Exception:  # noqa: BLE001 - the next probe may go well
                _LOG.exception("probing the buckets failed")
            try:
                async with asyncio.timeout(self._interval * random.uniform(1 - _JITTER, 1 + _JITTER)):  # noqa: S311 - no secret
                    await self._poked.wait()
            except TimeoutError:
                continue

    def _take(self, results: Sequence[ProbeResult]) -> None:
        before, self._results = self._results, {result.target: result for result in results}
        for result in results:
            known = before.get(result.target)
            problem = known.problem if known else None
            self._emit(Probed(result, is_news=result.problem != problem))

    def view(self, target: str) -> dict[str, object] | None:
        """The last result of a target, as `GET /-/status` answers it; None where there is none yet."""
        result = self._results.get(target)
        return probe_fields(result) if result else None


class Process:
    """A process from its first request to its last; the admin listener shows and commands it."""

    def __init__(self, launch: Launch, serving: Serving) -> None:
        self._launch = launch
        self._serving = serving
        self._loaded_at = time.time()
        self._bus = bus = Bus()
        log_service_events(bus)
        settings = launch.loaded.settings
        assert settings is not None, "what is served is valid"
        self._needs_bucket = settings.s3.ready_needs_bucket
        self._prober = Prober(serving.probe, settings.s3.probe_interval, bus.emit)
        self._reloader = Reloader(launch.loaded, serving, launch.read, bus.emit)
        self._from_last_good = launch.from_last_good
        self._stop = asyncio.Event()
        self._hang_up = asyncio.Event()
        self._set_changed = asyncio.Event()
        self._begun = False

    @property
    def ready(self) -> bool:
        """Whether requests are being answered, and a bucket can be used where the configuration asks for that."""
        return self._begun and self._serving.is_serving() and (not self._needs_bucket or self._prober.finds_bucket)

    async def run(self) -> None:
        """Serves until a signal ends the process."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._hang_up.set)
        starting = loop.create_task(self._serving.start(self._launch.sockets))
        await asyncio.sleep(0)  # a single process answers requests from here on
        admin = await in_background(self._prepare)
        admin.add_sockets(self._launch.admin.sockets)
        try:
            if await self._started(starting):
                self._begun = True
                self._launch.announce(self._launch.sockets.url, self._launch.admin.url)
                self._launch.notifier.ready(self._status_line())
                await self._until_stopped()
        finally:
            self._begun = False
            await self._wind_down()
            admin.stop()
            await admin.close_all_connections()

    async def status(self) -> Mapping[str, object]:
        """The status page."""
        workers = await self._serving.workers()
        return {
            "version": self._version,
            "ready": self.ready,
            **reloader_view(self._reloader, self._prober.view),
            "startedFromLastGood": self._from_last_good,
            "lastGoodTrouble": (self._launch.last_good and self._launch.last_good.trouble) or None,
            "workers": list(workers),
        }

    async def overview(self, asked: Mapping[str, str]) -> Overview:
        """What the status page shows."""
        state, activity = await self.status(), await self._serving.activity()
        return await self._overviews.overview(self._reloader.in_force, state, activity, asked)

    async def rewrites(self) -> Sequence[Mapping[str, object]]:
        """The rewrites in force with their hits."""
        now, activity = self._reloader.in_force, await self._serving.activity()
        return await asyncio.to_thread(lambda: [asdict(each) for each in rewrite_rows(now, activity)])

    def configuration(self) -> Mapping[str, object]:
        """The configuration in force, without secrets."""
        settings = self._reloader.in_force.loaded.settings
        assert settings is not None, "what is in force was valid"
        return show(settings)

    async def reload(self) -> tuple[bool, Mapping[str, object]]:
        """Reloads at once; returns whether the files are in force, and the report."""
        report = await self._reload()
        return report.is_in_force, report_view(report)

    async def purge(self, target: str | None, prefix: str) -> int | None:
        """Has the caches forget; returns the number of objects, None where the target has no cache."""
        settings = self._reloader.in_force.loaded.settings
        if settings is None or not has_cache(settings, target):
            return None
        return await self._serving.purge(target, prefix)

    async def set_log_level(self, level: str) -> None:
        """Logs by a level until the service ends; says so at any level."""
        self._serving.set_log_level(level)
        _LOG.log(max(logging.INFO, _LOG.getEffectiveLevel()), "the log level is `%s` now", level)

    async def metrics(self) -> bytes:
        """The metrics of requests and of reloads."""
        from tornado_proxy.telemetry.exposition import as_text  # noqa: PLC0415 - imported by `_prepare`

        return await self._serving.metrics() + as_text(self._metrics.collect())

    def _prepare(self) -> AdminServer:
        """Makes what follows edits, and the admin listener: the first requests need none of these libraries."""
        from tornado_proxy.service.admin import AdminServer, admin_application  # noqa: PLC0415
        from tornado_proxy.service.watching import Follower  # noqa: PLC0415
        from tornado_proxy.telemetry.exposition import ServiceMetrics  # noqa: PLC0415

        self._follow = partial(Follower, self._reloader.watched, self._reload)
        self._overviews = Overviews(self._launch.explain)
        self._version = self._overviews.versions["tornado-proxy"]
        digest = self._launch.loaded.snapshot.digest
        self._metrics = ServiceMetrics(self._version, digest, self._loaded_at, self._prober.results)
        self._metrics.listen(self._bus)
        self._bus.add(self._overviews.note, ReloadReport)
        # Tornado reads the context for each connection, so a renewed one can take its place; what it does without one
        # is decided here.
        self._admin = AdminServer(
            admin_application(self), ssl_options=self._admin_context(), max_body_size=_LARGEST_ADMIN_BODY
        )
        return self._admin

    async def _started(self, starting: asyncio.Task[None]) -> bool:
        """Waits until requests are answered; false if the process is stopped before that."""
        stopped = asyncio.get_running_loop().create_task(self._stop.wait())
        await asyncio.wait({starting, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not starting.done():
            starting.cancel()
            return False
        starting.result()
        return True

    async def _until_stopped(self) -> None:
        loops = [self._follow().run(), self._heed_hang_ups(), self._feed_watchdog(), self._renew_certificates()]
        loops.append(self._prober.run())
        loops.append(self._overviews.sample(self._serving))
        if self._launch.last_good is not None:
            loops.append(
                keep_each(self._launch.last_good, lambda: self._reloader.in_force.loaded.snapshot, self._set_changed)
            )
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(each) for each in loops]
            await self._stop.wait()
            for task in running:
                task.cancel()

    async def _reload(self) -> ReloadReport:
        """Reloads for any cause, so that the status page and the service manager show the same."""
        before, number = self._status_line(), self._reloader.in_force.number
        report = await self._reloader.reload()
        if report.is_in_force:
            self._from_last_good = False
        if self._reloader.in_force.number != number:
            self._set_changed.set()
            self._prober.poke()
            self._admin.ssl_options = self._admin_context()
        if self._status_line() != before:
            self._launch.notifier.status(self._status_line())
        return report

    def _admin_context(self) -> SSLContext | None:
        """The context of the admin listener; None where it speaks plain HTTP."""
        settings = self._reloader.in_force.loaded.settings
        ssl = settings.internal_server.ssl if settings else None
        return make_context(ssl) if ssl and ssl.enabled else None

    async def _renew_certificates(self) -> None:
        """Looks now and then, where certificates come from far away: nothing else would show that they are renewed."""
        while True:
            await asyncio.sleep(RENEW_AFTER)
            if self._reloader.in_force.loaded.snapshot.fetched.documents:
                await self._reload()

    async def _heed_hang_ups(self) -> None:
        """Reloads for each SIGHUP, and reports the end to the manager: `systemctl reload` waits for it."""
        while True:
            await self._hang_up.wait()
            self._hang_up.clear()
            self._launch.notifier.reloading()
            await self._reload()
            self._launch.notifier.ready(self._status_line())

    async def _feed_watchdog(self) -> None:
        period = watchdog_period(os.environ, os.getpid())
        while period is not None:
            if self._serving.is_responsive():
                self._launch.notifier.alive()
            await asyncio.sleep(period / FEEDS_A_PERIOD)

    def _status_line(self) -> str:
        return status_line(self._reloader, from_last_good=self._from_last_good)

    async def _wind_down(self) -> None:
        settings = self._reloader.in_force.loaded.settings
        grace = settings.server.grace_period if settings else 0.0
        self._launch.notifier.stopping("finishing running requests", grace + SPARE)
        _LOG.info("stopping: running requests have %g s to finish", grace)
        await self._serving.wind_down(grace)
