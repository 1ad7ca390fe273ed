"""The life of a serving process: the first generation, edits and signals, and an end that loses no request."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field

from tornado_proxy.gateway.application import Gateway
from tornado_proxy.gateway.server import Server
from tornado_proxy.lang.diagnostic import errors
from tornado_proxy.service.building import Solo, Workshop
from tornado_proxy.service.follow import Follower
from tornado_proxy.service.listening import Sockets
from tornado_proxy.service.live import Live
from tornado_proxy.service.loading import Loaded
from tornado_proxy.service.reload import Outcome, Reloader, rewrite_count
from tornado_proxy.service.sources import Sources
from tornado_proxy.service.systemd import Notifier, watchdog_period
from tornado_proxy.telemetry.access_log import AccessLog, LogForm
from tornado_proxy.telemetry.bus import Bus
from tornado_proxy.telemetry.service_log import service_log

_LOG = logging.getLogger("tornado_proxy")

FEEDS_A_PERIOD = 3  # how often the watchdog is fed in the time after which it bites


@dataclass(frozen=True, slots=True)
class Launch:
    """What a process is started with; `read` reads the set of files anew, `announce` gets the URL once it serves."""

    loaded: Loaded
    sockets: Sockets
    read: Callable[[], Sources]
    announce: Callable[[str], None]
    notifier: Notifier = field(default_factory=Notifier)
    name_generation: bool = False  # a header of each answer names the generation


async def serve(launch: Launch) -> None:
    """Serve until SIGTERM or SIGINT, then finish what runs within the grace period."""
    settings = launch.loaded.settings
    assert settings is not None
    workshop = Workshop.open(settings)
    try:
        bus = Bus([service_log, AccessLog(LogForm(settings.log.format))])
        live = Live(workshop.build(settings, launch.loaded.rule_sets), bus.tell)
        reloader = Reloader(launch.loaded, Solo(live, workshop), launch.read, bus.tell)
        server = Server(Gateway(live.current, bus.tell, name_generation=launch.name_generation), settings.limits)
        server.add_sockets(launch.sockets.sockets)
        await _Life(launch, live, reloader, server).run()
    finally:
        await workshop.close()


class _Life:
    """A process from its first request to its last."""

    def __init__(self, launch: Launch, live: Live, reloader: Reloader, server: Server) -> None:
        self._launch = launch
        self._notifier = launch.notifier
        self._live = live
        self._reloader = reloader
        self._server = server
        self._stop = asyncio.Event()
        self._hang_up = asyncio.Event()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._hang_up.set)
        follower = Follower(self._reloader.places, self._follow)
        async with asyncio.TaskGroup() as tasks:
            company = [
                tasks.create_task(each) for each in (follower.run(), self._heed_hang_ups(), self._feed_watchdog())
            ]
            self._launch.announce(self._launch.sockets.url)
            self._notifier.ready(self._status())
            await self._stop.wait()
            self._notifier.stopping("finishing the requests that run")
            for task in company:
                task.cancel()
        await self._wind_down()

    async def _follow(self) -> None:
        report = await self._reloader.reload()
        if report.outcome is not Outcome.UNCHANGED:
            self._notifier.status(self._status())

    async def _heed_hang_ups(self) -> None:
        """Reload for each SIGHUP, and tell the manager when that is done: `systemctl reload` waits for it."""
        while True:
            await self._hang_up.wait()
            self._hang_up.clear()
            self._notifier.reloading()
            await self._reloader.reload()
            self._notifier.ready(self._status())

    async def _feed_watchdog(self) -> None:
        period = watchdog_period(os.environ, os.getpid())
        while period is not None:
            self._notifier.alive()
            await asyncio.sleep(period / FEEDS_A_PERIOD)

    def _status(self) -> str:
        standing, refused = self._reloader.standing, self._reloader.refused
        status = f"generation {standing.number}, {rewrite_count(standing.loaded)} rewrites"
        if refused is None:
            return status
        first = errors(refused.diagnostics)[0]
        return f"{status}; an edit was refused: {first.place} {first.message}"

    async def _wind_down(self) -> None:
        grace = self._live.current().parts.settings.grace_period
        _LOG.info("stopping: requests that run have %g s to end", grace)
        await self._server.shut_down(grace)
        await self._live.close()
