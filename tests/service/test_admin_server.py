"""The admin listener answers in a process that may open no more files."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from coroutines import run
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from tornado_proxy.service.admin_server import AdminServer

ASK = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"


class _Page(RequestHandler):
    """A page."""

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
    """Nothing can be opened; what is open stays."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The limit is on numbers: every number below it must be taken.
    highest = max(int(each.name) for each in Path("/proc/self/fd").iterdir())
    taken = []
    while (number := os.open(os.devnull, os.O_RDONLY)) <= highest:
        taken.append(number)
    os.close(number)
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            os.open(os.devnull, os.O_RDONLY)
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for each in taken:
            os.close(each)


async def _asked(client: socket.socket, address: object) -> bytes:
    """The status line of an answer."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(5):
        await loop.sock_connect(client, address)
        await loop.sock_sendall(client, ASK)
        return (await loop.sock_recv(client, 65536))[:15]


@contextmanager
def _clients(count: int) -> Iterator[list[socket.socket]]:
    """Sockets, made while there are descriptors."""
    with ExitStack() as opened:
        made = [opened.enter_context(socket.socket()) for _ in range(count)]
        for each in made:
            each.setblocking(False)
        yield made


def test_it_answers_without_a_descriptor_left():
    """A few are kept back for its connections, and kept again when those have ended."""
    run(_one_after_the_other())


async def _one_after_the_other() -> None:
    with _clients(24) as clients:
        async with _listening() as address:
            with _no_descriptor_left():
                for client in clients:
                    assert await _asked(client, address) == b"HTTP/1.1 200 OK"
                    # Closing would leave a descriptor for others; ending both sides does not.
                    client.shutdown(socket.SHUT_RDWR)
                    await asyncio.sleep(0.01)


def test_more_connections_than_are_kept_back_wait(caplog):
    """They are answered once there are descriptors, and the log says why they wait."""
    run(_all_at_once())
    assert set(caplog.messages) == {"connections to the admin listener cannot be accepted: Too many open files"}


async def _all_at_once() -> None:
    with _clients(9) as clients:
        async with _listening() as address:
            with _no_descriptor_left():
                answers = [asyncio.ensure_future(_asked(client, address)) for client in clients]
                answered = asyncio.as_completed(answers)
                for _ in range(8):
                    await next(answered)
                _, waiting = await asyncio.wait(answers, timeout=0.3)
                assert len(waiting) == 1
            assert {await each for each in answers} == {b"HTTP/1.1 200 OK"}
