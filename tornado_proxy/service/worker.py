"""A worker process: serves the supervisor's snapshots, sends heartbeats, and ends with the supervisor.

Messages are pickled values over a socket pair, which nobody else has. Both ends are this program at the same version,
unless an upgrade has replaced it since the supervisor's start: a worker of another version can fail at any message, so
the first thing that it says is its version.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import signal
import socket
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from inspect import isawaitable
from typing import Any, Literal, cast

import msgspec

from tornado_proxy.service import runtime
from tornado_proxy.service.limits import HEARTBEAT_EVERY
from tornado_proxy.service.serving import SingleProcess
from tornado_proxy.service.snapshot import Snapshot, compile_snapshot
from tornado_proxy.telemetry.events import ObjectWritten
from tornado_proxy.telemetry.metrics import ProcessReport

_LOG = logging.getLogger("tornado_proxy")

VERSION = version("tornado-proxy")
"""The version that this process runs; later, another one may be installed."""

_LENGTH = struct.Struct("!Q")

Method = Literal["start", "activate", "report", "requests", "purge", "forget", "set_log_level", "stop"]


class Start(msgspec.Struct, frozen=True):
    """The argument of a worker's first call: the snapshot to serve."""

    number: int
    snapshot: Snapshot
    inherited: bool = False  # whether the service manager holds the sockets too
    log_level: str | None = None  # the one that an operator has set since the start of the service


class WorkerCall(msgspec.Struct, frozen=True):
    """To a worker: call one of its methods. `Result` has the same number."""

    number: int
    method: Method
    arguments: tuple[Any, ...]


class Result(msgspec.Struct, frozen=True):
    """From a worker: the result of a call."""

    number: int
    value: Any = None


class Hello(msgspec.Struct, frozen=True):
    """From a worker, before anything else: the version that it runs."""

    version: str


class Heartbeat(msgspec.Struct, frozen=True):
    """From a worker, every half second: its state, as JSON."""

    view: Mapping[str, object]


Message = WorkerCall | Result | Hello | Heartbeat | ObjectWritten | ProcessReport
"""A worker sends `ObjectWritten` for all others, and a `ProcessReport` at its end."""


class Channel:
    """One end of a socket pair, for messages."""

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
        """Sends a message without waiting; drops it if the other end has gone."""
        if not self._writer.is_closing():
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


def main() -> None:
    """Runs a worker's process; the arguments are an event loop, the descriptor of a channel, and listening sockets."""
    # They may be sent to all processes of the service; the supervisor heeds them.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    event_loop, *descriptors = sys.argv[1:]
    end, *listening = (socket.socket(fileno=int(each)) for each in descriptors)
    for each in (end, *listening):
        each.setblocking(False)
        each.set_inheritable(False)
    runtime.run_event_loop(_work(end, listening), cast("Literal['auto', 'asyncio', 'uvloop']", event_loop))
    runtime.end_process(0)


async def _work(end: socket.socket, listening: Sequence[socket.socket]) -> None:
    """Serves on sockets until the supervisor calls `stop` or is gone."""
    # A worker that is ended because a thread hangs does not wait for it.
    asyncio.get_running_loop().set_default_executor(runtime.DetachedExecutor(thread_name_prefix="worker"))
    channel = await Channel.over(end)
    await channel.send(Hello(VERSION))
    first = await channel.receive()
    if isinstance(first, WorkerCall):
        worker = _Worker(channel, *first.arguments)
        await worker.start(listening, first.number)
        await worker.run()
    await channel.close()


class _Worker:
    def __init__(self, channel: Channel, start: Start) -> None:
        configuration = compile_snapshot(start.snapshot)
        runtime.configure_logging(configuration.settings.log)
        if start.log_level is not None:
            runtime.set_log_level(start.log_level)
        self._channel = channel
        self._inherited = start.inherited
        self._serving = SingleProcess(configuration, number=start.number, spread=channel.post)
        # All other calls are methods of `SingleProcess`.
        self._methods: dict[str, Callable[..., Any]] = {
            "activate": self._activate,
            "stop": partial(self._end, is_last=True),
            "report": self._report,
        }

    async def start(self, listening: Sequence[socket.socket], number: int) -> None:
        """Begins to serve, and answers the call with this number."""
        loop = asyncio.get_running_loop()
        self._ending: asyncio.Future[tuple[float, bool]] = loop.create_future()  # the arguments of `_end`
        loop.add_signal_handler(signal.SIGTERM, lambda: self._end(self._grace))
        await self._serving.start(listening, inherited=self._inherited)
        await self._channel.send(self._heartbeat())
        await self._channel.send(Result(number, value=True))

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        # Heartbeats continue to the end, because a silent worker counts as stuck and would be killed with its
        # downloads. So do answers, because a reload waits for every worker.
        tasks = loop.create_task(self._beat()), loop.create_task(self._obey())
        grace, is_last = await self._ending
        await self._serving.wind_down(grace, leave_queue=self._inherited or not is_last)
        for task in tasks:
            task.cancel()
        await self._channel.send(await self._report())

    async def _report(self) -> ProcessReport:
        return await self._serving.report(has_metrics=True)

    def _end(self, grace: float, *, is_last: bool = False) -> None:
        """Has it finish its requests; `is_last` is true if all workers end."""
        if not self._ending.done():
            self._ending.set_result((grace, is_last))

    @property
    def _grace(self) -> float:
        return self._serving.configuration.settings.server.grace_period

    def _heartbeat(self) -> Heartbeat:
        return Heartbeat(*self._serving.workers())

    async def _beat(self) -> None:
        while True:
            if not await self._channel.send(self._heartbeat()):
                return
            await asyncio.sleep(HEARTBEAT_EVERY)

    async def _obey(self) -> None:
        while isinstance(call := await self._channel.receive(), WorkerCall):
            try:
                method = self._methods.get(call.method) or getattr(self._serving, call.method)
                value = method(*call.arguments)
                if isawaitable(value):
                    value = await value
            except Exception:  # noqa: BLE001 - a worker that cannot follow would serve something else than the others
                _LOG.exception("the call `%s` failed: this worker is replaced", call.method)
                value = None
                self._end(self._grace)
            await self._channel.send(Result(call.number, value))
        self._end(self._grace, is_last=True)

    async def _activate(self, number: int, snapshot: Snapshot) -> None:
        configuration = await runtime.in_background(compile_snapshot, snapshot, self._serving.configuration)
        await self._serving.activate(number, configuration)
        await self._channel.send(self._heartbeat())
