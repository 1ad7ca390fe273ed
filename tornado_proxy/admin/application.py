"""The application of the admin listener: a handler for each page and command of operators."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from ipaddress import ip_address
from operator import methodcaller
from socket import AF_UNIX, gethostname, socket
from ssl import SSLContext
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream
from tornado.web import Application, RequestHandler

from tornado_proxy.admin.administration import Administration
from tornado_proxy.admin.limits import LARGEST_BODY, LONGEST_FIELD, SPARE
from tornado_proxy.admin.status import StatusPages
from tornado_proxy.config.model import Settings
from tornado_proxy.config.server import LOG_LEVELS
from tornado_proxy.routing.request import host_name
from tornado_proxy.semantics.request import peer_address
from tornado_proxy.service.process import Process
from tornado_proxy.telemetry.events import ReloadReport
from tornado_proxy.wire.server import Acceptor
from tornado_proxy.wire.tls import make_context

_ASKED = ("method", "path", "host", "user", "file")

_LOCAL_NAMES = {"localhost", gethostname().lower()}
_ELSEWHERE = ("cross-site", "same-site")  # another port of this machine is the same site
_OF_BROWSERS = ("Origin", "Sec-Fetch-Site", "Referer")
_READ_ONLY = "this listener is read-only: use the Unix socket of `--admin-socket`"


def admin_application(administration: Administration) -> Application:
    """The application of the admin listener."""
    shared = {"administration": administration, "pages": StatusPages()}
    return Application(
        [
            *((path, handler, {**shared, **options}) for path, (handler, options) in _HANDLERS.items()),
            (r"/-/assets/.*", _Asset, shared),
            (r"/-?", _Root, shared),
        ],
        default_handler_class=_Handler,
        default_handler_args=shared,
        log_function=lambda _handler: None,
    )


class _Handler(RequestHandler):
    """The base class of all pages; by itself it answers 404."""

    allow = "GET, HEAD"

    def initialize(
        self,
        administration: Administration,
        pages: StatusPages,
        call: Callable[[Administration], Any] = methodcaller("status"),
    ) -> None:
        self.administration, self.pages, self.call = administration, pages, call

    def prepare(self) -> None:
        # A web page can make its own host name resolve to this address (DNS rebinding).
        peer = self.request.remote_ip or ""
        if _is_address(peer) and ip_address(peer_address(peer)).is_loopback and not self.is_named:
            name = self.request.host_name
            self.say(421, f"this listener is not called `{name}`: ask for its address, or `localhost`")

    @property
    def is_named(self) -> bool:
        """Whether the request's Host is an address or a name of this machine, which no other site can have."""
        name = host_name(self.request.host)
        return name in _LOCAL_NAMES or _is_address(name)

    @property
    def may_command(self) -> bool:
        """Whether the listener takes commands: always on a Unix socket, whose permissions say who may use it."""
        context: Any = getattr(self.request.connection, "context", None)
        return not self.administration.is_read_only or getattr(context, "address_family", None) == AF_UNIX

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Content-Type-Options", "nosniff")

    def write_error(self, status_code: int, **_kwargs: Any) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        if status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            self.set_header("Allow", self.allow)
        self.finish(f"{status_code}; the pages are {', '.join(_HANDLERS)}\n")

    def get(self) -> Awaitable[None] | None:
        self.send_error(404)
        return None

    def head(self) -> Awaitable[None] | None:
        # Tornado leaves out the body.
        return self.get()

    def say(self, status: int, text: str) -> None:
        self.set_status(status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{text}\n")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class _Root(_Handler):
    def get(self) -> None:
        self.redirect("-/")


class _Page(_Handler):
    """A page for people."""

    @property
    def may_act(self) -> bool:
        return self.may_command and self.is_named

    def show(self, body: bytes) -> None:
        for name, value in self.pages.headers:
            self.set_header(name, value)
        self.finish(body)


class _Overview(_Page):
    """The status page."""

    async def get(self) -> None:
        fields = {name: self.get_query_argument(name, "")[:LONGEST_FIELD] for name in _ASKED}
        asked = {name: text for name, text in fields.items() if text}
        # People may follow links from other sites; pages of other sites may not use processor time in the background.
        site, *visit = (self.request.headers.get(f"Sec-Fetch-{name}") for name in ("Site", "Mode", "Dest"))
        if asked and site in _ELSEWHERE and visit != ["navigate", "document"]:
            self.say(403, "not for the page of another site")
            return
        self.show(self.pages.render(await self.administration.overview(asked), may_act=self.may_act))


class _Draft(_Page):
    """A box with a rule file, whose draft is tried on the last requests; only the page itself can post it.

    Nothing is written.
    """

    allow = "GET, HEAD, POST"

    def prepare(self) -> None:
        super().prepare()
        if self._finished:
            return
        if not self.may_command:
            self.say(403, _READ_ONLY)
        elif not self.is_named:
            self.say(421, "drafts are taken at an address of this listener, or at `localhost`")
        elif self.request.method == "POST":
            # Browsers name the origin of every POST (Fetch, 3.2).
            own, asked = f"{self.request.protocol}://{self.request.host}".lower(), self.request.headers
            if asked.get("Origin", "").lower() != own or asked.get("Sec-Fetch-Site", "same-origin") != "same-origin":
                self.say(403, "only from the page itself")

    async def get(self) -> None:
        self.show(self.pages.render_draft(await self.administration.draft(self.get_query_argument("file", ""))))

    async def post(self) -> None:
        file, text = self.get_body_argument("file"), self.get_body_argument("text", strip=False)
        self.show(self.pages.render_draft(await self.administration.draft(file, text)))


class _Asset(_Handler):
    def get(self) -> None:
        asset = self.pages.assets.get(self.request.path.rpartition("/")[2])
        if asset is None:
            self.send_error(404)
            return
        for header, value in asset.headers:
            self.set_header(header, value)
        self.finish(asset.body)


class _Command(_Handler):
    """A page that changes something: it accepts POST only, and not from a browser."""

    allow = "POST"

    def prepare(self) -> None:
        super().prepare()
        if self._finished:
            return
        if not self.may_command:
            self.say(403, _READ_ONLY)
        # Any web page can post to loopback, but it cannot hide these headers (Fetch, 3.2).
        elif self.request.method == "POST" and any(name in self.request.headers for name in _OF_BROWSERS):
            self.say(403, "not from a browser")

    def get(self) -> None:
        self.set_header("Allow", self.allow)
        self.say(405, "this page takes POST only")


class _Purge(_Command):
    """Purges caches; answers when that is done."""

    async def post(self) -> None:
        # Without a parameter more is purged, so a mistyped one must not be ignored.
        query = self.request.query_arguments
        if self.request.body or any(name not in ("target", "prefix") or len(query[name]) > 1 for name in query):
            self.say(400, "a purge takes `target` and `prefix` in the query, each once, and nothing else")
            return
        target, prefix = self.get_query_argument("target", None), self.get_query_argument("prefix", "", strip=False)
        purged = await self.administration.purge(target, prefix)
        if purged is None:
            self.say(404, f"target `{target}` has no cache")
        else:
            self.finish({"purged": purged})


class _LogLevel(_Command):
    async def post(self) -> None:
        level = self.get_query_argument("level", "")
        if level not in LOG_LEVELS:
            self.say(400, f"missing or unknown level: use `?level=` with one of {', '.join(LOG_LEVELS)}")
            return
        self.administration.set_log_level(level)
        self.finish({"level": level})


class _Reload(_Command):
    """Reloads; answers 200 if the files on disk are in force, 422 if they are refused."""

    async def post(self) -> None:
        in_force, report = await self.administration.reload()
        self.set_status(200 if in_force else 422)
        self.finish(dict(report))


class _Answer(_Handler):
    """A page for programs, whose content `call` returns, if need be with its status: JSON, a text, or metrics."""

    async def get(self) -> None:
        content = self.call(self.administration)
        status, body = content if isinstance(content, tuple) else (200, await content)
        if isinstance(body, str):
            self.say(status, body)
            return
        self.set_status(status)
        if isinstance(body, bytes):
            self.set_header("Content-Type", CONTENT_TYPE_LATEST)
        self.finish(body)


def _readiness(yes: str | dict[str, str], no: str | dict[str, str]) -> dict[str, Any]:
    """Returns the options of a page that says whether requests are answered."""
    return {"call": lambda administration: (200, yes) if administration.is_ready() else (503, no)}


_HANDLERS: Mapping[str, tuple[type[_Handler], dict[str, Any]]] = {
    "/-/": (_Overview, {}),
    "/-/draft": (_Draft, {}),
    "/-/healthy": (_Answer, {"call": lambda _: (200, "healthy")}),
    "/-/ready": (_Answer, _readiness("ready", "not ready")),
    "/-/reload": (_Reload, {}),
    "/-/requests": (_Answer, {"call": methodcaller("requests")}),
    "/-/purge": (_Purge, {}),
    "/-/log-level": (_LogLevel, {}),
    "/-/status": (_Answer, {"call": methodcaller("status")}),
    "/-/rewrites": (_Answer, {"call": methodcaller("rewrites")}),
    "/metrics": (_Answer, {"call": methodcaller("metrics")}),
    "/health": (_Answer, _readiness({"status": "UP"}, {"status": "DOWN"})),  # as s3-proxy answers
    "/config": (_Answer, {"call": methodcaller("configuration")}),
}
PATHS = tuple(_HANDLERS)


@asynccontextmanager
async def admin_listener(process: Process, sockets: Sequence[socket]) -> AsyncIterator[None]:
    """Answers operators on listening sockets."""
    administration = Administration(process)
    # Tornado reads `ssl_options` for each connection, so that a renewed context can replace it. Whether it speaks TLS
    # at all is fixed here.
    tls = _tls(process.serving.configuration.settings)
    server = AdminServer(admin_application(administration), ssl_options=tls, max_body_size=LARGEST_BODY)

    def renew(report: ReloadReport) -> None:
        if report.is_new:
            server.ssl_options = _tls(process.serving.configuration.settings)

    process.bus.add(renew, ReloadReport)
    server.add_sockets(sockets)
    sampling = process.start_task("taking samples for the status page", administration.sample)
    try:
        yield
    finally:
        sampling.cancel()
        server.stop()
        await server.close_all_connections()


def _tls(settings: Settings) -> SSLContext | None:
    ssl = settings.internal_server.ssl
    return make_context(ssl) if ssl and ssl.enabled else None


class AdminServer(HTTPServer):
    """An HTTP server that keeps back a few descriptors for its connections.

    Sockets in the file system have no TLS: their permissions say who may use them.
    """

    def initialize(self, *arguments: Any, **options: Any) -> None:
        """Takes what `HTTPServer` takes; called by Tornado."""
        super().initialize(*arguments, **options)
        self._acceptor = Acceptor("connections to the admin listener", self._handle_connection, self._make_room)
        self._wanted = SPARE
        self._spare: list[int] = []

    def add_sockets(self, sockets: Iterable[socket]) -> None:
        """Accepts connections on sockets that do not block."""
        IOLoop.current()  # imports modules, for which there may be no descriptor later
        self._fill()
        self._acceptor.add_sockets(sockets)

    def stop(self) -> None:
        """Accepts no more, and closes the sockets."""
        self._acceptor.stop(leave_queue=True)
        self._wanted = 0
        while self._spare:
            os.close(self._spare.pop())

    def on_close(self, server_conn: object) -> None:
        """Keeps the descriptor of a connection that has ended; called by Tornado."""
        super().on_close(server_conn)
        asyncio.get_running_loop().call_soon(self._fill)

    def _handle_connection(self, connection: socket, address: Any) -> None:
        if connection.family == AF_UNIX:
            self.handle_stream(IOStream(connection), address)
        else:
            super()._handle_connection(connection, address)
        self._fill()

    def _make_room(self) -> bool:
        """Gives up a spare descriptor; if a thread takes it before the connection does, the next one is given up."""
        if not self._spare:
            return False
        os.close(self._spare.pop())
        return True

    def _fill(self) -> None:
        with suppress(OSError):
            while len(self._spare) < self._wanted:
                self._spare.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
