"""A worker process: serves what the supervisor sends, reports that its loop turns, and ends with the supervisor.

Messages are pickled values over a socket pair: both ends are this program at the same version, and nobody else has the
socket.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import signal
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tornado_proxy.service.generations import Purge
from tornado_proxy.service.logs import configure_logging, set_log_level
from tornado_proxy.service.runtime import end_process, in_background, run_event_loop
from tornado_proxy.service.serving import SingleProcess
from tornado_proxy.service.snapshot import Snapshot, compile_snapshot
from tornado_proxy.service.sockets import named
from tornado_proxy.telemetry.events import ObjectWritten
from tornado_proxy.telemetry.metrics import ProcessReport

_LOG = logging.getLogger("tornado_proxy")

HEARTBEAT_EVERY = 0.5  # seconds

_LENGTH = struct.Struct("!Q")


@dataclass(frozen=True, slots=True)
class Start:
    """To a worker, once: the first snapshot to serve; `inherited` is true if the service manager holds the sockets too.

    `log_level` is the one that an operator has set since the start of the service.
    """

    number: int
    snapshot: Snapshot
    inherited: bool = False
    log_level: str | None = None


@dataclass(frozen=True, slots=True)
class Activate:
    """To a worker: put this snapshot in force."""

    number: int
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Stop:
    """To a worker: accept no more, finish running requests within `grace` seconds, and end."""

    grace: float


@dataclass(frozen=True, slots=True)
class SendCounts:
    """To a worker: send the counts."""


@dataclass(frozen=True, slots=True)
class SetLogLevel:
    """To a worker: log what is at least as severe."""

    level: str


@dataclass(frozen=True, slots=True)
class PurgeCaches:
    """To a worker: have the caches forget, and answer with the number of the message."""

    number: int
    order: Purge


@dataclass(frozen=True, slots=True)
class Purged:
    """From a worker: how many objects its caches forgot."""

    number: int
    objects: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """From a worker: its loop turns, with its generation and state; also answers `Start` and `Activate`."""

    number: int
    view: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class WorkerCounts:
    """From a worker: everything it has counted so far."""

    report: ProcessReport = field(repr=False)


Message = (
    Start | Activate | Stop | SendCounts | SetLogLevel | PurgeCaches | Purged | ObjectWritten | Heartbeat | WorkerCounts
)
"""`ObjectWritten` goes both ways: from the worker that wrote, and to all others."""


class Channel:
    """One end of a socket pair."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> Channel:
        """The channel over a connected socket, which it takes over."""
        return cls(*await asyncio.open_connection(sock=end))

    async def send(self, message: Message) -> bool:
        """Sends a message; returns false if the other end has gone."""
        self.post(message)
        try:
            await self._writer.drain()
        except ConnectionError:
            return False
        return True

    def post(self, message: Message) -> None:
        """Sends a message, without waiting for the other end to take it."""
        data = pickle.dumps(message)
        self._writer.write(_LENGTH.pack(len(data)) + data)

    async def receive(self) -> Message | None:
        """The next message; None if the other end has gone."""
        try:
            (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            data = await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        message: Message = pickle.loads(data)  # noqa: S301 - from the other half of this program
        return message

    async def close(self) -> None:
        """Closes this end."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return


def work_on(event_loop: Literal["auto", "asyncio", "uvloop"], sockets: Sequence[socket.socket]) -> None:
    """The life of a worker's process; the first socket is its channel, the others are listening."""
    end, *listening = sockets
    for taken in listening:
        taken.setblocking(False)
    run_event_loop(_work(end, listening), event_loop)
    end_process(0)


async def _work(end: socket.socket, listening: Sequence[socket.socket]) -> None:
    """Serves on sockets what comes over a channel, until its other end sends `Stop` or is gone."""
    channel = await Channel.over(end)
    start = await channel.receive()
    if isinstance(start, Start):
        await _Worker(channel, start).run(listening)
    await channel.close()


class _Worker:
    """A worker from its first message to its last."""

    def __init__(self, channel: Channel, start: Start) -> None:
        self._loaded = compile_snapshot(start.snapshot)
        assert self._loaded.settings is not None
        configure_logging(self._loaded.settings.log)
        if start.log_level is not None:
            set_log_level(start.log_level)
        self._channel = channel
        self._inherited = start.inherited
        self._serving = SingleProcess(self._loaded, number=start.number, spread=channel.post)

    async def run(self, listening: Sequence[socket.socket]) -> None:
        """Serves until the end."""
        loop = asyncio.get_running_loop()
        terminated = asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, terminated.set)
        await self._serving.start(named(listening))
        beating, obeying = loop.create_task(self._beat()), loop.create_task(self._obey())
        ended = loop.create_task(terminated.wait())
        await asyncio.wait({obeying, ended}, return_when=asyncio.FIRST_COMPLETED)
        grace, is_last = obeying.result() if obeying.done() else (self._grace, False)
        for task in (beating, obeying, ended):
            task.cancel()
        await self._serving.wind_down(grace, leave_queue=self._inherited or not is_last)
        await self._channel.send(self._counts())

    @property
    def _grace(self) -> float:
        """The grace period of the generation in force."""
        return self._loaded.settings.server.grace_period if self._loaded.settings else 0.0

    async def _beat(self) -> None:
        while True:
            if not await self._channel.send(self._heartbeat()):
                return
            await asyncio.sleep(HEARTBEAT_EVERY)

    def _counts(self) -> WorkerCounts:
        return WorkerCounts(self._serving.report())

    def _heartbeat(self) -> Heartbeat:
        return Heartbeat(self._serving.number, self._serving.view())

    async def _obey(self) -> tuple[float, bool]:
        """Follows messages until it is time to stop; returns the grace period, and whether all workers stop."""
        while True:
            match await self._channel.receive():
                case Activate(number, snapshot):
                    try:
                        await self._activate(number, snapshot)
                    except Exception:  # noqa: BLE001 - a worker that cannot follow would serve another generation
                        _LOG.exception("this worker cannot load generation %d and is replaced", number)
                        return self._grace, False
                case SendCounts():
                    await self._channel.send(self._counts())
                case SetLogLevel(level):
                    set_log_level(level)
                case PurgeCaches(number, order):
                    await self._channel.send(Purged(number, await self._serving.purge(order)))
                case ObjectWritten() as written:
                    self._serving.forget(written)
                case Stop(grace):
                    return grace, True
                case _:
                    return self._grace, True

    async def _activate(self, number: int, snapshot: Snapshot) -> None:
        loaded = await asyncio.to_thread(in_background, compile_snapshot, snapshot, self._loaded)
        await self._serving.activate(number, loaded)
        self._loaded = loaded
        await self._channel.send(self._heartbeat())
