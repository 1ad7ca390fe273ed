"""The clients' application: each request gets a handler and one generation, which it keeps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import lru_cache
from typing import Any

from msgspec.structs import replace
from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerRequest,
    RequestStartLine,
    ResponseStartLine,
)
from tornado.web import Application

from tornado_proxy.routing.decide import Deciding, decide
from tornado_proxy.routing.plan import Attempt, ListTargets, Refuse, VisitProvider
from tornado_proxy.routing.request import ASSETS_AT, Request, host_name, read_address, read_request
from tornado_proxy.semantics.forwarded import Origin, TrustedProxies, is_proxy, origin_behind, peer_address
from tornado_proxy.semantics.request import READING
from tornado_proxy.storage.shares import Shares
from tornado_proxy.telemetry.events import Event
from tornado_proxy.web.answer import Answer, Whole
from tornado_proxy.web.asked import request_id
from tornado_proxy.web.deciding import DecidedHandler
from tornado_proxy.web.generation import Generation, Parts
from tornado_proxy.web.handler import Handler
from tornado_proxy.web.handlers import (
    HEALTHY,
    AnswerHandler,
    MistakeHandler,
    ObjectHandler,
    SignInHandler,
    TargetListHandler,
)
from tornado_proxy.wire.stream import Stream, WireRequest
from tornado_proxy.wire.tls import address_of, certificate_of

# Walks through directories for archives: each takes a share of the processor, and more at once end no earlier.
_WALKS = 4
_WAITING_WALKS = 100

# Archives that are listed or sent: each holds the names of its files, some MiB, until a slow client has read it.
_ARCHIVES = 64

# Many requests come from one peer.
_peer = lru_cache(1024)(Origin)


class ProxyApplication(Application):
    """Serves the targets of the generation that `current` returns; `emit` gets the events."""

    def __init__(self, current: Callable[[], Generation], emit: Callable[[Event], None]) -> None:
        super().__init__()
        self.emit = emit
        self.in_flight = 0  # requests that are being answered
        self.walks = Shares("a walk through a directory", _WALKS, _WAITING_WALKS)
        self.archives = Shares("an archive", _ARCHIVES, _WAITING_WALKS)
        self.closing = AsyncExitStack()  # what `close` ends
        self._current = current

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        """Returns what takes a request of a connection."""
        return _Delegate(self, request_conn, server_conn)

    def find_handler(self, request: HTTPServerRequest, **_kwargs: Any) -> Any:
        """Returns what takes a request that a router of Tornado has read."""
        return _Delegate(self, request.connection, request.server_connection, request)

    def handler(self, request: HTTPServerRequest) -> Handler:
        """Returns the handler of a request, with the generation that is in force now."""
        generation = self._current()
        parts = generation.parts
        origin, is_proxied = _origin_of(request, parts.trusted_proxies)
        arguments: dict[str, Any]
        try:
            handler, arguments = _handler_for(request, parts, origin, is_proxied=is_proxied)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer and the operator a reason
            handler, arguments = MistakeHandler, {"mistake": error}
        made = handler(self, request, generation=generation, origin=origin, **arguments)
        made.id = request_id(request, is_proxied=is_proxied)
        return made

    async def close(self) -> None:
        """Ends what was started for the application: it follows no more edits, and lets go of its buckets."""
        await self.closing.aclose()


def _origin_of(request: HTTPServerRequest, trusted: TrustedProxies | None) -> tuple[Origin, bool]:
    """Returns where a request comes from, behind the proxies that are trusted, and whether one of them sent it."""
    peer = _peer_of(request)
    if trusted is None or not is_proxy(peer, trusted):
        return peer, False
    return origin_behind(peer, tuple(request.headers.get_all()), trusted), True


def _peer_of(request: HTTPServerRequest) -> Origin:
    """Returns where the connection of a request comes from.

    With `xheaders`, Tornado's server takes the address from headers that any client can send: it is not a proxy's.
    """
    context = getattr(request.connection, "context", None)
    origin: Origin | None = getattr(context, "origin", None)
    if origin is not None:
        return origin
    address = request.remote_ip or ""
    return _peer(peer_address(address), request.protocol, is_stand_in=address != address_of(request))


class _Delegate(HTTPMessageDelegate):
    """Gives a request to a handler, and the body as it arrives.

    Tornado's own delegate calls `put` only when the whole body has arrived, and takes 10 µs more.
    """

    _handler: Handler

    def __init__(
        self,
        application: ProxyApplication,
        connection: HTTPConnection | None,
        server_connection: object,
        request: HTTPServerRequest | None = None,
    ) -> None:
        self._application = application
        self._connection = connection
        self._server_connection = server_connection
        self._request = request

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> Awaitable[None] | None:
        """Begins to answer; what it returns is done when the body is wanted."""
        assert isinstance(start_line, RequestStartLine)
        request = self._request
        if request is None:
            # The wire has checked what it read; for any other server, Tornado's class does.
            kind = WireRequest if isinstance(self._connection, Stream) else HTTPServerRequest
            request = kind(
                start_line=start_line,
                headers=headers,
                connection=self._connection,
                server_connection=self._server_connection,
            )
        self._handler = handler = self._application.handler(request)
        handler.start()
        return None if handler.body.ended or handler.body.is_wanted else handler.body.until_wanted()

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        """Passes on a piece of the body."""
        return self._handler.data_received(chunk)

    def finish(self) -> None:
        """Marks the body as complete."""
        if not self._handler.body.ended:
            self._handler.body.end()

    def on_connection_close(self) -> None:
        """Breaks the request off."""
        self._handler.on_connection_close()


def _handler_for(
    asked: HTTPServerRequest, parts: Parts, origin: Origin, *, is_proxied: bool
) -> tuple[type[Handler], dict[str, Any]]:
    """Returns the handler of a request with its arguments; raises `RequestError`."""
    if (mistake := getattr(asked.connection, "mistake", None)) is not None:
        raise mistake
    health_path = parts.settings.server.health_path
    if health_path and asked.uri == health_path and asked.method in READING:
        return AnswerHandler, {"answer": HEALTHY}
    policy = parts.policy_headers
    answer = policy.preflight(asked) if policy else None
    if answer is None and ASSETS_AT in (asked.uri or ""):
        answer = _asset(asked, parts)
    if answer is not None:
        return AnswerHandler, {"answer": answer}
    deciding = _begin_deciding(asked, parts, origin, is_proxied=is_proxied)
    decision = deciding.decision
    if decision.match is not None:
        return ObjectHandler, {"deciding": deciding}
    # The list of targets has no plan while its access is being checked.
    first = decision.plan[0] if decision.plan else ListTargets()
    return _WITHOUT_TARGET[type(first)], {"deciding": deciding}


_WITHOUT_TARGET: dict[type[Attempt], type[Handler]] = {
    ListTargets: TargetListHandler,
    Refuse: DecidedHandler,
    VisitProvider: SignInHandler,
}


def _asset(asked: HTTPServerRequest, parts: Parts) -> Answer | None:
    """Returns an asset of pages, which is public and available below every path."""
    if asked.method not in READING:
        return None
    name = read_address(asked.uri or "")[0].rpartition(ASSETS_AT)[2]
    all_pages = (parts.pages, *parts.renderer.pages.themed.values())
    asset = next((each.assets[name] for each in all_pages if name in each.assets), None)
    return Whole(200, asset.headers, asset.body) if asset else None


def _begin_deciding(asked: HTTPServerRequest, parts: Parts, origin: Origin, *, is_proxied: bool) -> Deciding:
    """Begins to decide about a request, or repeats the decision about its address; raises `RequestError`."""
    fields, host = tuple(asked.headers.get_all()), asked.headers.get("Host", "")
    certificate = None if is_proxied or origin.scheme == "http" else certificate_of(asked)
    address = asked.method or "", (is_proxied and origin.authority) or host, asked.uri or ""
    if (repeated := parts.repeated.find(address)) is not None:
        known = repeated.request
        client = fields, origin.scheme, origin.address, asked.version, known.authority, is_proxied, certificate
        request = Request(known.method, known.host, known.path, known.raw_query, known.query, *client)
        return Deciding(repeated.again(request))
    where = origin.scheme, origin.address, asked.version
    request = read_request(asked.uri or "", asked.method or "", host, fields, *where)
    if is_proxied:
        authority = origin.authority or request.authority
        request = replace(request, host=host_name(authority), authority=authority, from_trusted_proxy=True)
    elif certificate is not None:
        request = replace(request, certificate=certificate)
    deciding = Deciding(decide(parts.mounts, request))
    if deciding.question is None:
        parts.repeated.keep(address, deciding.decision)
    return deciding
