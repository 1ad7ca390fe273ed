"""An S3 with a different fault for each key: it never answers `GET /bucket/silent`, and always `GET /bucket/healthy`.

Every method meets the fault of its key, after the request's body was read.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

BODY = b"healthy"
MODIFIED = "Fri, 01 May 2026 10:00:00 GMT"
LENGTH = 600 * 1024
_PAUSE = 0.05  # seconds between the bytes that `_drips` sends

Fault = Callable[[socket.socket], None]


def answer(status: str, *lines: str, body: bytes = b"") -> bytes:
    """An answer with only these header lines."""
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode() + body


def _sends(data: bytes) -> Fault:
    """A fault that sends bytes and closes the connection."""
    return lambda connection: connection.sendall(data)


def _stalls(data: bytes) -> Fault:
    """A fault that sends bytes, and then nothing until the client closes the connection."""

    def fault(connection: socket.socket) -> None:
        connection.sendall(data)
        connection.recv(1)

    return fault


def _resets(data: bytes) -> Fault:
    """A fault that sends bytes and resets the connection."""

    def fault(connection: socket.socket) -> None:
        connection.sendall(data)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return fault


def _drips(data: bytes, drop: bytes) -> Fault:
    """A fault that sends bytes, and then `drop` again and again without an end."""

    def fault(connection: socket.socket) -> None:
        connection.sendall(data)
        while True:
            connection.sendall(drop)
            time.sleep(_PAUSE)

    return fault


_LONG = answer("200 OK", f"Content-Length: {LENGTH}", 'ETag: "1"', body=bytes(1000))
_ERROR = b"<Error><Code>InternalError</Code><Message>An internal error</Message></Error>"


def _ok(*lines: str, body: bytes = b"ab") -> Fault:
    return _sends(answer("200 OK", *lines, body=body))


FAULTS: dict[str, Fault] = {
    "silent": _stalls(b""),
    "closed": _sends(b""),
    "reset": _resets(b""),
    "drip": _drips(b"", b"H"),
    "drip-headers": _drips(b"HTTP/1.1 200 OK\r\n", b"A"),
    "drip-body": _drips(_LONG, b"x"),
    "stalled-head": _stalls(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "stalled-body": _stalls(_LONG),
    "reset-in-head": _resets(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "reset-in-body": _resets(_LONG),
    "short-body": _sends(_LONG),
    "garbage": _sends(b"\x00\x01\x02 nonsense\r\n\r\n"),
    "no-number": _sends(b"HTTP/1.1 two hundred\r\n\r\n"),
    "long-line": _sends(b"HTTP/1.1 200 " + b"x" * 100_000 + b"\r\n\r\n"),
    "many-headers": _ok(*[f"x-{number}: 1" for number in range(20_000)], "Content-Length: 2"),
    "negative-length": _ok("Content-Length: -5"),
    "no-length": _ok("Connection: close"),
    "broken-head": _ok("Content-Length: 2", "a line without a colon", 'ETag: "1"'),
    "two-lengths": _ok("Content-Length: 1", "Content-Length: 2"),
    "word-length": _ok("Content-Length: two"),
    "word-date": _ok("Content-Length: 2", "Last-Modified: yesterday"),
    "number-date": _ok("Content-Length: 2", "Last-Modified: 99999999999999999999"),
    "part-unasked": _sends(answer("206 Partial", "Content-Length: 2", "Content-Range: bytes 0-1/10", body=b"ab")),
    "part-unnamed": _sends(answer("206 Partial", "Content-Length: 2", body=b"ab")),
    "part-shorter": _sends(answer("206 Partial", "Content-Length: 5", "Content-Range: bytes 0-1/10", body=b"abcde")),
    "error": _sends(answer("500 Oops", f"Content-Length: {len(_ERROR)}", body=_ERROR)),
    "error-page": _sends(answer("503 Oops", "Content-Type: text/html", "Content-Length: 6", body=b"<html>")),
    "empty-error": _sends(answer("500 Oops", "Content-Length: 0")),
    "slow-down": _sends(answer("503 Slow Down", "Content-Length: 0")),
    "no-bucket": _sends(
        answer("404 Not Found", "Content-Length: 40", body=b"<Error><Code>NoSuchBucket</Code></Error>")
    ),
    "teapot": _sends(answer("418 Teapot", "Content-Length: 0")),
    "moved": _sends(answer("301 Moved", "Location: http://127.0.0.1:9/", "Content-Length: 0")),
}
"""The faults, by key."""


@dataclass
class FaultyS3:
    """The running S3: its URL, its open connections, and the request lines that it has received."""

    url: str = ""
    connections: set[socket.socket] = field(default_factory=set)
    requests: list[str] = field(default_factory=list)

    def serve(self, connection: socket.socket) -> None:
        """Answers the requests of a connection until one meets a fault."""
        with connection, suppress(OSError):
            while request := _request(connection):
                self.requests.append(request)
                method, target, _ = request.split(" ")
                path, key = urlsplit(target), urlsplit(target).path.removeprefix("/bucket").strip("/").partition("/")[0]
                key = key or parse_qs(path.query).get("prefix", [""])[0].strip("/")
                if key in FAULTS:
                    FAULTS[key](connection)
                    break
                body = b"" if method in ("PUT", "DELETE") else BODY
                status = "204 No Content" if method == "DELETE" else "200 OK"
                head = answer(status, f"Content-Length: {len(body)}", 'ETag: "1"', f"Last-Modified: {MODIFIED}")
                connection.sendall(head + (b"" if method == "HEAD" else body))
        self.connections.discard(connection)


def _request(connection: socket.socket) -> str:
    """Reads a request with its body and returns its request line, or `""` if the client has closed the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        block = connection.recv(65_536)
        if not block:
            return ""
        data += block
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    remaining = sum(int(line[15:]) for line in lines if line.lower().startswith("content-length:")) - len(body)
    while remaining > 0:
        remaining -= len(connection.recv(min(remaining, 65_536))) or remaining
    return lines[0]


@contextmanager
def faulty_s3() -> Iterator[FaultyS3]:
    """Runs an S3 with all faults on a free port."""
    s3, threads = FaultyS3(), list[threading.Thread]()

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                s3.connections.add(connection)
                threads.append(threading.Thread(target=s3.serve, args=(connection,), daemon=True))
                threads[-1].start()

    with socket.create_server(("127.0.0.1", 0), backlog=2048) as server:
        s3.url = f"http://127.0.0.1:{server.getsockname()[1]}"
        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield s3
        finally:
            server.shutdown(socket.SHUT_RDWR)
            accepting.join(10)
            for connection in list(s3.connections):
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join(10)
