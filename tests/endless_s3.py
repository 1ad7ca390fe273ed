"""An S3 whose objects are as large as their keys say and are never stored: for what is too big for a real one.

`GET /bucket/1073741824.bin` answers so many bytes, a listing of `of-1073741824/` names such a file and a small one, `GET /bucket/any/key.txt` answers its key; uploads, whole or in
parts, are counted and thrown away.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

BLOCK = bytes(range(256)) * 1024
MODIFIED = "Fri, 01 May 2026 10:00:00 GMT"


@dataclass
class Traffic:
    """What has come and gone, in bytes, and how uploads ended."""

    received: int = 0
    sent: int = 0
    parts: int = 0
    completed: int = 0
    aborted: int = 0
    stored: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are written apart
    traffic: Traffic

    def do_HEAD(self) -> None:
        if not self._is_text():
            self._object_head()

    def do_GET(self) -> None:
        if "list-type=2" in self.path:
            self._answer(f"<ListBucketResult>{self._contents()}</ListBucketResult>".encode())
            return
        if self._is_text():
            return
        left = self._object_head()
        try:
            while left > 0:
                sent = self.wfile.write(BLOCK[: min(left, len(BLOCK))])
                left -= sent
                self.traffic.sent += sent
        except ConnectionError:
            self.close_connection = True

    def do_POST(self) -> None:
        query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        self._take()
        if "uploads" in query:
            self._answer(b"<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
        else:
            self.traffic.completed += 1
            self._answer(b"<CompleteMultipartUploadResult><ETag>&quot;e&quot;</ETag></CompleteMultipartUploadResult>")

    def do_PUT(self) -> None:
        self._take()
        if "partNumber" in self.path:
            with self.traffic.lock:
                self.traffic.parts += 1
        else:
            with self.traffic.lock:
                self.traffic.stored += 1
        self._answer(b"", ETag='"e"')

    def do_DELETE(self) -> None:
        self.traffic.aborted += "uploadId" in self.path
        self.send_response(204)
        self.end_headers()

    def _is_text(self) -> bool:
        """Whether the key is that of a text, which is then answered."""
        if not self.path.partition("?")[0].endswith(".txt"):
            return False
        key = self.path.split("/", 2)[2].encode()
        self._answer(key, ETag=f'"{zlib.crc32(key)}"')
        return True

    def _object_head(self) -> int:
        match = re.search(r"/(\d+)\.bin", self.path)
        if match is None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return 0
        self.send_response(200)
        for name, value in {"Content-Length": match[1], "ETag": '"e"', "Last-Modified": MODIFIED}.items():
            self.send_header(name, value)
        self.end_headers()
        return int(match[1])

    def _contents(self) -> str:
        """What a listing of `of-N/` holds: a file of N bytes, and a small one."""
        prefix = parse_qs(urlsplit(self.path).query).get("prefix", [""])[0]
        found = re.fullmatch(r"of-(\d+)/", prefix)
        keys = [(f"{prefix}{size}.bin", size) for size in (found[1], "5")] if found else []
        return "".join(f"<Contents><Key>{key}</Key><Size>{size}</Size></Contents>" for key, size in keys)

    def _take(self) -> None:
        """Read the body away: plain, or in aws-chunked's frames, whose length is the transfer's."""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                self._skip(size + 2)
            self.rfile.readline()
        else:
            self._skip(int(self.headers.get("Content-Length", "0")))

    def _skip(self, size: int) -> None:
        while size > 0:
            block = self.rfile.read(min(size, 1 << 20))
            if not block:
                return
            size -= len(block)
            with self.traffic.lock:
                self.traffic.received += len(block)

    def _answer(self, body: bytes, **headers: str) -> None:
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Stay silent."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # the default of 5 drops connections that come at once, and they come back a second later


@contextmanager
def endless_s3() -> Iterator[tuple[str, Traffic]]:
    """The endpoint of such an S3, and its traffic."""
    traffic = Traffic()
    handler = type("Handler", (_Handler,), {"traffic": traffic})
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", traffic
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def endless_s3_elsewhere() -> Iterator[str]:
    """The endpoint of such an S3 in a process of its own, so that it takes no time from the test's threads."""
    process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.communicate()


if __name__ == "__main__":
    with endless_s3() as (endpoint, _):
        print(endpoint, flush=True)
        sys.stdin.read()
