"""The life of a serving process: sockets, the first generation, signals, and an end that loses no request."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass

from tornado.netutil import bind_sockets

from tornado_proxy.config.model import Listener, Settings
from tornado_proxy.gateway.application import Gateway
from tornado_proxy.gateway.server import Server
from tornado_proxy.service.building import Workshop
from tornado_proxy.service.live import Live
from tornado_proxy.service.loading import Loaded
from tornado_proxy.telemetry.access_log import AccessLog, LogForm
from tornado_proxy.telemetry.bus import Bus
from tornado_proxy.telemetry.service_log import service_log

_LOG = logging.getLogger("tornado_proxy")


class CannotListen(Exception):
    """An address that cannot be listened on; the text names it and says why."""


@dataclass(frozen=True, slots=True)
class Sockets:
    """The listening sockets of a process, and the URL that people can use."""

    sockets: tuple[socket.socket, ...]
    url: str


def open_sockets(listener: Listener) -> Sockets:
    """Listen on an address; raises `CannotListen`."""
    try:
        sockets = bind_sockets(listener.port, listener.address, backlog=1024)
    except OSError as error:
        raise CannotListen(f"cannot listen on {listener.address}:{listener.port}: {error.strerror or error}") from error
    host, port = sockets[0].getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return Sockets(tuple(sockets), f"http://{shown}:{port}")


async def serve(loaded: Loaded, sockets: Sockets, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT, then finish what runs within the grace period.

    `announce` gets the URL once requests are answered. Raises what `Workshop.build` raises.
    """
    settings = loaded.settings
    assert settings is not None
    bus = Bus([service_log, AccessLog(LogForm(settings.log.format))])
    workshop = Workshop.open(settings)
    live = Live(workshop.build(settings, loaded.rule_sets), bus.tell)
    server = Server(Gateway(live.current, bus.tell), settings.limits)
    server.add_sockets(sockets.sockets)
    announce(sockets.url)
    try:
        await _until_told_to_stop()
    finally:
        await _wind_down(server, live, settings)
        await workshop.close()


async def _until_told_to_stop() -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()


async def _wind_down(server: Server, live: Live, settings: Settings) -> None:
    _LOG.info("stopping: requests that run have %g s to end", settings.grace_period)
    await server.shut_down(settings.grace_period)
    await live.close()
