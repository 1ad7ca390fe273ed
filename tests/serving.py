"""The application on a socket of 127.0.0.1 with a store, and a client that sends any bytes."""

import asyncio
import io
import json
import zipfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from ssl import SSLError
from typing import Any

from memory_store import MemoryStore
from msgspec import structs
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, PutAction
from tornado_proxy.config.model import Bucket, ListingOptions, Mount, Settings, Target
from tornado_proxy.config.providers import OidcProvider, Resource
from tornado_proxy.config.server import Limits, Log
from tornado_proxy.config.server import Server as ServerSettings
from tornado_proxy.pages.custom import CustomPages, PageRenderer, Recipe
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.mounts import Mounts, Site
from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.rules.loading import compile_documents
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.rules.parser import parse
from tornado_proxy.telemetry.events import ObjectUsed
from tornado_proxy.web.generation import Generation, Generations, Parts, Shared
from tornado_proxy.web.handlers import ProxyApplication
from tornado_proxy.wire.dialing import Fetched, Fetcher
from tornado_proxy.wire.server import HttpServer

BOUNDARY = "form-boundary-7c1d"
PAGES = Pages()
EVERYTHING = Actions(put=PutAction(enabled=True), delete=DeleteAction(enabled=True))
_ANY_UPLOAD = PutAction(enabled=True, allow_override=True, raw_uploads=True, direct_uploads=True)
WRITABLE = structs.replace(EVERYTHING, put=_ANY_UPLOAD)
"""As `EVERYTHING`, by each way to upload, also a file that replaces another."""


@dataclass(frozen=True)
class Received:
    """An answer as the client received it; `complete` is false if the connection closed before the announced end."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    complete: bool = True

    @property
    def text(self) -> str:
        """The body as UTF-8."""
        return self.body.decode()


def entries_of(answer: Received) -> list[str]:
    """The names in a listing that was asked for as JSON."""
    assert answer.status == 200
    return [each["name"] for each in json.loads(answer.body)["entries"]]


def files_in(answer: Received) -> dict[str, bytes]:
    """The files in an archive that was asked for as ZIP."""
    assert answer.status == 200
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def part(name: str, content: bytes = b"", *, filename: str | None = None, content_type: str | None = None) -> bytes:
    """One part of a form, after its boundary."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"'
    head += f'; filename="{filename}"' if filename is not None else ""
    head += f"\r\nContent-Type: {content_type}" if content_type else ""
    return f"{head}\r\n\r\n".encode() + content + b"\r\n"


def form(*parts: bytes) -> bytes:
    """A form of parts."""
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


FORM_TYPE = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}


class Client:
    """A connection that sends bytes and reads answers."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        """Sends bytes unchanged."""
        self.writer.write(data)
        await self.writer.drain()

    async def request(self, method: str, target: str, headers: Mapping[str, str] | None = None, body: bytes = b""):
        """Sends a request and reads the answer."""
        await self.send(head(method, target, headers, len(body)) + body)
        return await self.receive(method)

    async def receive(self, method: str = "GET") -> Received:
        """Reads one answer, and skips interim answers with status 100."""
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
        """Reads a status line and headers; names become lower case, and the values of a name are joined."""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
        headers: dict[str, str] = {}
        for name, _, value in (line.partition(": ") for line in lines[1:]):
            headers[name.lower()] = ", ".join(filter(None, (headers.get(name.lower()), value)))
        return int(lines[0].split()[1]), headers

    async def is_closed(self) -> bool:
        """Whether the server closes the connection and sends nothing more."""
        return await self.reader.read(1) == b""

    async def close(self) -> None:
        """Closes the connection."""
        self.writer.close()
        with suppress(ConnectionError, SSLError):
            await self.writer.wait_closed()

    def abort(self) -> None:
        """Resets the connection."""
        self.writer.transport.abort()


def head(method: str, target: str, headers: Mapping[str, str] | None = None, length: int = 0) -> bytes:
    """The head of a request."""
    all_headers = {"Host": "files.test", **({"Content-Length": str(length)} if length else {}), **(headers or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in all_headers.items())
    return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode()


@dataclass
class Serving:
    """A running application."""

    application: ProxyApplication
    server: HttpServer
    generations: Generations
    port: int
    events: list[Any] = field(default_factory=list)

    def swap(self, new: Generation) -> Generation:
        """Puts a generation in force and returns the previous one."""
        old, self.generations.in_force = self.generations.in_force, new
        return old

    @asynccontextmanager
    async def connect(self, **options: Any) -> AsyncIterator[Client]:
        """Opens a client's connection; `options` are asyncio's, such as those of TLS."""
        client = Client(*await asyncio.open_connection("127.0.0.1", self.port, **options))
        try:
            yield client
        finally:
            await client.close()

    async def request(self, method: str, target: str, headers: Mapping[str, str] | None = None, body: bytes = b""):
        """Sends a request on a new connection and reads the answer."""
        async with self.connect() as client:
            return await client.request(method, target, headers, body)

    async def get(self, target: str, **headers: str) -> Received:
        """Sends GET; in the names of headers, `_` stands for `-`."""
        return await self.request("GET", target, {name.replace("_", "-"): value for name, value in headers.items()})

    async def upload(self, target: str, *parts: bytes, **headers: str) -> Received:
        """Sends PUT with a form; in the names of headers, `_` stands for `-`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.request("PUT", target, {**FORM_TYPE, **named}, form(*parts))

    async def used(self) -> list[str]:
        """Waits until no request is under way, and returns the keys that webhooks were told of."""
        await self.last_event()
        return [event.body["outputMetadata"]["key"] for event in self.events if isinstance(event, ObjectUsed)]

    async def last_event(self) -> Any:
        """Waits until no request is under way, and returns the last event."""
        while self.application.in_flight:  # noqa: ASYNC110 - only tests wait for this, so the product has no event for it
            await asyncio.sleep(0)
        return self.events[-1] if self.events else None


