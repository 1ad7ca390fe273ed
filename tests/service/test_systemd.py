"""Messages to systemd over a real datagram socket, its watchdog, and its sockets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from tornado_proxy.service.sockets import Notifier, inherited_sockets, watchdog_period


@pytest.fixture
def manager(tmp_path):
    """A service manager's end of NOTIFY_SOCKET."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(10)
        yield listening


def _told(manager) -> list[str]:
    return manager.recv(4096).decode().split("\n")


def test_ready_is_reported_with_a_status(manager):
    """READY=1 comes with the line for `systemctl status`."""
    Notifier(manager.getsockname()).ready("generation 1")
    assert _told(manager) == ["READY=1", "STATUS=generation 1"]


def test_a_reload_carries_the_time_it_began(manager):
    """RELOADING=1 comes with MONOTONIC_USEC in the same message, as Type=notify-reload needs."""
    before = time.monotonic_ns() // 1000
    Notifier(manager.getsockname()).reloading()
    first, second = _told(manager)
    assert first == "RELOADING=1"
    assert before <= int(second.removeprefix("MONOTONIC_USEC=")) <= time.monotonic_ns() // 1000


def test_the_end_asks_for_its_time(manager):
    """Stopping comes with the time that the last requests may take."""
    Notifier(manager.getsockname()).stopping("finishing", 2.5)
    assert _told(manager) == ["STOPPING=1", "EXTEND_TIMEOUT_USEC=2500000", "STATUS=finishing"]


def test_the_watchdog_has_a_message_of_its_own(manager):
    """WATCHDOG=1 keeps it quiet for another period."""
    Notifier(manager.getsockname()).alive()
    assert _told(manager) == ["WATCHDOG=1"]


def test_a_status_stays_one_line(manager):
    """Line ends in an error cannot smuggle in another field."""
    Notifier(manager.getsockname()).status("bad\nREADY=1\n" + "x" * 1000)
    (line,) = _told(manager)
    assert line.startswith("STATUS=bad READY=1 xxx")
    assert line.endswith("…")


def test_abstract_addresses_are_understood():
    """A NOTIFY_SOCKET that begins with `@` is in the abstract namespace."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"\0tornado-proxy-test-{os.getpid()}")
        listening.settimeout(10)
        Notifier(f"@tornado-proxy-test-{os.getpid()}").alive()
        assert _told(listening) == ["WATCHDOG=1"]


def test_without_a_manager_nothing_happens():
    """A service that was started by hand sends nothing."""
    Notifier().ready("quiet")


def test_a_manager_that_does_not_read_is_not_waited_for(manager):
    """The event loop goes on when the queue of the manager is full."""
    notifier = Notifier(manager.getsockname())
    sending = threading.Thread(target=lambda: [notifier.alive() for _ in range(5000)], daemon=True)
    sending.start()
    sending.join(10)
    assert not sending.is_alive()


def test_a_manager_that_has_gone_is_no_reason_to_stop(tmp_path):
    """A dead NOTIFY_SOCKET raises nothing."""
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
def test_the_watchdog_period_is_for_the_process_it_names(environment, period):
    """WATCHDOG_USEC counts for WATCHDOG_PID only."""
    assert watchdog_period(environment, pid=7) == period


_CHILD = """
import os, sys
from tornado_proxy.service.sockets import inherited_sockets
for number, given in enumerate(sys.argv[1:], start=3):
    os.dup2(int(given), number)
environment = {**os.environ, "LISTEN_PID": str(os.getpid())}
for name, sockets in inherited_sockets(environment, os.getpid()).items():
    for one in sockets:
        print(name, one.getsockname()[1], os.get_inheritable(one.fileno()), one.getblocking())
"""


def test_sockets_are_taken_over_by_name():
    """Descriptors from 3 on become listening sockets under their names; they do not block, and are not handed on."""
    environment = {**os.environ, "LISTEN_FDS": "2", "LISTEN_FDNAMES": "http"}
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        given = [one.fileno(), other.fileno()]
        command = [sys.executable, "-c", _CHILD, *map(str, given)]
        result = subprocess.run(command, env=environment, pass_fds=given, capture_output=True, text=True, check=True)
        ports = [one.getsockname()[1], other.getsockname()[1]]
    assert result.stdout.splitlines() == [f"http {ports[0]} False False", f"unknown {ports[1]} False False"]


def test_sockets_of_another_process_are_left_alone():
    """LISTEN_FDS counts for LISTEN_PID only."""
    assert inherited_sockets({"LISTEN_FDS": "1", "LISTEN_PID": "8"}, pid=7) == {}
