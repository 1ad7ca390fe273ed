"""Serving in workers: processes on one port, each replaced when it dies, all told what to put in force.

Only the process that keeps them reads files; what it read, it sends. So workers can never disagree, and one that
starts while the files on disk are wrong serves what the others serve.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable, Sequence

from prometheus_client import CollectorRegistry, generate_latest

from tornado_proxy.service.building import Workshop
from tornado_proxy.service.channel import Begin, Put, Stop
from tornado_proxy.service.kept import KeptWorker, spawn
from tornado_proxy.service.listening import Sockets
from tornado_proxy.service.loading import Loaded
from tornado_proxy.service.sources import Sources
from tornado_proxy.telemetry.totals import Totals

_LOG = logging.getLogger("tornado_proxy")

AFTER_GRACE = 5.0  # seconds in which a worker whose grace is over may still end by itself
LASTED = 10.0  # seconds of serving, after which the end of a worker is an accident and no habit
BREATHS = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds before a place is filled again, by how many workers did not last there; the last for all more."""

Spawn = Callable[[Sockets], Awaitable[KeptWorker]]


class CannotServe(Exception):
    """Workers that end before they serve; the log shows what they said."""


class Fleet:
    """Keeps `count` workers; raises `Unbuildable` where nothing can be made of what was loaded."""

    def __init__(
        self,
        loaded: Loaded,
        sources: Sources,
        count: int,
        *,
        name_generation: bool = False,
        spawn: Spawn = spawn,
    ) -> None:
        assert loaded.settings is not None
        self._begin = Begin(1, sources, name_generation)
        self._count = count
        self._spawn = spawn
        # Each generation is built here too, so that no worker is asked to put in force what cannot be built.
        self._workshop = Workshop.open(loaded.settings, lambda _: None)
        self._parts = self._workshop.build(loaded.settings, loaded.rule_sets)
        self._sockets = Sockets((), "")
        self._workers: dict[int, KeptWorker] = {}
        self._keeping: dict[int, asyncio.Task[None]] = {}
        self._stopping = False
        self._totals = Totals()
        self._registry = CollectorRegistry()
        self._registry.register(self._totals)

    def __repr__(self) -> str:
        return f"<Fleet of {self._count}, generation {self._begin.number}>"

    async def start(self, sockets: Sockets) -> None:
        """Start the workers, and wait until each serves; raises `CannotServe` where one ends instead."""
        self._sockets = sockets
        self._begin = Begin(1, self._begin.sources, self._begin.name_generation, sockets.inherited)
        loop = asyncio.get_running_loop()
        started = [loop.create_future() for _ in range(self._count)]
        self._keeping = {place: loop.create_task(self._keep(place, first)) for place, first in enumerate(started)}
        if not all(await asyncio.gather(*started)):
            raise CannotServe("a worker ended before it served")

    async def put(self, number: int, loaded: Loaded, sources: Sources) -> None:
        """Send it to every worker, and wait until each serves it."""
        assert loaded.settings is not None
        # What is not taken over has never been asked for anything, so that there is nothing to close.
        self._parts = await asyncio.to_thread(self._workshop.build, loaded.settings, loaded.rule_sets, self._parts)
        # From here on whoever takes the place of a worker begins with it.
        self._begin = Begin(number, sources, self._begin.name_generation, self._begin.inherited)
        workers = list(self._workers.values())
        await asyncio.gather(*(worker.channel.send(Put(number, sources)) for worker in workers))
        await asyncio.gather(*(worker.until_it_serves(number) for worker in workers))

    def answers(self) -> bool:
        """Whether there are all workers, and the loop of each has turned lately."""
        return len(self._workers) == self._count and all(worker.answers for worker in self._workers.values())

    async def workers(self) -> Sequence[dict[str, object]]:
        """What each worker does, as it said last."""
        return [worker.view for _, worker in sorted(self._workers.items())]

    def serves(self) -> bool:
        """Whether there is a worker whose loop has turned lately."""
        return any(worker.answers for worker in self._workers.values())

    async def metrics(self) -> bytes:
        """The metrics of all workers, added up, those of workers that were replaced among them."""
        workers = list(self._workers.values())
        await asyncio.gather(*(worker.count() for worker in workers))
        for worker in workers:
            self._take_counts(worker)
        return generate_latest(self._registry)

    def _take_counts(self, worker: KeptWorker) -> None:
        # One that ended while the others were asked has been taken already, for the last time.
        if worker in self._workers.values():
            self._totals.take(worker.pid, worker.counts)

    async def wind_down(self, grace: float) -> None:
        """Have every worker wind down, and end those that do not."""
        self._stopping = True
        # Closed here first, so that the last worker to stop leaves nobody in a queue that no process will empty.
        self._sockets.close()
        workers = list(self._workers.values())
        await asyncio.gather(*(worker.channel.send(Stop(grace)) for worker in workers))
        if workers:
            ends = [asyncio.get_running_loop().create_task(worker.ended()) for worker in workers]
            await asyncio.wait(ends, timeout=grace + AFTER_GRACE)
        for task in self._keeping.values():
            task.cancel()
        await asyncio.gather(*self._keeping.values(), return_exceptions=True)
        await self._workshop.close()

    async def _keep(self, place: int, first: asyncio.Future[bool]) -> None:
        """Keep one place filled until the end; `first` gets whether its first worker serves."""
        failures = 0
        while not self._stopping:
            began = time.monotonic()
            await self._fill(place, first)
            failures = 0 if time.monotonic() - began > LASTED else failures + 1
            if not self._stopping:
                await asyncio.sleep(BREATHS[min(failures, len(BREATHS) - 1)])

    async def _fill(self, place: int, first: asyncio.Future[bool]) -> None:
        """Fill a place once, until its worker has ended."""
        try:
            worker = await self._spawn(self._sockets)
        except OSError as error:
            _LOG.error("a worker cannot be started: %s", error)
            _tell(first, serves=False)
            return
        self._workers[place] = worker
        try:
            await worker.channel.send(self._begin)
            _tell(first, serves=await worker.until_it_serves(self._begin.number))
            status = await worker.ended()
            if not self._stopping:
                _LOG.error("worker %d ended (%s); another takes its place", worker.pid, _said(status))
        finally:
            self._take_counts(worker)
            self._totals.end(worker.pid)
            del self._workers[place]
            await worker.close()


def _tell(first: asyncio.Future[bool], *, serves: bool) -> None:
    if not first.done():
        first.set_result(serves)


def _said(status: int) -> str:
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