@cache
def rule_set(text: str, name: str = "site") -> RuleSet:
    """The rule set of a target whose block has these statements."""
    parsed = parse(SourceFile("site.rules", f"target {name} {{\n{text}\n}}"))
    compiled = compile_documents([parsed.document])
    assert not parsed.diagnostics + compiled.diagnostics
    return compiled.rule_sets[name]


async def fetch_nothing(_wanted: object) -> Fetched:
    """Fails as if no server could be reached."""
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
    others: Sequence[Target] = (),
    providers: Sequence[OidcProvider] = (),
    log: Log | None = None,
) -> Generation:
    """A generation of one target, `site`, and of others with the same store."""
    target_actions = Actions(get, actions.head, actions.put, actions.delete) if get else actions
    target = Target("site", mount or Mount(), bucket or Bucket("bucket"), target_actions, tuple(resources))
    target = structs.replace(target, listing=listing or ListingOptions())
    mounts = Mounts([Site(target, rule_set(rules)), *(Site(each, RuleSet(each.name)) for each in others)], providers)
    settings = Settings(server=server or ServerSettings(), targets=(target, *others), limits=limits or Limits())
    settings = structs.replace(settings, log=log or Log())
    custom_pages = {
        (target, kind): recipe if recipe.keys else recipe.compiled()
        for kind, recipe in (custom or {}).items()
        for target in ("site", None)
        if target or not recipe.keys
    }
    renderer = PageRenderer(CustomPages(custom_pages, {"site": themed} if themed else {}))
    shared = dict.fromkeys(("site", *(each.name for each in others)), Shared(store))
    return Generation(number, Parts(settings, mounts, PAGES, shared, authenticators or {}, fetch, renderer, digest))


class TornadoServer(HTTPServer):
    """Tornado's own server, shut down as the service's is."""

    async def shut_down(self, _grace: float) -> None:
        """Closes the listener and all connections."""
        self.stop()
        await self.close_all_connections()


def tornado_server(application: ProxyApplication, limits: Limits) -> TornadoServer:
    """Tornado's own server for an application."""
    return TornadoServer(application, max_body_size=1 << 40, max_header_size=limits.max_header_size)


make_server: Callable[[ProxyApplication, Limits], Any] = HttpServer
"""Makes the server under the application; tests of the application replace it."""


@asynccontextmanager
async def serve(store: object, **parts: Any) -> AsyncIterator[Serving]:
    """Serves a store, or a memory store of these keys and bodies; `parts` are those of `generation`."""
    events: list[Any] = []
    store = MemoryStore(store) if isinstance(store, dict) else store
    generations = Generations(generation(store, **parts), events.append)
    application = ProxyApplication(generations, events.append)
    server = make_server(application, generations.in_force.parts.settings.limits)
    (listener,) = bind_sockets(0, "127.0.0.1")
    port = listener.getsockname()[1]
    server.add_sockets([listener])
    try:
        yield Serving(application, server, generations, port, events)
    finally:
        await server.shut_down(5)
        await generations.in_force.retire()
