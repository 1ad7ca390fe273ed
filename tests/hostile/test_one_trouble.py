"""A bucket that hangs, in any of its calls and with many requests, leaves its time to the others."""

import asyncio
import socket
import threading
import time
from contextlib import asynccontextmanager, closing, suppress

import pytest
from hostile_s3 import silent_port
from quirky_s3 import answer
from serving import head

from tornado_proxy.service.serving import SingleProcess
from tornado_proxy.service.snapshot import SnapshotReader, compile_snapshot

MIB = 1024**2
CLIENTS = 12
RESOLVE = socket.getaddrinfo
LISTING = (
    b"<ListBucketResult><Name>b</Name><IsTruncated>false</IsTruncated>"
    b"<Contents><Key>d/a</Key><ETag>1</ETag><Size>5</Size></Contents></ListBucketResult>"
)
LARGE = b"x" * (9 * MIB)  # two parts
REQUESTS = {
    "GET": ("GET", "/d/a", b""),
    "HEAD": ("HEAD", "/d/a", b""),
    "listing": ("GET", "/d/", b""),
    "sorted": ("GET", "/d/?sort=size", b""),
    "archive": ("GET", "/d/?format=tar", b""),
    "small": ("PUT", "/new", b"x" * 1000),
    "large": ("PUT", "/large", LARGE),
    "DELETE": ("DELETE", "/gone", b""),
}
"""The kinds of requests: each meets its own pools."""
HANGS = {
    "name": [*REQUESTS],
    "connection": [*REQUESTS],
    "TLS": [*REQUESTS],
    "answer": [*REQUESTS],
    "body": ["GET", "archive", "listing", "sorted"],
    "list": ["listing", "sorted", "archive"],
    "put": ["small", "large"],
    "complete": ["large"],
}
"""The calls of S3 that may hang, and the requests that hang then."""


async def ask(port: int, target: str, kind: str, client: str) -> int:
    """The status of a request; its body is read to its end."""
    method, path, body = REQUESTS[kind]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with closing(writer):
        named = {"X-Forwarded-For": client, "Connection": "close"}
        writer.write(head(method, f"/{target}{path}", named, len(body)))
        for start in range(0, len(body), 256 * 1024):
            writer.write(body[start : start + 256 * 1024])
            await writer.drain()
        return int((await reader.read()).split(b" ", 2)[1])


# What hangs: how an S3 answers a call, or that it never does.


async def _never() -> None:
    await asyncio.Event().wait()


@asynccontextmanager
async def hanging_at(call: str):
    """The URL of an S3 that hangs in one of its calls."""
    if call == "name":
        yield "http://name.hangs:9000"
        return
    if call == "connection":
        with silent_port() as port:
            yield f"http://127.0.0.1:{port}"
        return

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        with closing(writer), suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while call != "TLS" or await _never():
                await _answered(call, reader, writer)

    tasks: set[asyncio.Task[None] | None] = set()
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1000)
    scheme = "https" if call == "TLS" else "http"
    yield f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks)


async def _answered(call: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers one call of an S3, or never does."""
    got = (await reader.readuntil(b"\r\n\r\n")).decode()
    method, target, _ = got.split(" ", 2)
    length = next((int(line.split(":")[1]) for line in got.splitlines() if line.lower().startswith("content-le")), 0)
    if call == "answer" or (call == "list" and "list-type" in target) or (call == "put" and method == "PUT"):
        await _never()
    await reader.readexactly(length)
    if call == "complete" and method == "POST" and "uploadId" in target:
        await _never()
    if call == "body" and method == "GET":
        begun = LISTING[:50] if "list-type" in target else bytes(100_000)
        writer.write(f'HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Length: {10 * MIB}\r\n\r\n'.encode() + begun)
        await _never()
    if "list-type" in target:
        body = LISTING
    elif method == "POST" and "uploads" in target:
        body = b"<InitiateResult><UploadId>u</UploadId></InitiateResult>"
    elif method == "POST":
        body = b'<CompleteMultipartUploadResult><ETag>"1"</ETag></CompleteMultipartUploadResult>'
    else:
        body = b"" if method in ("PUT", "DELETE") else b"hello"
    writer.write(answer(204 if method == "DELETE" else 200, body, is_head=method == "HEAD", ETag='"1"'))
    await writer.drain()


CONFIGURATION = """
server: {{port: 0, trustedProxies: [127.0.0.0/8]}}
internalServer: {{port: 0}}
s3: {{probeInterval: 0s}}
targets:
"""
TARGET = """
  {name}:
    mount: {{path: /{name}}}
    bucket: {{name: bucket, s3Endpoint: "{url}", s3ForcePathStyle: true, readTimeout: 30s, timeout: 40s,
              credentials: {{accessKey: {{value: a}}, secretKey: {{value: s}}}}}}
    listing: {{archive: {{enabled: true}}}}
    resources: [{{path: /**, methods: [GET, PUT, DELETE], whiteList: true}}]
    actions:
      PUT: {{enabled: true, config: {{allowOverride: true, rawUploads: true}}}}
      DELETE: {{enabled: true}}
"""


@asynccontextmanager
async def service(folder, **urls: str):
    """The port of a service with a target for each URL of an S3."""
    targets = "".join(TARGET.format(name=name, url=url) for name, url in urls.items())
    (folder / "proxy.yaml").write_text(CONFIGURATION.format() + targets)
    configuration = compile_snapshot(SnapshotReader(folder / "proxy.yaml", {})())
    assert configuration.usable, configuration.diagnostics
    serving = SingleProcess(configuration)
    listener = socket.create_server(("127.0.0.1", 0), backlog=1000)
    listener.setblocking(False)
    await serving.start([listener], inherited=False)
    try:
        yield listener.getsockname()[1]
    finally:
        await serving.wind_down(0)


@pytest.fixture
def names(monkeypatch):
    """Names that end in `.hangs` are not resolved until the test ends."""
    let_go = threading.Event()

    def resolve(host, *arguments, **options):
        if host.endswith(".hangs") and not options.get("flags"):
            let_go.wait(30)
        return RESOLVE(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    yield
    let_go.set()


async def timed(port: int, number: int) -> dict[str, float]:
    """How long each kind of request to the healthy bucket takes."""
    took = {}
    for kind in REQUESTS:
        begun = time.monotonic()
        status = await ask(port, "good", kind, f"10.9.{number}.1")
        took[kind] = time.monotonic() - begun
        assert status in (200, 201, 204), (kind, status)
    return took


@pytest.mark.parametrize("call", HANGS)
async def test_a_bucket_that_hangs_leaves_the_others_their_time(tmp_path, names, call):
    """Many clients send requests of each kind to a bucket that hangs: no request of any kind to another waits."""
    async with hanging_at("nothing") as good, hanging_at(call) as bad, service(tmp_path, good=good, bad=bad) as port:
        alone = await timed(port, 0)
        asked = [
            asyncio.ensure_future(ask(port, "bad", kind, f"10.{at}.{client}.1"))
            for client in range(CLIENTS)
            for at, kind in enumerate(HANGS[call])
        ]
        await asyncio.sleep(1)  # until they hang: before that they take the processor
        beside = await timed(port, 1)
        for each in asked:
            each.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
    table = {each: (round(alone[each], 2), round(beside[each], 2)) for each in REQUESTS}
    print(call, table)
    assert [each for each, (before, after) in table.items() if after > 2 * before + 10] == []
