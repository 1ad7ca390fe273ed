"""The process: readiness, the watchdog, and messages to the service manager; tests/end_to_end runs it as a whole."""

import asyncio
import os
import signal
import socket
import threading
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

import pytest
from files import CONFIGURATION, Files
from forking import run_forked
from in_force import RecordingServing
from tornado.httpclient import AsyncHTTPClient

from tornado_proxy.admin.application import admin_listener
from tornado_proxy.config.server import Listener
from tornado_proxy.service import process
from tornado_proxy.service.process import Launch, Notifier, Process, inherited_sockets, open_sockets, watchdog_period


@dataclass
class _FakeServing(RecordingServing):
    """Serving with settable states of its workers."""

    serves: bool = True
    responds: bool = True
    can_end: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.can_end.set()

    def responsive(self) -> list[bool]:
        """One worker that serves or not, and one that responds or not."""
        return [self.serves, self.serves and self.responds]

    async def wind_down(self, _grace) -> None:
        """Wait until the last request can end."""
        await self.can_end.wait()


@pytest.fixture
def files(tmp_path):
    """The files of a service that probes no buckets."""
    files = Files.create(tmp_path)
    files.configure(f"{CONFIGURATION}s3: {{probeInterval: 0}}\n")
    return files


@dataclass
class _Manager:
    """The socket of a service manager that receives messages."""

    socket: socket.socket

    @property
    def notifier(self) -> Notifier:
        """A notifier that sends to this socket."""
        return Notifier(self.socket.getsockname())

    async def receive(self, prefix: str = "") -> list[str]:
        """Wait for a message with a prefix; returns its lines."""
        while True:
            message = (await asyncio.get_running_loop().sock_recv(self.socket, 4096)).decode()
            if message.startswith(prefix):
                return message.split("\n")


@pytest.fixture
def inbox(tmp_path):
    """The socket of a service manager that receives messages."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(10)
        yield listening


@pytest.fixture
def manager(inbox):
    """A service manager, as coroutines see it."""
    inbox.setblocking(False)
    return _Manager(inbox)


@asynccontextmanager
async def _running(files: Files, serving: _FakeServing, notifier: Notifier | None = None):
    """Runs a process; yields the URL of its admin listener."""
    started: asyncio.Queue[str] = asyncio.Queue()
    sockets, admin = (open_sockets(Listener("127.0.0.1", 0)) for _ in range(2))
    launch = Launch(
        sockets,
        files.read,
        partial(admin_listener, sockets=admin.sockets),
        lambda: started.put_nowait(admin.url),
        notifier or Notifier(),
    )
    running = asyncio.get_running_loop().create_task(Process(launch, serving).run())
    try:
        yield await started.get()
    finally:
        serving.can_end.set()
        signal.raise_signal(signal.SIGTERM)
        await running
        for each in sockets.sockets:
            each.close()


async def test_a_stopping_process_is_not_ready(files):
    """`/-/ready` is a 503 during the shutdown, and the admin listener answers until its end."""
    serving, client = _FakeServing(files.load()), AsyncHTTPClient(force_instance=True)
    async with _running(files, serving) as admin:
        serving.can_end.clear()
        signal.raise_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            while (await client.fetch(f"{admin}/-/ready", raise_error=False)).code == 200:
                pass
        assert (await client.fetch(f"{admin}/-/healthy")).code == 200
    client.close()


async def test_watchdog_messages_need_responsive_workers(files, manager, monkeypatch):
    monkeypatch.setattr(process.limits, "FEEDS_A_PERIOD", 2000)
    monkeypatch.setenv("WATCHDOG_USEC", "60000000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    serving = _FakeServing(files.load())
    async with _running(files, serving, manager.notifier), asyncio.timeout(10):
        await manager.receive("WATCHDOG=1")
        assert await manager.receive() == ["WATCHDOG=1"]
        serving.responds = False
        with suppress(BlockingIOError):
            while manager.socket.recv(4096):
                pass
        await asyncio.sleep(0.1)
        with pytest.raises(BlockingIOError):
            manager.socket.recv(4096)


async def test_the_end_of_a_reload_is_reported(files, manager):
    """READY=1 follows RELOADING=1, for which `systemctl reload` waits; Type=notify-reload requires MONOTONIC_USEC."""
    before = time.monotonic_ns() // 1000
    async with _running(files, _FakeServing(files.load()), manager.notifier), asyncio.timeout(10):
        await manager.receive("READY=1")
        signal.raise_signal(signal.SIGHUP)
        _, since = await manager.receive("RELOADING=1")
        assert before <= int(since.removeprefix("MONOTONIC_USEC=")) <= time.monotonic_ns() // 1000
        assert await manager.receive() == ["READY=1", "STATUS=generation 1, 0 rewrites"]


async def test_a_refused_edit_is_a_status(files, manager):
    """The line for `systemctl status` has the place of the mistake."""
    async with _running(files, _FakeServing(files.load()), manager.notifier), asyncio.timeout(10):
        await manager.receive("READY=1")
        files.write("oops")
        (status,) = await manager.receive("STATUS=generation 1, 0 rewrites; an edit was refused")
        assert "site.rules:2:1: " in status


async def test_stopping_extends_the_timeout(files, manager):
    """EXTEND_TIMEOUT_USEC is longer than the grace period of the last edit."""
    async with _running(files, _FakeServing(files.load()), manager.notifier), asyncio.timeout(10):
        await manager.receive("READY=1")
        files.configure(files.configuration.read_text().replace("server: {port: 0}", "server: {gracePeriod: 7s}", 1))
        await manager.receive("STATUS=generation 2")
    async with asyncio.timeout(10):
        assert (await manager.receive("STOPPING=1"))[1] == "EXTEND_TIMEOUT_USEC=17000000"


def _message(inbox) -> list[str]:
    return inbox.recv(4096).decode().split("\n")


def test_a_status_is_one_line(inbox):
    Notifier(inbox.getsockname()).tell(status="bad\nREADY=1\n" + "x" * 1000)
    (line,) = _message(inbox)
    assert line.startswith("STATUS=bad READY=1 xxx")
    assert line.endswith("…")


def test_abstract_addresses_are_supported():
    """A NOTIFY_SOCKET that begins with `@` is in the abstract namespace."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"\0tornado-proxy-test-{os.getpid()}")
        listening.settimeout(10)
        Notifier(f"@tornado-proxy-test-{os.getpid()}").tell("WATCHDOG=1")
        assert _message(listening) == ["WATCHDOG=1"]


