"""An S3 that makes large objects up instead of storing them.

`GET /bucket/1073741824.bin` answers 1073741824 bytes, and `GET /bucket/any/key.txt` answers its key. A listing of
`of-1073741824/` names a file of 1073741824 bytes and one of 5, one of `readme/` a README.md of 32 KiB. Uploads, also in parts, are counted and discarded.
"""

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
README = b"# A *part*\n\n- `one`\n- [two](b.txt), **three**\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n" * 380
MODIFIED = "Fri, 01 May 2026 10:00:00 GMT"


@dataclass
class Traffic:
    """The bytes received and sent, and the numbers of stored parts and objects and of completed and aborted uploads."""

    received: int = 0
    sent: int = 0
    parts: int = 0
    completed: int = 0
    aborted: int = 0
    stored: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are written separately
    traffic: Traffic

    def do_HEAD(self) -> None:
        if not self._answer_text():
            self._send_object_head()

    def do_GET(self) -> None:
        if "list-type=2" in self.path:
            self._answer(f"<ListBucketResult>{self._contents()}</ListBucketResult>".encode())
            return
        if self._answer_text():
            return
        at, end = self._send_object_head()
        try:
            while at < end:
                begin = at % len(BLOCK)
                sent = self.wfile.write(BLOCK[begin : begin + end - at])
                at += sent
                self.traffic.sent += sent
        except ConnectionError:
            self.close_connection = True

    def do_POST(self) -> None:
        query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        self._discard_body()
        if "uploads" in query:
            self._answer(b"<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
        else:
            self.traffic.completed += 1
            self._answer(b"<CompleteMultipartUploadResult><ETag>&quot;e&quot;</ETag></CompleteMultipartUploadResult>")

    def do_PUT(self) -> None:
        self._discard_body()
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

    def _answer_text(self) -> bool:
        """Answers a request for a text, and returns whether it was one."""
        if self.path.partition("?")[0].endswith("/README.md"):
            self._answer(README, ETag='"r"')
            return True
        if not self.path.partition("?")[0].endswith(".txt"):
            return False
        key = self.path.split("/", 2)[2].encode()
        self._answer(key, ETag=f'"{zlib.crc32(key)}"')
        return True

    def _send_object_head(self) -> tuple[int, int]:
        """Sends the head of an object's answer; returns where its body begins and ends in the object."""
        match = re.search(r"/(\d+)\.bin", self.path)
        if match is None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return 0, 0
        size = int(match[1])
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        begin, end = (int(part[1]), int(part[2] or size - 1) + 1) if part else (0, size)
        self.send_response(206 if part else 200)
        if part:
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
        for name, value in {"Content-Length": str(end - begin), "ETag": '"e"', "Last-Modified": MODIFIED}.items():
            self.send_header(name, value)
        self.end_headers()
        return begin, end

    def _contents(self) -> str:
        """The contents of the listing of `of-N/`, a file of N bytes and one of 5, or of `readme/`."""
        prefix = parse_qs(urlsplit(self.path).query).get("prefix", [""])[0]
        match = re.fullmatch(r"of-(\d+)/", prefix)
        keys = [(f"{prefix}{size}.bin", size) for size in (match[1], "5")] if match else []
        keys += [(f"{prefix}README.md", str(len(README)))] if prefix == "readme/" else []
        return "".join(f"<Contents><Key>{key}</Key><Size>{size}</Size></Contents>" for key, size in keys)

    def _discard_body(self) -> None:
        """Reads and discards the body, which has a `Content-Length` or the frames of `aws-chunked`."""
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
        """Logs nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # with the default of 5, clients that connect at once are dropped and retry a second later


@contextmanager
def endless_s3() -> Iterator[tuple[str, Traffic]]:
    """Runs such an S3, and yields its endpoint and its traffic."""
    traffic = Traffic()
    handler = type("Handler", (_Handler,), {"traffic": traffic})
    server = _Server(("127.0.0.1", 0), handler)
    # It looks so often whether it shall end, instead of twice a second.
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", traffic
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def endless_s3_elsewhere() -> Iterator[str]:
    """Runs such an S3 in a separate process, so that it takes no time from the test's threads, and yields its endpoint."""
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
