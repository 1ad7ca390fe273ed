"""A worker: serves what it is sent, says that its loop turns, and ends when told to or when nobody is left to tell it.

Run as `python -m tornado_proxy.service.worker CHANNEL SOCKET…`: the numbers of the descriptors that it inherits.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import signal
import socket
import sys
from collections.abc import Sequence

from tornado_proxy.service.channel import Beat, Begin, Channel, Count, Counted, Put, Stop
from tornado_proxy.service.ending import end_process
from tornado_proxy.service.listening import named
from tornado_proxy.service.loading import compile_sources
from tornado_proxy.service.logs import configure_logging
from tornado_proxy.service.serving import Solo
from tornado_proxy.service.sources import Sources
from tornado_proxy.service.turns import in_short_turns

_LOG = logging.getLogger("tornado_proxy")

BEAT_EVERY = 0.5  # seconds
COUNT_EVERY = 10  # beats, after which the keeper is told what was counted, asked or not


def main(arguments: Sequence[str]) -> None:
    """Work on the inherited descriptors."""
    end, *listening = (socket.socket(fileno=int(each)) for each in arguments)
    for taken in listening:
        taken.setblocking(False)
    # The process that keeps the workers hears of these, and tells them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    asyncio.run(work(end, listening))


async def work(end: socket.socket, listening: Sequence[socket.socket]) -> None:
    """Serve on sockets what comes over a channel, until its other end says stop or is gone."""
    channel = await Channel.over(end)
    begin = await channel.receive()
    if isinstance(begin, Begin):
        await _Work(channel, begin).run(listening)
    await channel.close()


class _Work:
    """A worker from its first message to its last."""

    def __init__(self, channel: Channel, begin: Begin) -> None:
        self._loaded = compile_sources(begin.sources)
        assert self._loaded.settings is not None
        configure_logging(self._loaded.settings.log)
        self._channel = channel
        self._inherited = begin.inherited
        self._serving = Solo(self._loaded, number=begin.number, name_generation=begin.name_generation)

    async def run(self, listening: Sequence[socket.socket]) -> None:
        """Serve until the end."""
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
        await self._channel.send(self._counted())

    @property
    def _grace(self) -> float:
        """The grace period of the generation in force."""
        return self._loaded.settings.grace_period if self._loaded.settings else 0.0

    async def _beat(self) -> None:
        for beat in itertools.count(1):
            if not await self._channel.send(self._news()):
                return
            if beat % COUNT_EVERY == 0:
                await self._channel.send(self._counted())
            await asyncio.sleep(BEAT_EVERY)

    def _counted(self) -> Counted:
        return Counted(self._serving.counts())

    def _news(self) -> Beat:
        return Beat(self._serving.number, self._serving.view())

    async def _obey(self) -> tuple[float, bool]:
        """Put in force what comes, until it is time to stop: with which grace, and whether all workers do."""
        while True:
            match await self._channel.receive():
                case Put(number, sources):
                    try:
                        await self._put(number, sources)
                    except Exception:  # noqa: BLE001 - whatever it is, this worker serves what the others do not
                        _LOG.exception("generation %d cannot be taken over, so that another worker must", number)
                        return self._grace, False
                case Count():
                    await self._channel.send(self._counted())
                case Stop(grace):
                    return grace, True
                case _:
                    return self._grace, True

    async def _put(self, number: int, sources: Sources) -> None:
        loaded = await asyncio.to_thread(in_short_turns, compile_sources, sources, self._loaded)
        await self._serving.put(number, loaded, sources)
        self._loaded = loaded
        await self._channel.send(self._news())


if __name__ == "__main__":
    main(sys.argv[1:])
    end_process(0)
