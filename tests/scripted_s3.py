"""An S3 that answers with scripted bytes, valid or not, with drops of them, or with silence."""

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto

_TIMEOUT = 20  # seconds, which only a hanging test reaches
_PAUSE = 0.05  # seconds between two drops
MODIFIED = "Fri, 01 May 2026 10:00:00 GMT"


class Then(Enum):
    """The action of the server after it has sent a reply."""

    KEEP_OPEN = auto()  # answer the next request of the connection
    CLOSE = auto()  # close the connection
    RESET = auto()  # reset the connection
    SILENCE = auto()  # send nothing more until the client closes the connection


@dataclass(frozen=True)
class Reply:
    """The bytes of an answer, and the action after them; they are sent once the gate, if there is one, is set.

    That is after a delay in seconds. A drop is sent after them again and again without an end.
    """

    data: bytes
    then: Then = Then.KEEP_OPEN
    gate: threading.Event | None = None
    drop: bytes = b""
    delay: float = 0.0


def reply(status: int, body: bytes = b"", **headers: str) -> Reply:
    """A complete answer; `Content_Length="5"` announces another length than the body's."""
    fields = {"Content-Length": str(len(body)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return Reply(f"HTTP/1.1 {status} Reason\r\n{head}\r\n".encode() + body)


def object_reply(body: bytes, etag: str = '"1"', **headers: str) -> Reply:
    """The answer to GetObject; or to HeadObject, if the body is empty and `Content_Length` is given."""
    return reply(200, body, ETag=etag, Last_Modified=MODIFIED, **headers)


def error_reply(status: int, code: str) -> Reply:
    """An error in the form of S3."""
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>So it is</Message></Error>"
    return reply(status, body.encode(), Content_Type="application/xml")


# The answers of an upload in parts.
BEGUN = reply(200, b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
COMPLETED = reply(200, b'<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>')
STORED, ABORTED = reply(200, ETag='"p"'), reply(204)


def with_ending(complete: Reply, then: Then, *, after: int | None = None) -> Reply:
    """A reply with another action after it, or after its first `after` bytes."""
    return Reply(complete.data[:after], then)


@dataclass
class Requested:
    """What an S3 was asked: the heads of the requests."""

    requests: list[str] = field(default_factory=list, init=False)

    def header(self, number: int, name: str) -> str | None:
        """A header of the request with a number, or None."""
        lines = self.requests[number].splitlines()[1:]
        values = dict(line.split(": ", 1) for line in lines if line)
        return {key.lower(): value for key, value in values.items()}.get(name.lower())

    def request_lines(self) -> list[str]:
        """The method and the target of each request."""
        return [request.splitlines()[0].removesuffix(" HTTP/1.1") for request in self.requests]


@dataclass
class ScriptedS3(Requested):
    """The running S3: its URL, the replies that are left, or a function of a head, the bodies that came, its connections."""

    replies: list[Reply] | Callable[[str], Reply]
    url: str = ""
    bodies: list[bytes] = field(default_factory=list)
    connections: list[socket.socket] = field(default_factory=list)
    requests_received: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def open_connections(self) -> list[socket.socket]:
        """The connections that neither side has closed."""
        return [each for each in self.connections if each.fileno() >= 0]

    async def wait_for_requests(self, count: int = 1) -> None:
        """Waits for a number of further requests."""
        for _ in range(count):
            assert await asyncio.to_thread(self.requests_received.acquire, timeout=_TIMEOUT)

    def serve(self, connection: socket.socket) -> None:
        """Answers the requests of a connection with the replies that are left."""
        with connection, suppress(OSError):
            connection.settimeout(_TIMEOUT)
            while (request := _request(connection)) is not None:
                head, body = request
                with self.lock:
                    self.requests.append(head)
                    self.bodies.append(body)
                    answer = self._reply(head)
                self.requests_received.release()
                time.sleep(answer.delay)
                if answer.gate:
                    answer.gate.wait(_TIMEOUT)
                connection.sendall(answer.data)
                while answer.drop:
                    connection.sendall(answer.drop)
                    time.sleep(_PAUSE)
                if answer.then is Then.RESET:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if answer.then is Then.SILENCE:
                    connection.recv(1)
                if answer.then is not Then.KEEP_OPEN:
                    break

    def _reply(self, request: str) -> Reply:
        if callable(self.replies):
            return self.replies(request)
        return self.replies.pop(0) if self.replies else Reply(b"", Then.CLOSE)


def _request(connection: socket.socket) -> tuple[str, bytes] | None:
    """Reads a request and returns its head and its body, or None if the client has closed the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        block = connection.recv(65_536)
        if not block:
            return None
        data += block
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [int(line.split(b":")[1]) for line in head.splitlines() if line.lower().startswith(b"content-length:")]
    while len(body) < sum(lengths):
        body += receive(connection)
    return head.decode(), body


def receive(connection: socket.socket, most: int = 65_536) -> bytes:
    """Some bytes of a connection; raises `ConnectionResetError` at its end, where `recv` would return none for ever."""
    if data := connection.recv(most):
        return data
    raise ConnectionResetError


@contextmanager
def scripted_s3(*replies: Reply, answer: Callable[[str], Reply] | None = None) -> Iterator[ScriptedS3]:
    """Runs an S3 on a free port that sends these replies in turn, or what a function of the request returns."""
    s3 = ScriptedS3(answer or list(replies))
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as server:
        s3.url = f"http://127.0.0.1:{server.getsockname()[1]}"
        threads: list[threading.Thread] = []
        threads.append(threading.Thread(target=_accept, args=(server, s3, threads), daemon=True))
        threads[0].start()
        try:
            yield s3
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for connection in s3.connections:
                # A pool that an exception's traceback refers to keeps its connections open.
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join(_TIMEOUT)


def _accept(server: socket.socket, s3: ScriptedS3, threads: list[threading.Thread]) -> None:
    """Serves each connection in a thread until the server ends."""
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        s3.connections.append(connection)
        threads.append(threading.Thread(target=s3.serve, args=(connection,), daemon=True))
        threads[-1].start()
