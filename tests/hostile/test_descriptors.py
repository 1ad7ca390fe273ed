"""A service without free file descriptors, because its clients use them all."""

import resource
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest
from administering import eventually, service


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["one process", "workers"])
def test_the_admin_listener_answers_without_free_descriptors(tmp_path, options):
    """Health, status, metrics and pages are answered repeatedly while no descriptor is free, and never were before."""
    with service(tmp_path, *options) as (proxy, admin), ExitStack() as stack:
        pids = [proxy.process.pid, *(worker["pid"] for worker in admin.status()["workers"])]
        for pid in set(pids):
            _leave_descriptors(pid, 20)
        _use_all_descriptors(proxy, stack)
        paths = "/-/healthy", "/-/ready", "/-/status", "/metrics", "/-/", "/-/draft", "/-/?method=GET&path=/x"
        for _ in range(20):
            assert [admin.request("GET", path)[0] for path in paths] == [200] * len(paths)
        assert not [line for line in proxy.lines if "Traceback" in line or "could not be explained" in line]


def test_the_first_page_of_a_client_needs_no_free_descriptor(tmp_path):
    """What an error page needs is loaded with the descriptor that is kept for that."""
    with service(tmp_path) as (proxy, admin), ExitStack() as stack:
        eventually(lambda: admin.request("GET", "/-/ready")[0] == 200)  # until then threads load what follows edits
        first = stack.enter_context(socket.create_connection(proxy.address, timeout=60))
        first.sendall(b"DELETE /x HTTP/1.1\r\nHost: files.example\r\nAccept: text/html\r\n")
        _leave_descriptors(proxy.process.pid, 20)
        _use_all_descriptors(proxy, stack)
        first.sendall(b"Connection: close\r\n\r\n")
        answer = b"".join(iter(lambda: first.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 405 ")
        assert b"</html>" in answer


def _leave_descriptors(pid, count):
    limit = len([*Path(f"/proc/{pid}/fd").iterdir()]) + count
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, limit))


def _use_all_descriptors(proxy, stack):
    for _ in range(100):
        client = stack.enter_context(socket.create_connection(proxy.address))
        client.sendall(b"GET /x HTTP/1.1\r\n")
    eventually(lambda: any("Too many open files" in line for line in proxy.lines))
