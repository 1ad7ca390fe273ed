"""Serving in workers: processes on one port that get the same generations, and are replaced when they die.

Only the supervisor reads files, and it sends what it read. So workers can never disagree, and one that starts while the
files on disk are wrong serves what the others serve.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec.structs import replace

from tornado_proxy.routing.compare import KeptRequest
from tornado_proxy.service import limits
from tornado_proxy.service.building import GenerationBuilder
from tornado_proxy.service.runtime import CannotServe, flush_logging, guarded, in_background, set_log_level
from tornado_proxy.service.snapshot import Configuration
from tornado_proxy.service.worker import VERSION, Channel, Heartbeat, Hello, Message, Method, Result, Start, WorkerCall
from tornado_proxy.telemetry.events import ObjectWritten
from tornado_proxy.telemetry.exposition import ProcessMetrics, added
from tornado_proxy.telemetry.metrics import Activity, CountedNames, ProcessReport
from tornado_proxy.web.generation import Generation, Generations

_LOG = logging.getLogger("tornado_proxy")

RESTART_DELAYS = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds before a worker is replaced, by how many workers in a row did not last; the last one for all more."""

WORKER = "import gc; gc.disable(); from tornado_proxy.service.worker import main; main()"
"""The program of a worker. It starts without the garbage collector, as nearly all objects of a start stay; its event
loop turns the collector on."""


class WorkerHandle:
    """A worker's process and channel, and its last state.

    Time is counted in ticks of the supervisor's loop: if the supervisor itself was stopped, no worker is blamed.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        channel: Channel,
        spread: Callable[[WorkerHandle, ObjectWritten], None],
    ) -> None:
        self.pid, self._process = process.pid, process
        self._channel = channel
        self._spread = spread
        self._numbers = itertools.count()
        self._calls: dict[int, asyncio.Future[Any]] = {}  # by number
        self.view: dict[str, object] = {"pid": self.pid}
        self.report = ProcessReport()
        self._serves = False
        self._silent = 0  # ticks since its last heartbeat
        self._activating: int | None = None  # ticks since it was sent another generation
        self._gone = False
        loop = asyncio.get_running_loop()
        self._listening = loop.create_task(self._listen())
        self._watching = loop.create_task(self._watch())

    @property
    def is_responsive(self) -> bool:
        """Whether it serves, and its loop has turned recently."""
        return self._serves and not self._gone and self._silent < limits.WORKER_RESPONSIVE

    async def call(self, method: Method, *arguments: object, within: float | None = None) -> Any:
        """Calls a method of the worker; returns None if it has ended, or does not answer within some seconds."""
        if self._gone:
            return None
        number, answer = next(self._numbers), asyncio.get_running_loop().create_future()
        self._calls[number] = answer
        try:
            async with asyncio.timeout(within):
                await self._channel.send(WorkerCall(number, method, arguments))
                return await answer
        except TimeoutError:
            return None
        finally:
            del self._calls[number]

    async def change(self, method: Method, *arguments: object) -> None:
        """Waits until it has changed its generations, or has ended; it is killed if it takes too long."""
        self._activating = 0
        try:
            await self.call(method, *arguments)
        finally:
            self._activating = None

    def post(self, method: Method, *arguments: object) -> None:
        """Calls a method of the worker without waiting."""
        self._channel.post(WorkerCall(next(self._numbers), method, arguments))

    async def refresh_report(self) -> None:
        """Asks for its counts; keeps the earlier ones if it is too busy to answer."""
        self.report = await self.call("report", within=limits.COUNTS_WITHIN) or self.report

    async def ended(self) -> int:
        """Waits for the end of the process; returns its status, negative for a signal."""
        await self._listening  # its last report may still be in the channel
        return await self._process.wait()

    def kill(self) -> None:
        """Ends it at once."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def close(self) -> None:
        """Kills it if it still runs, and closes its channel."""
        self.kill()
        for task in (self._listening, self._watching):
            task.cancel()
        await self._process.wait()
        await self._channel.close()

    async def _listen(self) -> None:
        try:
            while (message := await self._channel.receive()) is not None:
                self._take(message)
        finally:
            self._gone = True
            for answer in self._calls.values():
                if not answer.done():
                    answer.set_result(None)

    def _take(self, message: Message) -> None:
        match message:
            case Heartbeat(view):
                self.view, self._serves, self._silent = dict(view), True, 0
            case Result(number, value):
                if number in self._calls and not self._calls[number].done():
                    self._calls[number].set_result(value)
            case ObjectWritten() as written:
                self._spread(self, written)
            case ProcessReport() as report:
                self.report = report
            case Hello(version):
                if version != VERSION:
                    text = "worker %d runs version %s, which was installed since the start of %s: restart the service"
                    _LOG.error(text, self.pid, version, VERSION)
            case _:
                _LOG.error("unexpected message from worker %d: %r", self.pid, message)

    async def _watch(self) -> None:
        while not self._gone:
            await asyncio.sleep(limits.WORKER_TICK)
            self._silent += 1
            if self._serves and self._activating is not None:
                self._activating += 1
            if (
                self._silent >= (limits.WORKER_STUCK if self._serves else limits.WORKER_STARTING)
                or (self._activating or 0) >= limits.WORKER_ACTIVATING
            ):
                _LOG.error("worker %d is stuck: killing it", self.pid)
                self.kill()
                return


