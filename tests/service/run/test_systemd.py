"""Messages to systemd over a real datagram socket, its watchdog, and its sockets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from tornado_proxy.service.run.sockets import inherited_sockets
from tornado_proxy.service.run.systemd import Notifier, watchdog_period


@pytest.fixture
def manager(tmp_path):
    """The socket of a service manager that receives messages."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(10)
        yield listening


def _message(manager) -> list[str]:
    return manager.recv(4096).decode().split("\n")


def test_ready_is_reported_with_a_status(manager):
    """READY=1 is sent with the status line of `systemctl status`."""
    Notifier(manager.getsockname()).ready("generation 1")
    assert _message(manager) == ["READY=1", "STATUS=generation 1"]


def test_a_reload_is_reported_with_its_start(manager):
    """RELOADING=1 is sent with MONOTONIC_USEC in one message, as Type=notify-reload requires."""
    before = time.monotonic_ns() // 1000
    Notifier(manager.getsockname()).reloading()
    first, second = _message(manager)
    assert first == "RELOADING=1"
    assert before <= int(second.removeprefix("MONOTONIC_USEC=")) <= time.monotonic_ns() // 1000


def test_stopping_extends_the_timeout(manager):
    """STOPPING=1 is sent with the time that the last requests may take."""
    Notifier(manager.getsockname()).stopping("finishing", 2.5)
    assert _message(manager) == ["STOPPING=1", "EXTEND_TIMEOUT_USEC=2500000", "STATUS=finishing"]


def test_the_watchdog_message_is_sent_alone(manager):
    """`alive` sends only WATCHDOG=1."""
    Notifier(manager.getsockname()).alive()
    assert _message(manager) == ["WATCHDOG=1"]


def test_a_status_is_one_line(manager):
    """Line ends in a status are replaced, so that a status cannot add a field, and a long status is shortened."""
    Notifier(manager.getsockname()).status("bad\nREADY=1\n" + "x" * 1000)
    (line,) = _message(manager)
    assert line.startswith("STATUS=bad READY=1 xxx")
    assert line.endswith("…")


def test_abstract_addresses_are_supported():
    """A NOTIFY_SOCKET that begins with `@` is in the abstract namespace."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"\0tornado-proxy-test-{os.getpid()}")
        listening.settimeout(10)
        Notifier(f"@tornado-proxy-test-{os.getpid()}").alive()
        assert _message(listening) == ["WATCHDOG=1"]


def test_without_a_manager_nothing_is_sent():
    """A notifier without an address sends nothing and raises no error."""
    Notifier().ready("quiet")


def test_a_full_queue_does_not_block(manager):
    """If the manager does not read, messages are dropped instead of blocking the event loop."""
    notifier = Notifier(manager.getsockname())
    sending = threading.Thread(target=lambda: [notifier.alive() for _ in range(5000)], daemon=True)
    sending.start()
    sending.join(10)
    assert not sending.is_alive()


def test_a_missing_manager_is_ignored(tmp_path):
    """A NOTIFY_SOCKET that does not exist raises no error."""
    Notifier(str(tmp_path / "nobody")).ready("generation 1")


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
    """WATCHDOG_USEC applies only to the process WATCHDOG_PID."""
    assert watchdog_period(environment, pid=7) == period


_CHILD = """
import os, sys
from tornado_proxy.service.run.sockets import inherited_sockets
for number, descriptor in enumerate(sys.argv[1:], start=3):
    os.dup2(int(descriptor), number)
environment = {**os.environ, "LISTEN_PID": str(os.getpid())}
for name, sockets in inherited_sockets(environment, os.getpid()).items():
    for sock in sockets:
        print(name, sock.getsockname()[1], os.get_inheritable(sock.fileno()), sock.getblocking())
"""


def test_inherited_sockets_have_names():
    """Inherited sockets have their configured names, do not block, and are not passed to children."""
    environment = {**os.environ, "LISTEN_FDS": "2", "LISTEN_FDNAMES": "http"}
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        descriptors = [first.fileno(), second.fileno()]
        command = [sys.executable, "-c", _CHILD, *map(str, descriptors)]
        result = subprocess.run(
            command, env=environment, pass_fds=descriptors, capture_output=True, text=True, check=True
        )
        ports = [first.getsockname()[1], second.getsockname()[1]]
    assert result.stdout.splitlines() == [f"http {ports[0]} False False", f"unknown {ports[1]} False False"]


def test_sockets_of_another_process_are_ignored():
    """LISTEN_FDS applies only to the process LISTEN_PID."""
    assert inherited_sockets({"LISTEN_FDS": "1", "LISTEN_PID": "8"}, pid=7) == {}
