"""A gateway on a real socket of 127.0.0.1 with a store behind it, and a client that sends exactly what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from ssl import SSLError
from typing import Any

from memory_store import MemoryStore
from tornado.netutil import bind_sockets

from tornado_proxy.auth.fetching import Fetched, Fetcher
from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, PutAction
from tornado_proxy.config.model import Bucket, ListingOptions, Mount, Settings, Target
from tornado_proxy.config.providers import Resource
from tornado_proxy.config.server import Limits
from tornado_proxy.config.server import Server as ServerSettings
from tornado_proxy.gateway.custom_pages import PageRenderer
from tornado_proxy.gateway.generation import Generation, Parts, Shared
from tornado_proxy.gateway.server import Gateway, HttpServer
from tornado_proxy.lang.diagnostic import SourceFile
from tornado_proxy.lang.parser import parse
from tornado_proxy.pages.custom import CustomPages, Recipe
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.mounts import Mounts, Site
from tornado_proxy.rules.compile import compile_documents
from tornado_proxy.rules.model import RuleSet

BOUNDARY = "form-boundary-7c1d"
PAGES = Pages()
EVERYTHING = Actions(put=PutAction(enabled=True), delete=DeleteAction(enabled=True))


@dataclass(frozen=True)
class Received:
    """An answer as the client read it; `complete` is false where the connection closed before the announced end."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    complete: bool = True

    @property
    def text(self) -> str:
        """The body as UTF-8."""
        return self.body.decode()


def part(name: str, content: bytes = b"", *, filename: str | None = None, content_type: str | None = None) -> bytes:
    """One part of a form, with its boundary in front."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"'
    head += f'; filename="{filename}"' if filename is not None else ""
    head += f"\r\nContent-Type: {content_type}" if content_type else ""
    return f"{head}\r\n\r\n".encode() + content + b"\r\n"


def form(*parts: bytes) -> bytes:
    """A whole form."""
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


FORM_TYPE = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}


class Client:
    """A connection: bytes out, answers in."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.writer.write(data)
        await self.writer.drain()

    async def request(self, method: str, target: str, headers: Mapping[str, str] | None = None, body: bytes = b""):
        """Send a request and read its answer."""
        await self.send(head(method, target, headers, len(body)) + body)
        return await self.receive(method)

    async def receive(self, method: str = "GET") -> Received:
        """Read one answer, past any 100."""
        status, headers = await self.receive_head()
        while status == 100:
            status, headers = await self.receive_head()
        if method == "HEAD" or status in (204, 304):
            return Received(status, headers, b"")
        if "transfer-encoding" in headers:
            return await self._receive_chunks(status, headers)
        length = int(headers["content-length"])
        try:
            return Received(status, headers, await self.reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionResetError) as error:
            return Received(status, headers, getattr(error, "partial", b""), complete=False)

    async def _receive_chunks(self, status: int, headers: dict[str, str]) -> Received:
        body, size = bytearray(), -1
        try:
            while size:
                size = int(await self.reader.readuntil(b"\r\n"), 16)
                body += (await self.reader.readexactly(size + 2))[:-2]
        except (asyncio.IncompleteReadError, ConnectionResetError):
            return Received(status, headers, bytes(body), complete=False)
        return Received(status, headers, bytes(body))

    async def receive_head(self) -> tuple[int, dict[str, str]]:
        """Read a status line and headers, names in lower case; values of one name are joined."""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
        headers: dict[str, str] = {}
        for name, _, value in (line.partition(": ") for line in lines[1:]):
            headers[name.lower()] = ", ".join(filter(None, (headers.get(name.lower()), value)))
        return int(lines[0].split()[1]), headers

    async def is_closed(self) -> bool:
        """Whether the server has closed the connection, having sent nothing more."""
        return await self.reader.read(1) == b""

    async def close(self) -> None:
        """Close the connection."""
        self.writer.close()
        with suppress(ConnectionError, SSLError):
            await self.writer.wait_closed()

    def abort(self) -> None:
        """Reset the connection."""
        self.writer.transport.abort()


