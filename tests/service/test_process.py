"""The process: what it tells those who watch it; its life as a whole stands in tests/end_to_end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import pytest
from files import Files
from tornado.httpclient import AsyncHTTPClient

from tornado_proxy.config.server import Listener
from tornado_proxy.service.process import Launch, Process
from tornado_proxy.service.sockets import Notifier, open_sockets
from tornado_proxy.telemetry.metrics import ProcessReport


@dataclass
class _Workers:
    """Serving whose workers come and go."""

    serves: bool = True
    responds: bool = True

    async def start(self, _sockets) -> None:
        """Serve."""

    def is_serving(self) -> bool:
        """Whether there is a worker."""
        return self.serves

    def is_responsive(self) -> bool:
        """Whether none is stuck."""
        return self.responds

    async def probe(self) -> list[object]:
        """Probe no bucket."""
        return []

    async def report(self) -> ProcessReport:
        """Nothing was done."""
        return ProcessReport()

    async def wind_down(self, _grace) -> None:
        """End."""


@pytest.fixture
def files(tmp_path):
    """The files of a service."""
    return Files.create(tmp_path)


@asynccontextmanager
async def _running(files: Files, serving: _Workers, notifier: Notifier | None = None):
    """Runs a process; gives the URL of its admin listener."""
    begun: asyncio.Queue[str] = asyncio.Queue()
    sockets, admin = (open_sockets(Listener("127.0.0.1", 0)) for _ in range(2))
    launch = Launch(
        files.load(), sockets, admin, files.read, lambda _url, admin: begun.put_nowait(admin), notifier or Notifier()
    )
    running = asyncio.get_running_loop().create_task(Process(launch, serving).run())
    try:
        yield await begun.get()
    finally:
        signal.raise_signal(signal.SIGTERM)
        await running
        sockets.close()


async def test_a_process_without_a_worker_is_not_ready(files):
    """A load balancer sends its requests elsewhere until a worker is back."""
    serving, client, found = _Workers(), AsyncHTTPClient(force_instance=True), []
    async with _running(files, serving) as admin:
        for serves in (True, False):
            serving.serves = serves
            answer = await client.fetch(f"{admin}/-/ready", raise_error=False)
            found.append(answer.code)
    client.close()
    assert found == [200, 503]


async def test_the_watchdog_is_fed_while_all_workers_respond(files, tmp_path, monkeypatch):
    """Three times in its period; the service manager restarts a service that it hears nothing of."""
    monkeypatch.setenv("WATCHDOG_USEC", "30000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    serving, loop = _Workers(), asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.setblocking(False)
        async with _running(files, serving, Notifier(manager.getsockname())), asyncio.timeout(10):
            while (await loop.sock_recv(manager, 4096)) != b"WATCHDOG=1":
                pass
            assert await loop.sock_recv(manager, 4096) == b"WATCHDOG=1"
            serving.responds = False
            with suppress(BlockingIOError):
                while manager.recv(4096):
                    pass
            await asyncio.sleep(0.1)
            with pytest.raises(BlockingIOError):
                manager.recv(4096)
