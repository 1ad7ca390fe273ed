"""A worker: serves what it is sent, says that its loop turns, and ends when told to or when nobody is left to tell it.

Run as `python -m tornado_proxy.service.worker PLACE CHANNEL SOCKET…`: its place among the workers, and the numbers of
the descriptors that it inherits.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Sequence

from prometheus_client import values

from tornado_proxy.service.channel import Beat, Begin, Channel, Put, Stop
from tornado_proxy.service.ending import end_process
from tornado_proxy.service.listening import named
from tornado_proxy.service.loading import compile_sources
from tornado_proxy.service.logs import configure_logging
from tornado_proxy.service.serving import Solo
from tornado_proxy.service.sources import Sources
from tornado_proxy.service.turns import in_short_turns

_LOG = logging.getLogger("tornado_proxy")

BEAT_EVERY = 0.5  # seconds


def main(arguments: Sequence[str]) -> None:
    """Work on the inherited descriptors."""
    place, *descriptors = (int(each) for each in arguments)
    end, *listening = (socket.socket(fileno=each) for each in descriptors)
    for taken in listening:
        taken.setblocking(False)
    # The process that keeps the workers hears of these, and tells them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # One set of counters for a place, not for each process that ever took it.
    values.ValueClass = values.MultiProcessValue(lambda: place)  # type: ignore[no-untyped-call]
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

    @property
    def _grace(self) -> float:
        """The grace period of the generation in force."""
        return self._loaded.settings.grace_period if self._loaded.settings else 0.0

    async def _beat(self) -> None:
        while await self._channel.send(self._news()):  # noqa: ASYNC110 - a beat waits for time alone
            await asyncio.sleep(BEAT_EVERY)

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
