"""An S3 for benchmarks: `python serving_s3.py PORT [DELAY]`; every object exists, and uploads are discarded.

An object with `big` in its key has 100 MiB, others have 1 KiB. A listing has 1,000 entries, or the
2 that a probe asks for.
"""

from __future__ import annotations

import asyncio
import re
import sys

BLOCK = bytes(1024 * 1024)
MODIFIED = "Fri, 01 May 2026 10:00:00 GMT"
_PROBE = re.compile(rb"[?&]max-keys=2(?:&|$)")
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


def listing(count: int) -> bytes:
    """Returns a listing of `list/` in the form of Amazon's S3."""
    entries = "".join(
        f"<Contents><Key>list/a%20file%20with%20a%20name-{number:04}.txt</Key>"
        "<LastModified>2026-05-01T10:00:00.000Z</LastModified><ETag>&quot;781e5e245d69b566979b86e28d23f2c7&quot;</ETag>"
        f"<Size>{number * 1000}</Size><StorageClass>STANDARD</StorageClass></Contents>"
        for number in range(count)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Name>bucket</Name><Prefix>list/</Prefix><KeyCount>{count}</KeyCount><MaxKeys>{count}</MaxKeys><Delimiter>/</Delimiter>"
        f"<EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>"
    ).encode()


LISTING, PROBED = listing(1000), listing(2)
UPLOAD_STARTED = b"<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>"
UPLOAD_COMPLETED = b'<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>'


class S3(asyncio.Protocol):
    """A connection of a client."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._data = b""
        self._skip = 0
        self._pending = b""
        self._blocks_left = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Skips the bodies of requests, and answers each head."""
        if self._skip:
            if len(data) < self._skip:
                self._skip -= len(data)
                return
            data, self._skip = data[self._skip :], 0
            self._answer(self._pending)
        self._data += data
        while b"\r\n\r\n" in self._data:
            head, _, self._data = self._data.partition(b"\r\n\r\n")
            length = _LENGTH.search(head)
            self._skip = int(length[1]) if length else 0
            if self._skip:
                if b"100-continue" in head:
                    self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                self._pending = head
                body_start, self._data = self._data, b""
                if body_start:
                    self.data_received(body_start)
                return
            self._answer(head)

    def resume_writing(self) -> None:
        """Sends more of a large body."""
        while self._blocks_left and self._transport.get_write_buffer_size() < len(BLOCK):
            self._blocks_left -= 1
            self._transport.write(BLOCK)

    def _answer(self, head: bytes) -> None:
        if self._delay:
            asyncio.get_running_loop().call_later(self._delay, self._write, head)
        else:
            self._write(head)

    def _write(self, head: bytes) -> None:
        method, path, _ = head.split(b" ", 2)
        if method == b"GET" and b"big" in path:
            self._transport.write(_head(len(BLOCK) * 100))
            self._blocks_left = 100
            self.resume_writing()
            return
        body = BLOCK[:1024]
        if b"list-type" in path:
            body = PROBED if _PROBE.search(path) else LISTING
        elif b"uploads" in path:
            body = UPLOAD_STARTED
        elif method == b"POST":
            body = UPLOAD_COMPLETED
        elif method == b"PUT":
            body = b""
        self._transport.write(_head(len(body)) + (b"" if method == b"HEAD" else body))


def _head(length: int) -> bytes:
    return (
        f'HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nETag: "e"\r\nLast-Modified: {MODIFIED}\r\n'
        "Content-Type: text/plain\r\n\r\n"
    ).encode()


async def serve(port: int, delay: float) -> None:
    """Serves until the process ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: S3(delay), "127.0.0.1", port, backlog=4096)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2]) if sys.argv[2:] else 0))
