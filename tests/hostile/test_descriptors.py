"""A service without free file descriptors, because its clients use them all."""

from __future__ import annotations

import resource
import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from administering import eventually, service


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["one process", "workers"])
def test_the_admin_listener_answers_without_free_descriptors(tmp_path, options):
    """Health, readiness, status and metrics are answered repeatedly while no file descriptor is free."""
    with service(tmp_path, *options) as (proxy, admin), ExitStack() as stack:
        pids = [proxy.process.pid, *(worker["pid"] for worker in admin.status()["workers"])]
        for pid in set(pids):
            limit = len([*Path(f"/proc/{pid}/fd").iterdir()]) + 20
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, limit))
        url = urlsplit(proxy.url)
        for _ in range(100):
            client = stack.enter_context(socket.create_connection((url.hostname, url.port)))
            client.sendall(b"GET /x HTTP/1.1\r\n")
        eventually(lambda: any("Too many open files" in line for line in proxy.lines))
        for _ in range(20):
            assert [admin.request("GET", path)[0] for path in ("/-/healthy", "/-/ready", "/-/status", "/metrics")] == [
                200
            ] * 4
