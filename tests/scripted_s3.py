"""An S3 that answers exactly what it is told, byte by byte, or not at all: for what a good one never does."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto

_TIMEOUT = 20  # seconds, which only a hanging test takes
MODIFIED = "Fri, 01 May 2026 10:00:00 GMT"


class Then(Enum):
    """What follows the bytes of a reply."""

    GO_ON = auto()  # the next request of the connection
    CLOSE = auto()  # the end of the connection
    RESET = auto()  # its violent end
    SILENCE = auto()  # nothing, until the client leaves


@dataclass(frozen=True)
class Reply:
    """Bytes of an answer, and what follows them; it waits until it is let go if it has a gate."""

    data: bytes
    then: Then = Then.GO_ON
    gate: threading.Event | None = None


def reply(status: int, body: bytes = b"", **headers: str) -> Reply:
    """An answer as it should be; `Content_Length="5"` says something else of its length."""
    fields = {"Content-Length": str(len(body)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return Reply(f"HTTP/1.1 {status} Whatever\r\n{head}\r\n".encode() + body)


def an_object(body: bytes, etag: str = '"1"', **headers: str) -> Reply:
    """A GetObject's answer, or a HeadObject's where the body is empty and its length is said."""
    return reply(200, body, ETag=etag, Last_Modified=MODIFIED, **headers)


def an_error(status: int, code: str) -> Reply:
    """An error as S3 tells it."""
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>So it is</Message></Error>"
    return reply(status, body.encode(), Content_Type="application/xml")


def ending(answer: Reply, then: Then, *, after: int | None = None) -> Reply:
    """An answer that ends in another way, after so many of its bytes."""
    return Reply(answer.data[:after], then)


@dataclass
class Script:
    """The S3: where it is, what it was asked, and what became of its connections."""

    replies: list[Reply]
    url: str = ""
    requests: list[str] = field(default_factory=list)
    connections: list[socket.socket] = field(default_factory=list)
    asked: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    left: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def header(self, number: int, name: str) -> str | None:
        """A header of a request."""
        lines = self.requests[number].splitlines()[1:]
        values = dict(line.split(": ", 1) for line in lines)
        return {key.lower(): value for key, value in values.items()}.get(name.lower())

    async def is_asked(self, times: int = 1) -> None:
        """Wait until so many more requests have come."""
        for _ in range(times):
            assert await asyncio.to_thread(self.asked.acquire, timeout=_TIMEOUT)

    async def is_left(self) -> None:
        """Wait until a client closes a connection."""
        assert await asyncio.to_thread(self.left.acquire, timeout=_TIMEOUT)

    def serve(self, connection: socket.socket) -> None:
        """Answer the requests of a connection with the replies that are left."""
        with connection, suppress(ConnectionError, TimeoutError):
            connection.settimeout(_TIMEOUT)
            while (request := _request(connection)) is not None:
                with self.lock:
                    self.requests.append(request)
                    answer = self.replies.pop(0) if self.replies else Reply(b"", Then.CLOSE)
                self.asked.release()
                if answer.gate:
                    answer.gate.wait(_TIMEOUT)
                connection.sendall(answer.data)
                if answer.then is Then.RESET:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if answer.then in (Then.CLOSE, Then.RESET):
                    return
                if answer.then is Then.SILENCE:
                    break
            connection.recv(1)
        self.left.release()


def _request(connection: socket.socket) -> str | None:
    """The head of a request whose body was read too; None where the client has left."""
    data = b""
    while b"\r\n\r\n" not in data:
        block = connection.recv(65_536)
        if not block:
            return None
        data += block
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [int(line.split(b":")[1]) for line in head.splitlines() if line.lower().startswith(b"content-length:")]
    while len(body) < sum(lengths):
        body += connection.recv(65_536)
    return head.decode()


@contextmanager
def scripted_s3(*replies: Reply) -> Iterator[Script]:
    """An S3 on a free port that gives these replies in turn."""
    script = Script(list(replies))
    with socket.create_server(("127.0.0.1", 0)) as server:
        script.url = f"http://127.0.0.1:{server.getsockname()[1]}"
        threads: list[threading.Thread] = []
        threads.append(threading.Thread(target=_accept, args=(server, script, threads), daemon=True))
        threads[0].start()
        try:
            yield script
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for connection in script.connections:
                # A pool that an exception's traceback refers to keeps its connections open.
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join(_TIMEOUT)


def _accept(server: socket.socket, script: Script, threads: list[threading.Thread]) -> None:
    """Serve each connection in a thread, until the server ends."""
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        script.connections.append(connection)
        threads.append(threading.Thread(target=script.serve, args=(connection,), daemon=True))
        threads[-1].start()
