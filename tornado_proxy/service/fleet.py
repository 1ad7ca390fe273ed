"""Serving in workers: processes on one port, each replaced when it dies, all told what to put in force.

Only the process that keeps them reads files; what it read, it sends. So workers can never disagree, and one that
starts while the files on disk are wrong serves what the others serve.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from asyncio.subprocess import Process
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from tornado_proxy.service.channel import Beat, Begin, Channel, Put, Stop
from tornado_proxy.service.listening import Sockets
from tornado_proxy.service.loading import Loaded
from tornado_proxy.service.sources import Sources

_LOG = logging.getLogger("tornado_proxy")

LATELY = 5.0  # seconds; ten beats
BREATH = 1.0  # seconds between the starts of a worker that keeps dying
AFTER_GRACE = 5.0  # seconds in which a worker whose grace is over may still end by itself


class Worker:
    """A worker as its keeper sees it."""

    def __init__(self, process: Process, channel: Channel) -> None:
        self.process = process
        self.channel = channel
        self.view: dict[str, object] = {"pid": process.pid}
        self.number: object = 0
        self._changed = asyncio.Condition()
        self._heard_at = time.monotonic()
        self._gone = False

    def __repr__(self) -> str:
        return f"<Worker {self.process.pid}, generation {self.number}>"

    @property
    def answers(self) -> bool:
        """Whether its loop has turned lately."""
        return self._gone or time.monotonic() - self._heard_at < LATELY

    async def listen(self) -> None:
        """Take in its beats until it is gone."""
        while isinstance(beat := await self.channel.receive(), Beat):
            await self._heard(beat)
        async with self._changed:
            self._gone = True
            self._changed.notify_all()

    async def until_it_serves(self, number: int) -> None:
        """Wait until it serves a generation, or is gone: whoever takes its place begins with the latest."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._gone or self.number == number)

    async def _heard(self, beat: Beat) -> None:
        async with self._changed:
            self.view, self.number, self._heard_at = dict(beat.view), beat.number, time.monotonic()
            self._changed.notify_all()


class Fleet:
    """Keeps `count` workers."""

    def __init__(self, sources: Sources, sockets: Sockets, count: int, *, name_generation: bool = False) -> None:
        self._begin = Begin(1, sources, name_generation)
        self._sockets = sockets
        self._count = count
        self._workers: list[Worker | None] = [None] * count
        self._keeping: list[asyncio.Task[None]] = []
        self._stopping = False
        # The counters of all processes are files there (prometheus_client's multiprocess mode).
        self._counters = tempfile.mkdtemp(prefix="tornado-proxy-metrics-")

    async def start(self) -> None:
        """Start the workers, and wait until each serves."""
        started = [asyncio.Event() for _ in range(self._count)]
        loop = asyncio.get_running_loop()
        self._keeping = [loop.create_task(self._keep(place, event)) for place, event in enumerate(started)]
        await asyncio.gather(*(event.wait() for event in started))

    async def put(self, number: int, loaded: Loaded, sources: Sources) -> None:  # noqa: ARG002 - for this process
        """Send it to every worker, and wait until each serves it."""
        self._begin = Begin(number, sources, self._begin.name_generation)
        workers = self._alive()
        await asyncio.gather(*(worker.channel.send(Put(number, sources)) for worker in workers))
        await asyncio.gather(*(worker.until_it_serves(number) for worker in workers))

    def answers(self) -> bool:
        """Whether the loop of every worker has turned lately."""
        return all(worker.answers for worker in self._alive())

    async def workers(self) -> Sequence[dict[str, object]]:
        """What each worker does, as it said last."""
        return [worker.view for worker in self._alive()]

    def metrics(self) -> bytes:
        """The metrics of all workers, added up."""
        registry = CollectorRegistry()
        MultiProcessCollector(registry, path=self._counters)  # type: ignore[no-untyped-call]
        return generate_latest(registry)

    async def wind_down(self, grace: float) -> None:
        """Have every worker wind down, and end those that do not."""
        self._stopping = True
        await asyncio.gather(*(worker.channel.send(Stop(grace)) for worker in self._alive()))
        if self._keeping:
            await asyncio.wait(self._keeping, timeout=grace + AFTER_GRACE)
        for worker in self._alive():
            worker.process.kill()
        await asyncio.gather(*self._keeping)
        shutil.rmtree(self._counters, ignore_errors=True)

    def _alive(self) -> list[Worker]:
        return [worker for worker in self._workers if worker is not None]

    async def _keep(self, place: int, started: asyncio.Event) -> None:
        """Keep one place filled until the end."""
        while not self._stopping:
            began = time.monotonic()
            worker = await self._spawn()
            self._workers[place] = worker
            listening = asyncio.get_running_loop().create_task(worker.listen())
            await worker.channel.send(self._begin)
            await worker.until_it_serves(self._begin.number)
            started.set()
            status = await worker.process.wait()
            await listening
            await worker.channel.close()
            self._workers[place] = None
            mark_process_dead(worker.process.pid, self._counters)  # type: ignore[no-untyped-call]
            if not self._stopping:
                _LOG.error("worker %d ended (%s); another takes its place", worker.process.pid, _said(status))
                await asyncio.sleep(max(0.0, BREATH - (time.monotonic() - began)))

    async def _spawn(self) -> Worker:
        ours, theirs = socket.socketpair()
        descriptors = [theirs.fileno(), *(each.fileno() for each in self._sockets.sockets)]
        with theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tornado_proxy.service.worker",
                *map(str, descriptors),
                pass_fds=descriptors,
                env={**_environment(), "PROMETHEUS_MULTIPROC_DIR": self._counters},
            )
        return Worker(process, await Channel.over(ours))


def _environment() -> dict[str, str]:
    """The environment, without what the service manager said to its keeper alone."""
    private = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"}
    return {name: value for name, value in os.environ.items() if name not in private}


def _said(status: int) -> str:
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
