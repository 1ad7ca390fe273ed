"""What slow and greedy clients leave for others: downloads by the thousand, uploads that stop, archives by the dozen.

    python benchmarks/slow_clients.py [ROOT]
    python benchmarks/slow_clients.py --readers NUMBER [ROOT]

ROOT is the directory of another version to measure. The clients of an attack have the address 127.0.0.1, and the one
whose requests are timed has 127.0.0.2. With `--readers`, this many clients of twenty addresses read 50 MiB at 10 kB/s
each, and only they are measured.
"""

from __future__ import annotations

import asyncio
import os
import random
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

import uvloop

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


# Its sockets would buffer megabytes for each reader; they are another machine's, whose memory is not ours.
NGINX = """\
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; sendfile on; keepalive_requests 1000000;
  server {{ listen 127.0.0.1:{port} backlog=1024 sndbuf=128k; root {folder}; }}
}}
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
            head, asked = b"200 OK", re.search(rb"(?i)\r\nrange: bytes=(\d+)-(\d*)", request)
            if asked:
                first, last = int(asked[1]), int(asked[2] or left - 1)
                head = b"206 Part\r\nContent-Range: bytes %d-%d/%d" % (first, last, left)
                left = last - first + 1
            writer.write(b'HTTP/1.1 %b\r\nETag: "e"\r\nContent-Length: %d\r\n\r\n%b' % (head, left, listing))
            left -= len(listing)
            while left:
                writer.write(bytes(min(left, 64 * KIB)))
                left -= min(left, 64 * KIB)
                await writer.drain()
    writer.close()


async def serve_s3() -> None:
    """Serves the S3, and prints its endpoint."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 128 * KIB)  # of another machine, whose memory is not ours
    server = await asyncio.start_server(s3, sock=listening, limit=MIB)
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


READ, EVERY = 40 * KIB, 4.0  # bytes and seconds, on average, of a reader at 10 kB/s; readers do not wait in step
SETTLES = 30  # seconds after the last reader came
ADDRESSES = 20
RAMP = 400  # new readers a second


async def read_slowly(port: int, number: int) -> None:
    """Reads 50 MiB at 10 kB/s on many connections until standard input ends, and prints how many are served."""
    stop, served = asyncio.Event(), 0
    loop = asyncio.get_running_loop()

    async def slow(which: int) -> None:
        nonlocal served
        with socket.socket() as sock, suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, READ // 2)
            sock.setblocking(False)
            sock.bind((f"127.0.1.{1 + which % ADDRESSES}", 0))
            await loop.sock_connect(sock, ("127.0.0.1", port))
            await loop.sock_sendall(sock, f"GET /{50 * MIB}.bin HTTP/1.1\r\nHost: h\r\n\r\n".encode())
            is_served = (await loop.sock_recv(sock, 1024)).startswith(b"HTTP/1.1 200")
            served += is_served
            while is_served and not stop.is_set():
                left = READ
                while left and (piece := await loop.sock_recv(sock, left)):
                    left -= len(piece)
                if left:
                    served -= 1
                    break
                await asyncio.sleep(EVERY * random.uniform(0.5, 1.5))

    readers = []
    for which in range(number):
        readers.append(asyncio.ensure_future(slow(which)))
        if which % (RAMP // 10) == 0:
            await asyncio.sleep(0.1)
    await asyncio.sleep(SETTLES)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    print(served, flush=True)
    stop.set()
    for each in readers:
        each.cancel()
    await asyncio.gather(*readers, return_exceptions=True)


async def crowd(port: int, process: subprocess.Popen[bytes], number: int) -> None:
    """Times the requests of one client while others read downloads at 10 kB/s."""
    before = memory(process)
    command = [sys.executable, __file__, "--read", str(port), str(number)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as clients:  # noqa: ASYNC220
        assert clients.stdin is not None
        assert clients.stdout is not None
        await asyncio.to_thread(clients.stdout.readline)
        cpu, began = cpu_seconds(process), time.perf_counter()
        answers = []
        for _ in range(300):
            answers.append(await ask(port, "GET /1024.bin"))
            await asyncio.sleep(0.05)
        share = (cpu_seconds(process) - cpu) / (time.perf_counter() - began)
        used = memory(process)
        served = int(clients.communicate("\n")[0])
    times = sorted(seconds for _, seconds in answers)
    latencies = ", ".join(
        f"{part:.0%} within {times[int(part * len(times)) - 1] * 1000:.0f} ms" for part in (0.5, 0.9, 0.99, 1)
    )
    statuses = Counter(status for status, _ in answers)
    print(f"{number} readers at 10 kB/s, {served} served: {used / KIB:.0f} MiB in all,", end=" ")
    print(f"{(used - before) / served:.0f} KiB each, {share:.0%} of a processor")
    print(f"  a GET of 1 KiB meanwhile ({dict(statuses)}): {latencies}", flush=True)


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """Returns the CPU time of a process."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
def nginx() -> Iterator[str]:
    """Serves two objects as S3 does, with ranges, faster than Python could; yields the endpoint."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        folder.chmod(0o755)
        with socket.create_server(("127.0.0.1", 0)) as found:
            port = found.getsockname()[1]
        (folder / "bucket").mkdir()
        for size in (KIB, 50 * MIB):
            (folder / "bucket" / f"{size}.bin").write_bytes(bytes(size))
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
        process = subprocess.Popen(["/usr/sbin/nginx", "-c", str(folder / "nginx.conf")])
        try:
            time.sleep(1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


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


def measure_crowd(root: str, readers: int) -> None:
    """Measures a crowd of readers at 10 kB/s."""
    with nginx() as endpoint, service(root, endpoint) as (port, process):
        asyncio.run(crowd(port, process, readers))


ROOT = str(Path(__file__).parents[1])

if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--s3"]:
            uvloop.run(serve_s3())
        case ["--read", port, number]:
            uvloop.run(read_slowly(int(port), int(number)))
        case ["--readers", number, *root]:
            measure_crowd(root[0] if root else ROOT, int(number))
        case root:
            main(root[0] if root else ROOT)
