"""An S3 on the event loop of a test that breaks every rule it is told to break, for thousands of connections."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from scripted_s3 import Reply, Then


@dataclass
class Hostile:
    """The S3: where it is, the requests that came, and the connections that were made and are open."""

    answer: Callable[[int], Reply]
    port: int = 0
    requests: list[str] = field(default_factory=list)
    made: int = 0
    open: set[asyncio.Transport] = field(default_factory=set)

    @property
    def url(self) -> str:
        """Its endpoint."""
        return f"http://127.0.0.1:{self.port}"

    def header(self, number: int, name: str) -> str | None:
        """A header of a request."""
        values = dict(line.split(": ", 1) for line in self.requests[number].splitlines()[1:] if line)
        return values.get(name)

    def hang_up(self) -> None:
        """Close all connections."""
        for transport in self.open:
            transport.close()


class _Connection(asyncio.Protocol):
    def __init__(self, hostile: Hostile) -> None:
        self._hostile = hostile
        self._received = b""
        self._is_silent = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._hostile.made += 1
        self._hostile.open.add(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._hostile.open.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received and not self._is_silent:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            self._hostile.requests.append(head.decode())
            reply = self._hostile.answer(len(self._hostile.requests) - 1)
            self._transport.write(reply.data)
            self._is_silent = reply.then is not Then.GO_ON
            if reply.then is Then.RESET:
                linger = struct.pack("ii", 1, 0)
                self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            if reply.then in (Then.CLOSE, Then.RESET):
                self._transport.close()


@asynccontextmanager
async def hostile_s3(
    *replies: Reply | Callable[[int], Reply], tls: ssl.SSLContext | None = None
) -> AsyncIterator[Hostile]:
    """An S3 that gives these replies in turn, the last one for ever, or what a function of the request's number says."""
    first = replies[0]
    hostile = Hostile(first if callable(first) else lambda number: replies[min(number, len(replies) - 1)])
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(hostile), "127.0.0.1", 0, backlog=1024, ssl=tls)
    hostile.port = server.sockets[0].getsockname()[1]
    try:
        yield hostile
    finally:
        server.close()
        for transport in hostile.open:
            transport.abort()
        await until(lambda: not hostile.open)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what happens in other turns of the loop."""
    for turn in count():
        if condition():
            return
        assert turn < 2000, "it never happens"
        await asyncio.sleep(0.001 if turn > 20 else 0)