@pytest.mark.parametrize("address", ["", "{folder}/nobody"])
def test_a_missing_manager_is_ignored(tmp_path, address):
    Notifier(address.format(folder=tmp_path)).tell("READY=1", status="generation 1")


def test_a_full_queue_does_not_block(inbox):
    """If the manager does not read, messages are dropped instead of blocking the event loop."""
    notifier = Notifier(inbox.getsockname())
    sending = threading.Thread(target=lambda: [notifier.tell("WATCHDOG=1") for _ in range(5000)], daemon=True)
    sending.start()
    sending.join(10)
    assert not sending.is_alive()


@pytest.mark.parametrize(
    ("environment", "period"),
    [
        ({"WATCHDOG_USEC": "2000000"}, 2.0),
        ({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "7"}, 2.0),
        ({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_period_is_for_one_process(environment, period):
    assert watchdog_period(environment, pid=7) == period


_CHILD = """
import os
from tornado_proxy.service.process import inherited_sockets
environment = {**os.environ, "LISTEN_PID": str(os.getpid())}
for name, sockets in inherited_sockets(environment, os.getpid()).items():
    for sock in sockets:
        print(name, sock.getsockname()[1], os.get_inheritable(sock.fileno()), sock.getblocking())
"""


def test_inherited_sockets_have_names():
    environment = {**os.environ, "LISTEN_FDS": "2", "LISTEN_FDNAMES": "http"}
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        result = run_forked(_CHILD, environment=environment, listeners=[first.fileno(), second.fileno()])
        ports = [first.getsockname()[1], second.getsockname()[1]]
    assert result.stdout.splitlines() == [f"http {ports[0]} False False", f"unknown {ports[1]} False False"]


def test_sockets_of_another_process_are_ignored():
    """LISTEN_FDS applies only to the process LISTEN_PID."""
    assert inherited_sockets({"LISTEN_FDS": "1", "LISTEN_PID": "8"}, pid=7) == {}
