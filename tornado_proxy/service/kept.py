"""A worker as its keeper sees it: a process, a channel to it, and what it said last."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import Mapping
from contextlib import suppress

from tornado_proxy.service.channel import Beat, Channel, Count, Counted, Message
from tornado_proxy.service.listening import Sockets
from tornado_proxy.telemetry.totals import Counts

_LOG = logging.getLogger("tornado_proxy")

TICK = 1.0  # seconds
LATELY = 5  # ticks without a beat, after which a worker no longer counts as one that answers
STUCK = 15  # the same, after which it is killed
STARTING = 120  # ticks that a worker may take before its first beat
COUNT_WITHIN = 1.0  # seconds after which a worker's counts of a while ago must do

_PRIVATE = frozenset({"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"})


class KeptWorker:
    """A worker's process. Time is counted in ticks of the keeper's loop: one that was stopped itself blames nobody."""

    def __init__(self, process: Process, channel: Channel, tick: float = TICK) -> None:
        self._process = process
        self._tick = tick
        self.channel = channel
        self.view: dict[str, object] = {"pid": process.pid}
        self.counts: Counts = ()  # what it told last
        self._tellings = 0  # how often it has told what it counted
        self._number = 0  # of the generation that it serves
        self._silent = 0  # ticks since its last beat
        self._changed = asyncio.Condition()
        self._gone = False
        loop = asyncio.get_running_loop()
        self._listening = loop.create_task(self._listen())
        self._watching = loop.create_task(self._watch())

    def __repr__(self) -> str:
        return f"<KeptWorker {self.pid}, generation {self._number}>"

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def answers(self) -> bool:
        """Whether it serves, and its loop has turned lately."""
        return self._number > 0 and not self._gone and self._silent < LATELY

    async def until_it_serves(self, number: int) -> bool:
        """Wait until it serves a generation, or is gone: whoever takes its place begins with the latest."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._gone or self._number >= number)
        return self._number >= number

    async def count(self) -> None:
        """Have it tell what it has counted; one that is busy has told it a few seconds ago."""
        before = self._tellings
        if await self.channel.send(Count()):
            with suppress(TimeoutError):
                async with asyncio.timeout(COUNT_WITHIN), self._changed:
                    await self._changed.wait_for(lambda: self._gone or self._tellings > before)

    async def ended(self) -> int:
        """Wait for the end of the process; its status, negative for a signal."""
        await self._listening
        return await self._process.wait()

    def kill(self) -> None:
        """End it at once."""
        if self._process.returncode is None:
            self._process.kill()

    async def close(self) -> None:
        """Let go of it; if it still runs, it is killed."""
        self.kill()
        for task in (self._listening, self._watching):
            task.cancel()
        await self._process.wait()
        await self.channel.close()

    async def _listen(self) -> None:
        while (message := await self.channel.receive()) is not None:
            async with self._changed:
                self._note(message)
                self._changed.notify_all()
        async with self._changed:
            self._gone = True
            self._changed.notify_all()

    def _note(self, message: Message) -> None:
        match message:
            case Beat(number, view):
                self.view, self._number, self._silent = dict(view), number, 0
            case Counted(counts):
                self.counts, self._tellings = counts, self._tellings + 1
            case _:
                _LOG.error("worker %d says what no worker says: %r", self.pid, message)

    async def _watch(self) -> None:
        while not self._gone:
            await asyncio.sleep(self._tick)
            self._silent += 1
            if self._silent >= (STUCK if self._number else STARTING):
                _LOG.error("worker %d is stuck, and is killed", self.pid)
                self.kill()
                return


async def spawn(sockets: Sockets) -> KeptWorker:
    """Start a worker; it waits to be told what to serve. Raises OSError where the system has none left."""
    ours, theirs = socket.socketpair()
    descriptors = [theirs.fileno(), *(each.fileno() for each in sockets.sockets)]
    with theirs:
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tornado_proxy.service.worker",
                *map(str, descriptors),
                pass_fds=descriptors,
                env=_environment(os.environ),
            )
        except BaseException:
            ours.close()
            raise
    return KeptWorker(process, await Channel.over(ours))


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment, without what the service manager said to the keeper alone."""
    return {name: value for name, value in environment.items() if name not in _PRIVATE}
