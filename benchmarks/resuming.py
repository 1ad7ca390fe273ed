"""Downloads of 50 MiB that S3 cuts at a random place: whether each arrives whole, and with how many calls.

    python benchmarks/resuming.py [NUMBER] [loop|executor]

Every first answer is cut; in one of ten downloads another object takes the place of the first one at that moment, and
its client must get neither a joined body nor a whole one.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import re
import sys
import time
from collections import Counter
from contextlib import suppress

from tornado_proxy.config.model import Bucket
from tornado_proxy.config.server import S3Pool
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.s3.store import S3Store
from tornado_proxy.semantics.conditions import UNCONDITIONAL
from tornado_proxy.storage.errors import StorageError

SIZE = 50 * 1024**2
AT_ONCE = 8
GENERATOR = random.Random(50)
BODIES = {etag: random.Random(etag).randbytes(SIZE) for etag in ("first", "second")}
# A cut before the first bytes are passed on is a new read, of whatever object is there by then.
RESULTS = {hashlib.sha256(body).digest(): f"whole, the {etag} object" for etag, body in BODIES.items()}


class S3:
    """Cuts the first answer for each key; a key that begins with `replaced` has another object from then on."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.repeated = 0  # later calls for a whole object: the cut came before its head was read

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers the requests of a connection, until it cuts one."""
        with suppress(asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            while request := await reader.readuntil(b"\r\n\r\n"):
                key = request.split(b" ", 2)[1].decode().rpartition("/")[2]
                self.calls[key] += 1
                is_first = self.calls[key] == 1
                self.repeated += not (is_first or re.search(rb"(?i)\r\nrange:", request))
                etag = "second" if key.startswith("replaced") and not is_first else "first"
                head, body = answer(request, etag)
                cut = GENERATOR.randrange(len(body)) if is_first else len(body)
                writer.write(head)
                for start in range(0, cut, 256 * 1024):
                    writer.write(body[start : min(start + 256 * 1024, cut)])
                    await writer.drain()
                if is_first:
                    break
        if GENERATOR.random() < 0.5:
            writer.transport.abort()
        writer.close()


def answer(request: bytes, etag: str) -> tuple[bytes, memoryview]:
    """Returns the head of an answer, and its body."""
    expected = re.search(rb'(?i)\r\nif-match: "([^"]*)"', request)
    if expected and expected[1].decode() != etag:
        return b"HTTP/1.1 412 Failed\r\nContent-Length: 0\r\n\r\n", memoryview(b"")
    asked, status, first = re.search(rb"(?i)\r\nrange: bytes=(\d+)-(\d*)", request), b"200 OK", 0
    last = SIZE - 1
    if asked:
        first, last = int(asked[1]), int(asked[2] or last)
        status = b"206 Part\r\nContent-Range: bytes %d-%d/%d" % (first, last, SIZE)
    head = b'HTTP/1.1 %b\r\nETag: "%b"\r\nContent-Length: %d\r\n\r\n' % (status, etag.encode(), last - first + 1)
    return head, memoryview(BODIES[etag])[first : last + 1]


async def download(store: S3Store, key: str) -> str:
    """Reads an object; returns whether it is whole, cut, or wrong."""
    digest, opened = hashlib.sha256(), None
    try:
        opened = await store.open(ObjectKey(key), UNCONDITIONAL)
        async for chunk in opened.chunks():
            digest.update(chunk)
    except StorageError:
        return "cut"
    finally:
        if opened is not None:
            await opened.close()
    return RESULTS.get(digest.digest(), "WRONG")


async def main(number: int, reads: str) -> None:
    """Downloads each object once."""
    s3, resumed = S3(), Counter[tuple[str, str]]()
    server = await asyncio.start_server(s3.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    bucket = Bucket("bucket", s3_endpoint=url, force_path_style=True, anonymous=True)
    notice = lambda read: resumed.update([(read.cause, read.outcome)])  # noqa: E731
    store = S3Store(bucket, S3Pool(reads=reads), notice=notice)  # type: ignore[arg-type]
    turns = asyncio.Semaphore(AT_ONCE)
    keys = [f"{'replaced' if each % 10 == 9 else 'same'}-{each}" for each in range(number)]

    async def one(key: str) -> tuple[str, str]:
        async with turns:
            return key.partition("-")[0], await download(store, key)

    began = time.perf_counter()
    results = Counter(await asyncio.gather(*[one(key) for key in keys]))
    print(f"{number} downloads of 50 MiB, each cut once, in {time.perf_counter() - began:.0f} s ({reads}):")
    for (kind, result), count in sorted(results.items()):
        print(f"  {kind}: {count} {result}")
    calls = Counter((key.partition("-")[0], count) for key, count in s3.calls.items())
    print("  calls:", ", ".join(f"{count} {kind} with {each}" for (kind, each), count in sorted(calls.items())))
    print("  resumed:", dict(resumed), "repeated:", s3.repeated)
    await store.close()
    server.close()


if __name__ == "__main__":
    number, reads, *_ = [*sys.argv[1:], *["1000", "loop"][len(sys.argv) - 1 :]]
    asyncio.run(main(int(number), reads))
