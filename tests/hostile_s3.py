"""An S3 on the event loop of a test that sends given bytes, valid or not, on thousands of connections."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count

from scripted_s3 import Reply, Requested, Then


@contextmanager
def silent_port(host: str = "127.0.0.1", port: int = 0) -> Iterator[int]:
    """A port at which nobody accepts a connection, as its queue is full."""
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind((host, port))
        full.listen(0)
        for each in (first, second):
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        yield full.getsockname()[1]


@dataclass
class HostileS3(Requested):
    """The running S3: its port, the number of all connections, and the open ones."""

    answer: Callable[[int], Reply]
    port: int = 0
    connections_made: int = 0
    open_connections: set[asyncio.Transport] = field(default_factory=set)

    @property
    def url(self) -> str:
        """The endpoint."""
        return f"http://127.0.0.1:{self.port}"

    def hang_up(self) -> None:
        """Closes all connections."""
        for transport in self.open_connections:
            transport.close()


class _Connection(asyncio.Protocol):
    def __init__(self, s3: HostileS3) -> None:
        self._s3 = s3
        self._received = b""
        self._is_silent = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._s3.connections_made += 1
        self._s3.open_connections.add(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._s3.open_connections.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received and not self._is_silent:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            self._s3.requests.append(head.decode())
            reply = self._s3.answer(len(self._s3.requests) - 1)
            self._transport.write(reply.data)
            self._is_silent = reply.then is not Then.KEEP_OPEN
            if reply.then is Then.RESET:
                linger = struct.pack("ii", 1, 0)
                self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            if reply.then in (Then.CLOSE, Then.RESET):
                self._transport.close()


@asynccontextmanager
async def hostile_s3(
    *replies: Reply | Callable[[int], Reply], tls: ssl.SSLContext | None = None
) -> AsyncIterator[HostileS3]:
    """Runs an S3 that sends these replies in turn, then the last one again, or the reply that a function of the request's number returns."""
    first = replies[0]
    s3 = HostileS3(first if callable(first) else lambda number: replies[min(number, len(replies) - 1)])
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(s3), "127.0.0.1", 0, backlog=1024, ssl=tls)
    s3.port = server.sockets[0].getsockname()[1]
    try:
        yield s3
    finally:
        server.close()
        for transport in s3.open_connections:
            transport.abort()
        await wait_until(lambda: not s3.open_connections)


async def wait_until(condition: Callable[[], bool]) -> None:
    """Waits for a condition that other tasks or callbacks of the loop make true."""
    for turn in count():
        if condition():
            return
        assert turn < 2000, "the condition never became true"
        await asyncio.sleep(0.001 if turn > 20 else 0)