def head(method: str, target: str, headers: Mapping[str, str] | None = None, length: int = 0) -> bytes:
    """A request's head."""
    named = {"Host": "files.test", **({"Content-Length": str(length)} if length else {}), **(headers or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode()


@dataclass
class Serving:
    """A running gateway."""

    gateway: Gateway
    server: HttpServer
    force: list[Generation]  # the one in force
    port: int
    events: list[Any] = field(default_factory=list)

    def swap(self, new: Generation) -> Generation:
        """Put a generation in force; the one before is given back."""
        old, self.force[0] = self.force[0], new
        return old

    @asynccontextmanager
    async def connect(self, **tls: Any) -> AsyncIterator[Client]:
        """A client's connection; `tls` is what asyncio takes."""
        client = Client(*await asyncio.open_connection("127.0.0.1", self.port, **tls))
        try:
            yield client
        finally:
            await client.close()

    async def request(self, method: str, target: str, headers: Mapping[str, str] | None = None, body: bytes = b""):
        """One request on a connection of its own."""
        async with self.connect() as client:
            return await client.request(method, target, headers, body)

    async def get(self, target: str, **headers: str) -> Received:
        """GET, with headers named in Python's way."""
        return await self.request("GET", target, {name.replace("_", "-"): value for name, value in headers.items()})

    async def upload(self, target: str, *parts: bytes, **headers: str) -> Received:
        """PUT a form."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.request("PUT", target, {**FORM_TYPE, **named}, form(*parts))

    async def told(self) -> Any:
        """The last event, once no request is under way."""
        while self.gateway.in_flight:  # noqa: ASYNC110 - the product has no event for what only a test waits for
            await asyncio.sleep(0)
        return self.events[-1]


def rule_set(text: str, name: str = "site") -> RuleSet:
    """The rules of a target, given as the statements of its block."""
    parsed = parse(SourceFile("site.rules", f"target {name} {{\n{text}\n}}"))
    compiled = compile_documents([parsed.document])
    assert not parsed.diagnostics + compiled.diagnostics
    return compiled.rule_sets[name]


async def fetch_nothing(_wanted: object) -> Fetched:
    """Fetch from a network without a server."""
    raise OSError("refused")


def generation(
    store: object,
    *,
    number: int = 1,
    rules: str = "",
    bucket: Bucket | None = None,
    mount: Mount | None = None,
    actions: Actions = EVERYTHING,
    get: GetAction | None = None,
    resources: Sequence[Resource] = (),
    limits: Limits | None = None,
    authenticators: Mapping[str, Any] | None = None,
    server: ServerSettings | None = None,
    custom: Mapping[str, Recipe] | None = None,
    listing: ListingOptions | None = None,
    digest: str = "",
    themed: Pages | None = None,
    fetch: Fetcher = fetch_nothing,
) -> Generation:
    """A generation of one target, `site`."""
    doing = Actions(get, actions.head, actions.put, actions.delete) if get else actions
    target = Target("site", mount or Mount(), bucket or Bucket("bucket"), doing, tuple(resources))
    target = replace(target, listing=listing or ListingOptions())
    mounts = Mounts([Site(target, rule_set(rules))])
    settings = Settings(server=server or ServerSettings(), targets=(target,), limits=limits or Limits())
    own = {("site", kind): each if each.keys else each.compiled() for kind, each in (custom or {}).items()}
    renderer = PageRenderer(CustomPages(own, {"site": themed} if themed else {}))
    shared = {"site": Shared(store)}
    return Generation(number, Parts(settings, mounts, PAGES, shared, authenticators or {}, fetch, renderer, digest))


@asynccontextmanager
async def serve(store: object, **parts: Any) -> AsyncIterator[Serving]:
    """A gateway for a store, or for a memory store of keys and bytes; closed with everything that it opened."""
    force = [generation(_store(store), **parts)]
    events: list[Any] = []
    gateway = Gateway(lambda: force[0], events.append)
    server = HttpServer(gateway.begin, force[0].parts.settings.limits)
    (listening,) = bind_sockets(0, "127.0.0.1")
    port = listening.getsockname()[1]
    server.add_sockets([listening])
    try:
        yield Serving(gateway, server, force, port, events)
    finally:
        await server.shut_down(5)
        await force[0].retire()


def _store(given: object) -> object:
    if not isinstance(given, dict):
        return given
    store = MemoryStore()
    for key, content in given.items():
        store.add(key, content)
    return store
