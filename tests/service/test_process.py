"""The process: what it tells those who watch it; its life as a whole stands in tests/end_to_end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest
from files import Files
from tornado.httpclient import AsyncHTTPClient

from tornado_proxy.config.server import Listener
from tornado_proxy.service import process
from tornado_proxy.service.process import Launch, Process
from tornado_proxy.service.sockets import Notifier, open_sockets
from tornado_proxy.telemetry.metrics import ProcessReport


@dataclass
class _Workers:
    """Serving whose workers come and go."""

    serves: bool = True
    responds: bool = True
    may_end: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.may_end.set()

    async def start(self, _sockets) -> None:
        """Serve."""

    def is_serving(self) -> bool:
        """Whether there is a worker."""
        return self.serves

    def is_responsive(self) -> bool:
        """Whether none is stuck."""
        return self.responds

    async def activate(self, _number, _loaded) -> None:
        """Serves another generation."""

    async def probe(self) -> list[object]:
        """Probe no bucket."""
        return []

    async def report(self) -> ProcessReport:
        """Nothing was done."""
        return ProcessReport()

    async def wind_down(self, _grace) -> None:
        """Ends when the last request may."""
        await self.may_end.wait()


@pytest.fixture
def files(tmp_path):
    """The files of a service."""
    return Files.create(tmp_path)


@dataclass
class _Manager:
    """A service manager's end of NOTIFY_SOCKET."""

    socket: socket.socket

    @property
    def notifier(self) -> Notifier:
        """What sends to it."""
        return Notifier(self.socket.getsockname())

    async def hears(self, beginning: str = "") -> list[str]:
        """Waits for a message with this beginning; returns its lines."""
        while True:
            message = (await asyncio.get_running_loop().sock_recv(self.socket, 4096)).decode()
            if message.startswith(beginning):
                return message.split("\n")


@pytest.fixture
def manager(tmp_path):
    """The service manager."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.setblocking(False)
        yield _Manager(listening)


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
        serving.may_end.set()
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


async def test_a_process_that_finishes_its_requests_is_not_ready(files):
    """A load balancer sends no more requests, and the admin listener answers until the end."""
    serving, client = _Workers(), AsyncHTTPClient(force_instance=True)
    async with _running(files, serving) as admin:
        serving.may_end.clear()
        signal.raise_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            while (await client.fetch(f"{admin}/-/ready", raise_error=False)).code == 200:
                pass
        assert (await client.fetch(f"{admin}/-/healthy")).code == 200
    client.close()


async def test_the_watchdog_is_fed_while_all_workers_respond(files, manager, monkeypatch):
    """Several times in its period; the service manager restarts a service that it hears nothing of."""
    monkeypatch.setattr(process, "FEEDS_A_PERIOD", 2000)
    monkeypatch.setenv("WATCHDOG_USEC", "60000000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    serving = _Workers()
    async with _running(files, serving, manager.notifier), asyncio.timeout(10):
        await manager.hears("WATCHDOG=1")
        assert await manager.hears() == ["WATCHDOG=1"]
        serving.responds = False
        with suppress(BlockingIOError):
            while manager.socket.recv(4096):
                pass
        await asyncio.sleep(0.1)
        with pytest.raises(BlockingIOError):
            manager.socket.recv(4096)


async def test_the_manager_hears_of_the_end_of_a_reload(files, manager):
    """`systemctl reload` waits from the message that it begins to the message that the service is ready."""
    async with _running(files, _Workers(), manager.notifier), asyncio.timeout(10):
        await manager.hears("READY=1")
        signal.raise_signal(signal.SIGHUP)
        await manager.hears("RELOADING=1")
        assert await manager.hears() == ["READY=1", "STATUS=generation 1, 0 rewrites"]


async def test_the_manager_shows_a_refused_edit(files, manager):
    """`systemctl status` has a line with the reason."""
    async with _running(files, _Workers(), manager.notifier), asyncio.timeout(10):
        await manager.hears("READY=1")
        files.write("oops")
        (status,) = await manager.hears("STATUS=generation 1, 0 rewrites; an edit was refused")
        assert "site.rules:2:1: " in status


async def test_the_manager_waits_longer_than_the_last_request_may_take(files, manager):
    """It would kill the process with its last requests; the grace period is that of the last edit."""
    async with _running(files, _Workers(), manager.notifier), asyncio.timeout(10):
        await manager.hears("READY=1")
        files.configure(files.configuration.read_text().replace("server: {port: 0}", "server: {gracePeriod: 7s}", 1))
        await manager.hears("STATUS=generation 2")
    async with asyncio.timeout(10):
        assert (await manager.hears("STOPPING=1"))[1] == "EXTEND_TIMEOUT_USEC=17000000"
