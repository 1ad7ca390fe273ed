"""A worker: serves what it is sent, says that its loop turns, and ends when told to or when nobody is left to tell it.

Run as `python -m tornado_proxy.service.worker CHANNEL SOCKET…`, each the number of an inherited descriptor.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Sequence

from tornado_proxy.service.channel import Beat, Begin, Channel, Put, Stop
from tornado_proxy.service.listening import named
from tornado_proxy.service.loading import compile_sources
from tornado_proxy.service.logs import configure_logging
from tornado_proxy.service.serving import Solo

BEAT_EVERY = 0.5  # seconds


def main(arguments: Sequence[str]) -> None:
    """Work on the inherited descriptors."""
    end, *listening = (socket.socket(fileno=int(each)) for each in arguments)
    for taken in listening:
        taken.setblocking(False)
    # The process that keeps the workers hears of these, and tells them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    asyncio.run(_work(end, listening))


async def _work(end: socket.socket, listening: Sequence[socket.socket]) -> None:
    channel = await Channel.over(end)
    begin = await channel.receive()
    if not isinstance(begin, Begin):
        return
    loaded = compile_sources(begin.sources)
    assert loaded.settings is not None
    configure_logging(loaded.settings.log)
    serving = Solo(loaded, named(listening), number=begin.number, name_generation=begin.name_generation)
    await serving.start()
    beating = asyncio.get_running_loop().create_task(_beat(channel, serving))
    grace = await _until_told_to_stop(channel, serving)
    beating.cancel()
    await serving.wind_down(loaded.settings.grace_period if grace is None else grace)
    await channel.close()


async def _beat(channel: Channel, serving: Solo) -> None:
    while True:
        await channel.send(Beat(serving.view()))
        await asyncio.sleep(BEAT_EVERY)


async def _until_told_to_stop(channel: Channel, serving: Solo) -> float | None:
    """The grace that was given, or None where there is nobody any more to give one, or a signal came first."""
    terminated = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminated.set)
    ended = asyncio.get_running_loop().create_task(terminated.wait())
    while True:
        heard = asyncio.get_running_loop().create_task(channel.receive())
        await asyncio.wait({heard, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not heard.done():
            heard.cancel()
            return None
        match heard.result():
            case Put(number, sources):
                await serving.put(number, await asyncio.to_thread(compile_sources, sources), sources)
                await channel.send(Beat(serving.view()))
            case Stop(grace):
                ended.cancel()
                return grace
            case _:
                ended.cancel()
                return None


if __name__ == "__main__":
    main(sys.argv[1:])
