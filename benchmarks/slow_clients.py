"""What slow and greedy clients leave for others: downloads at 2 kB/s, uploads that stop, archives by the dozen.

    python benchmarks/slow_clients.py [ROOT]

ROOT is the directory of another version to measure. The clients of an attack have the address 127.0.0.1, and the one
whose requests are timed has 127.0.0.2.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from textwrap import dedent

KIB, MIB = 1024, 1024**2
START = 4  # seconds
FILES = 3_000
READERS = 540
ARCHIVES = 60
PATIENCE = 35  # seconds

CONFIGURATION = """\
    server: {{port: {port}}}
    internalServer: {{port: 0}}
    log: {{access: false}}
    targets:
      site:
        bucket: {{name: bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true,
          credentials: {{accessKey: {{env: ACCESS}}, secretKey: {{env: SECRET}}}}}}
        listing: {{archive: {{enabled: true}}}}
        actions: {{PUT: {{enabled: true, config: {{rawUploads: true, allowOverride: true}}}}}}
        resources: [{{path: /**, methods: [GET, PUT], whiteList: true}}]
"""


async def s3(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serves an S3: `N.bin` has N bytes, `of-files/` has 3,000 files of 5 bytes, and uploads are discarded."""
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while request := await reader.readuntil(b"\r\n\r\n"):
            line, length = request.split(b"\r\n", 1)[0].decode(), re.search(rb"(?i)content-length: (\d+)", request)
            await reader.readexactly(int(length[1]) if length else 0)
            listing = page(line).encode() if "list-type=2" in line else b""
            size = re.search(r"/(\d+)\.bin", line)
            left = len(listing) or (int(size[1]) if size else 5 if line.startswith("GET") else 0)
            writer.write(b'HTTP/1.1 200 OK\r\nETag: "e"\r\nContent-Length: %d\r\n\r\n%b' % (left, listing))
            left -= len(listing)
            while left:
                writer.write(bytes(min(left, 64 * KIB)))
                left -= min(left, 64 * KIB)
                await writer.drain()
    writer.close()


async def serve_s3() -> None:
    """Serves the S3, and prints its endpoint."""
    server = await asyncio.start_server(s3, "127.0.0.1", 0, limit=MIB)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def page(line: str) -> str:
    """Returns a page of the listing of `of-files/`."""
    after = re.search(r"start-after=of-files%2F(\d+)", line)
    first = int(after[1]) + 1 if after else 0
    limit = int(re.search(r"max-keys=(\d+)", line)[1])  # type: ignore[index]
    last = min(first + limit, FILES)
    files = "".join(
        f"<Contents><Key>of-files/{number:06}</Key><Size>5</Size></Contents>" for number in range(first, last)
    )
    return f"<ListBucketResult><IsTruncated>{str(last < FILES).lower()}</IsTruncated>{files}</ListBucketResult>"


async def ask(port: int, request: str, *, body: bytes = b"", host: str = "127.0.0.2") -> tuple[str, float]:
    """Returns the status of an answer, and the seconds that it took."""
    began = time.perf_counter()
    writer = None
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(host, 0))
            writer.write(f"{request} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            status = (await reader.readline()).decode().split()[1]
    except TimeoutError:
        status = "none"
    finally:
        if writer is not None:
            writer.close()
    return status, time.perf_counter() - began


def report(name: str, answers: list[tuple[str, float]], more: str = "") -> None:
    """Prints the statuses and times of answers."""
    times = [seconds for _, seconds in answers]
    statuses = ", ".join(
        f"{count} times {status}" for status, count in Counter(status for status, _ in answers).items()
    )
    print(f"{name}: {statuses}; median {median(times):.3f} s, longest {max(times):.3f} s{more}", flush=True)


def memory(process: subprocess.Popen[bytes]) -> float:
    """Returns the resident memory of a process in KiB."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[1])  # type: ignore[index]


async def downloads(port: int, process: subprocess.Popen[bytes]) -> None:
    """Times requests of another client while 540 downloads of 50 MiB are read at 2 kB/s."""
    before, stop = memory(process), asyncio.Event()

    async def slow() -> bool:
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(sock, ("127.0.0.1", port))
            await loop.sock_sendall(sock, f"GET /{50 * MIB}.bin HTTP/1.1\r\nHost: h\r\n\r\n".encode())
            is_served = (await loop.sock_recv(sock, 1024)).startswith(b"HTTP/1.1 200")
            while is_served and not stop.is_set() and await loop.sock_recv(sock, 1024):  # noqa: ASYNC110 - at its pace
                await asyncio.sleep(0.5)
            return is_served

    readers = [asyncio.ensure_future(slow()) for _ in range(READERS)]
    await asyncio.sleep(12)
    served = sum(not each.done() for each in readers)
    each = (memory(process) - before) / served
    answers = await asyncio.gather(*[ask(port, "GET /1024.bin") for _ in range(10)])
    stop.set()
    await asyncio.gather(*readers, return_exceptions=True)
    report(f"{READERS} slow downloads", answers, f"; {served} held, each with {each:.0f} KiB")


async def uploads(port: int, name: str, heads: list[str]) -> None:
    """Times an upload of another client while some stop after 70 kB."""
    writers = []
    for head in heads:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head.encode() + bytes(70_000))
        writers.append(writer)
    await asyncio.sleep(1)
    report(name, [await ask(port, "PUT /new", body=bytes(MIB))])
    for writer in writers:
        writer.transport.abort()


async def archives(port: int, method: str) -> None:
    """Times requests that need no S3 while 60 archives of 3,000 files are asked for at once."""
    crowd = [
        asyncio.ensure_future(ask(port, f"{method} /of-files/?format=zip", host="127.0.0.1")) for _ in range(ARCHIVES)
    ]
    await asyncio.sleep(0.3)
    times = []
    while not all(each.done() for each in crowd) or not times:
        times.append(await ask(port, "GET /%zz"))
        await asyncio.sleep(0.05)
    report(f"{ARCHIVES} {method} of an archive", times)
    report("    the archives themselves", await asyncio.gather(*crowd))


@contextmanager
def service(root: str, endpoint: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Runs a version of the service; yields its port and its process."""
    with tempfile.TemporaryDirectory() as directory:
        with socket.create_server(("127.0.0.1", 0)) as found:
            port = found.getsockname()[1]
        path = Path(directory, "site.yaml")
        path.write_text(dedent(CONFIGURATION.format(port=port, endpoint=endpoint)))
        environment = {**os.environ, "PYTHONPATH": root, "ACCESS": "a", "SECRET": "s"}
        command = [sys.executable, "-m", "tornado_proxy", "serve", "--config", str(path)]
        process = subprocess.Popen(command, env=environment, cwd=root, stderr=subprocess.DEVNULL)
        try:
            time.sleep(START)
            yield port, process
        finally:
            process.kill()
            process.wait()


def main(root: str) -> None:
    """Measures each attack on a new server."""
    part = f"HTTP/1.1\r\nHost: h\r\nContent-Length: {64 * MIB}\r\n\r\n"
    parts = [f"PUT /big?upload=part&id=1&number={number} {part}" for number in (1, 2)]
    files = [f"PUT /{number} {part}" for number in range(16)]
    with subprocess.Popen([sys.executable, __file__, "--s3"], stdout=subprocess.PIPE, text=True) as storage:
        assert storage.stdout is not None
        endpoint = storage.stdout.readline().strip()
        for attack in (
            downloads,
            lambda port, _: uploads(port, "2 parts of 64 MiB that stop", parts),
            lambda port, _: uploads(port, "16 files that stop after 70 kB", files),
            lambda port, _: archives(port, "HEAD"),
            lambda port, _: archives(port, "GET"),
        ):
            with service(root, endpoint) as (port, process):
                asyncio.run(attack(port, process))
        storage.kill()


if __name__ == "__main__":
    if "--s3" in sys.argv:
        asyncio.run(serve_s3())
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).parents[1]))
