"""The admin listener answers though no descriptor is free."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from tornado_proxy.admin.listener import AdminServer

REQUEST = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"


class _Page(RequestHandler):
    """A page with a fixed body."""

    def get(self) -> None:
        self.finish("here")


@asynccontextmanager
async def _listening():
    server = AdminServer(Application([("/", _Page)]))
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    try:
        yield sockets[0].getsockname()
    finally:
        server.stop()
        await server.close_all_connections()


@contextmanager
def _no_descriptor_left():
    """Open files until no descriptor is free."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The limit is on numbers: every number below it must be taken.
    highest = max(int(entry.name) for entry in Path("/proc/self/fd").iterdir())
    opened = []
    while (number := os.open(os.devnull, os.O_RDONLY)) <= highest:
        opened.append(number)
    os.close(number)
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            os.open(os.devnull, os.O_RDONLY)
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in opened:
            os.close(descriptor)


async def _status_line(client: socket.socket, address: object) -> bytes:
    """Connects a client, sends a request, and returns the status line of the answer."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(5):
        await loop.sock_connect(client, address)
        await loop.sock_sendall(client, REQUEST)
        return (await loop.sock_recv(client, 65536))[:15]


@contextmanager
def _clients(count: int) -> Iterator[list[socket.socket]]:
    """Sockets for clients, created while descriptors are free."""
    with ExitStack() as opened:
        clients = [opened.enter_context(socket.socket()) for _ in range(count)]
        for client in clients:
            client.setblocking(False)
        yield clients


async def test_requests_are_answered_without_free_descriptors():
    """Connections use reserved descriptors, which are reserved again after each connection."""
    with _clients(24) as clients:
        async with _listening() as address:
            with _no_descriptor_left():
                for client in clients:
                    assert await _status_line(client, address) == b"HTTP/1.1 200 OK"
                    # Closing the socket would free a descriptor; shutting it down does not.
                    client.shutdown(socket.SHUT_RDWR)
                    await _wait_until_none_is_free()


async def _wait_until_none_is_free() -> None:
    async with asyncio.timeout(5):
        while True:
            try:
                os.close(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                return
            await asyncio.sleep(0.01)


def _open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_reserved_descriptors_are_closed():
    """A listener closes its reserved descriptors when it stops."""
    before = _open_descriptors()
    async with _listening():
        assert _open_descriptors() > before + 1
    assert _open_descriptors() == before


async def test_more_connections_than_reserved_wait(caplog):
    """Connections beyond the reserve are answered once descriptors are free, and the log has the reason."""
    with _clients(9) as clients:
        async with _listening() as address:
            with _no_descriptor_left():
                answers = [asyncio.ensure_future(_status_line(client, address)) for client in clients]
                answered = asyncio.as_completed(answers)
                for _ in range(8):
                    await next(answered)
                _, waiting = await asyncio.wait(answers, timeout=0.3)
                assert len(waiting) == 1
            assert {await answer for answer in answers} == {b"HTTP/1.1 200 OK"}
    assert set(caplog.messages) == {"connections to the admin listener cannot be accepted: Too many open files"}