class Supervisor:
    """Keeps `count` workers; raises `Unbuildable`."""

    def __init__(self, configuration: Configuration, count: int) -> None:
        self.configuration = configuration
        self._start = Start(1, configuration.snapshot)
        self._count = count
        # Each generation is built here too, so that no worker is sent one that cannot be built.
        self._builder = GenerationBuilder(configuration.settings, lambda _: None)
        parts = self._builder.build(configuration)
        self._generations = Generations(Generation(1, parts), lambda _: None)
        self._sockets: Sequence[socket.socket] = ()
        self._workers: dict[int, WorkerHandle] = {}
        self._keeping: dict[int, asyncio.Task[None]] = {}
        self._stopping = False
        self.worker_ends = 0
        self._names = CountedNames.of(parts.mounts.sites, parts.authenticators)
        self._ended = ProcessReport()  # of the workers that have ended

    @property
    def generation(self) -> Generation:
        """The generation in force; no worker has an older one."""
        return self._generations.in_force

    async def start(self, sockets: Sequence[socket.socket], *, inherited: bool) -> None:
        """Starts the workers, and waits until each serves; raises `CannotServe`."""
        self._sockets = sockets
        self._start = replace(self._start, inherited=inherited)
        loop = asyncio.get_running_loop()
        started = [loop.create_future() for _ in range(self._count)]
        self._keeping = {
            place: loop.create_task(guarded(f"keeping worker {place}", partial(self._keep, place, first)))
            for place, first in enumerate(started)
        }
        if not all(await asyncio.gather(*started)):
            raise CannotServe("a worker ended before it served")

    async def activate(self, number: int, configuration: Configuration) -> None:
        """Sends the snapshot to every worker, and waits until each serves it; one that takes too long is replaced."""
        parts = await in_background(self._builder.build, configuration, self.generation.parts)
        self._names = await asyncio.to_thread(CountedNames.of, parts.mounts.sites, parts.authenticators)
        self._ended = _added((self._ended,), self._names)
        # Workers that start from here on serve it.
        self._start = replace(self._start, number=number, snapshot=configuration.snapshot)
        workers = self._workers.values()
        await asyncio.gather(*(worker.change("activate", number, configuration.snapshot) for worker in workers))
        self.configuration = configuration
        self._generations.swap(Generation(number, parts))

    def responsive(self) -> Sequence[bool]:
        """Returns of each place whether its worker is there and responsive."""
        return [place in self._workers and self._workers[place].is_responsive for place in range(self._count)]

    def workers(self) -> Sequence[dict[str, object]]:
        """The last state of each worker."""
        return [worker.view for _, worker in sorted(self._workers.items())]

    async def report(self, *, has_metrics: bool = False) -> ProcessReport:
        """The sum of what all workers have counted, including workers that were replaced."""
        workers = self._workers.values()
        await asyncio.gather(*(worker.refresh_report() for worker in workers))
        own = ProcessReport(tuple(ProcessMetrics().collect()) if has_metrics else ())
        return _added((self._ended, own, *(worker.report for worker in workers)), self._names)

    async def requests(self) -> Sequence[KeptRequest]:
        """Returns the last of the requests that the workers keep."""
        calls = (worker.call("requests", within=limits.COUNTS_WITHIN) for worker in self._workers.values())
        kept = itertools.chain.from_iterable(rows or () for rows in await asyncio.gather(*calls))
        return sorted(kept)[-self.configuration.settings.internal_server.kept_requests :]

    async def purge(self, target: str | None, prefix: str) -> int:
        """Purges the caches of all workers."""
        workers = self._workers.values()
        calls = (worker.call("purge", target, prefix, within=limits.PURGED_WITHIN) for worker in workers)
        return sum(purged or 0 for purged in await asyncio.gather(*calls))

    def set_log_level(self, level: str) -> None:
        """Sets the log level of all workers, and of those that start later."""
        set_log_level(level)
        self._start = replace(self._start, log_level=level)
        for worker in self._workers.values():
            worker.post("set_log_level", level)

    def _spread(self, writer: WorkerHandle, written: ObjectWritten) -> None:
        """Has all other workers drop an object from their caches."""
        for worker in self._workers.values():
            if worker is not writer:
                worker.post("forget", written)

    async def wind_down(self, grace: float) -> None:
        """Winds every worker down, and kills those that do not end."""
        self._stopping = True
        # Closed first, so that the last worker is the last process that can accept, and empties the queue.
        for each in self._sockets:
            each.close()
        workers = list(self._workers.values())
        for worker in workers:
            worker.post("stop", grace)
        if workers:
            ends = [asyncio.get_running_loop().create_task(worker.ended()) for worker in workers]
            await asyncio.wait(ends, timeout=grace + limits.AFTER_GRACE)
        for task in self._keeping.values():
            task.cancel()
        await asyncio.gather(*self._keeping.values(), return_exceptions=True)
        await self._generations.close()
        await self._builder.close()

    async def _keep(self, place: int, first: asyncio.Future[bool]) -> None:
        """Keeps one place filled until the end; `first` gets whether its first worker serves."""
        failures = 0
        while not self._stopping:
            began = time.monotonic()
            try:
                await self._fill(place, first)
            finally:
                _resolve(first, serves=False)
            failures = 0 if time.monotonic() - began > limits.WORKER_LASTED else failures + 1
            if not self._stopping:
                await asyncio.sleep(RESTART_DELAYS[min(failures, len(RESTART_DELAYS) - 1)])

    async def _spawn(self) -> WorkerHandle:
        """Starts a worker: a program of its own, since a process with threads cannot be forked safely."""
        await asyncio.to_thread(flush_logging)  # after a rotation, the worker inherits the new file
        ours, theirs = socket.socketpair()
        with theirs:
            descriptors = [each.fileno() for each in (theirs, *self._sockets)]
            arguments = [self.configuration.settings.server.event_loop, *map(str, descriptors)]
            try:
                # In a session of its own: Ctrl-C on a terminal is for the supervisor.
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", "-c", WORKER, *arguments),
                    stdin=asyncio.subprocess.DEVNULL,
                    pass_fds=descriptors,
                    start_new_session=True,
                )
            except BaseException:
                ours.close()
                raise
        return WorkerHandle(process, await Channel.over(ours), self._spread)

    async def _fill(self, place: int, first: asyncio.Future[bool]) -> None:
        """Fills a place once, until its worker has ended."""
        try:
            worker = await self._spawn()
        except OSError as error:
            _LOG.error("cannot start a worker: %s", error)
            return
        self._workers[place] = worker
        try:
            _resolve(first, serves=bool(await worker.call("start", self._start)))
            status = await worker.ended()
            if not self._stopping:
                self.worker_ends += 1
                ending = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
                _LOG.error("worker %d ended (%s): replacing it", worker.pid, ending)
        finally:
            # Gauges end with it, counters count on.
            report = worker.report
            counts = tuple(each for each in report.counts if each.type != "gauge")
            report = report._replace(counts=counts, activity=replace(report.activity, in_flight=0))
            self._ended = _added((self._ended, report), self._names)
            del self._workers[place]
            await worker.close()


def _added(reports: Sequence[ProcessReport], names: CountedNames) -> ProcessReport:
    """Adds up reports, without what is no longer in force: a worker may have been too busy to answer since."""
    counts = added((metric for each in reports for metric in each.counts), names.cover)
    activity = sum((each.activity for each in reports), Activity()).only(names)
    return ProcessReport(tuple(counts), activity)


def _resolve(first: asyncio.Future[bool], *, serves: bool) -> None:
    if not first.done():
        first.set_result(serves)
