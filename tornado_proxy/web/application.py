"""The clients' application: each request gets a handler and one generation, which it keeps."""

from __future__ import annotations

import random
import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

from msgspec.structs import replace
from tornado.httputil import (
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerRequest,
    RequestStartLine,
    ResponseStartLine,
)

from tornado_proxy.routing.decide import Deciding, decide
from tornado_proxy.routing.plan import Attempt, ListTargets, Refuse, VisitProvider
from tornado_proxy.routing.request import ASSETS_AT, host_name, read_address, read_request
from tornado_proxy.semantics.forwarded import Origin, is_proxy, origin_behind, read_public_path
from tornado_proxy.semantics.request import READING
from tornado_proxy.telemetry.events import Event
from tornado_proxy.web.answer import Answer, Whole
from tornado_proxy.web.generation import Generation, Parts
from tornado_proxy.web.handler import HEALTHY, Handler, SharedApplication
from tornado_proxy.web.handlers import (
    AnswerHandler,
    DecidedHandler,
    MistakeHandler,
    ObjectHandler,
    SignInHandler,
    TargetListHandler,
)
from tornado_proxy.wire.stream import peer_of

_ID = re.compile(r"[0-9A-Za-z._:/+=@-]{1,128}")


class ProxyApplication(SharedApplication):
    """Serves the targets of the generation that `current` returns; `emit` gets the events."""

    def __init__(self, current: Callable[[], Generation], emit: Callable[[Event], None]) -> None:
        super().__init__(emit)
        self.closing = AsyncExitStack()  # what `close` ends
        self._current = current

    def find_handler(self, request: HTTPServerRequest, **_kwargs: Any) -> Any:
        """Chooses the handler of a request, which gets the generation that is in force now; returns its delegate."""
        generation, peer = self._current(), peer_of(request)
        parts = generation.parts
        trusted, origin, named = parts.trusted_proxies, peer, None
        is_proxied = trusted is not None and is_proxy(peer, trusted)
        if trusted is not None and is_proxied:
            origin = origin_behind(peer, tuple(request.headers.get_all()), trusted)
            named = request.headers.get("X-Request-Id")  # by which the proxy logs it; else it is unique, not secret
        prefix = parts.settings.server.public_path
        if is_proxied and not prefix:
            prefix = read_public_path(request.headers.get("X-Forwarded-Prefix", "")) or ""
        if prefix:
            origin = replace(origin, public_path=prefix)
        request_id = named if named and _ID.fullmatch(named) else f"{random.getrandbits(64):016x}"
        given: Any
        try:
            handler, given = _handler_for(request, parts, origin, is_proxied=is_proxied)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer and the operator a reason
            handler, given = MistakeHandler, error
        arguments = {"given": given, "generation": generation, "origin": origin, "request_id": request_id}
        return _Delegate(handler(self, request, **arguments))

    async def close(self) -> None:
        """Ends what was started for the application: it follows no more edits, and lets go of its buckets."""
        await self.closing.aclose()


class _Delegate(HTTPMessageDelegate):
    """Starts a handler, and gives it the body when it is wanted."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def headers_received(
        self,
        start_line: RequestStartLine | ResponseStartLine,  # noqa: ARG002 - the handler has it in its request
        headers: HTTPHeaders,  # noqa: ARG002 - as above
    ) -> Awaitable[None] | None:
        """Begins to answer; what it returns is done when the body is wanted."""
        self._handler.start()
        body = self._handler.body
        return None if body.ended or body.is_wanted else body.until_wanted()

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        """Hands over a piece of the body; the connection reads on when there is room for more."""
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
) -> tuple[type[Handler], Deciding | Answer]:
    """Reads a request; returns its handler, and what that is given; raises `RequestError`."""
    if (mistake := getattr(asked.connection, "mistake", None)) is not None:
        raise mistake
    health_path = parts.settings.server.health_path
    if health_path and asked.uri == health_path and asked.method in READING:
        return AnswerHandler, HEALTHY
    policy = parts.policy_headers
    answer = policy.preflight(asked) if policy else None
    if answer is None and ASSETS_AT in asked.uri:
        answer = _asset(asked, parts)
    if answer is not None:
        return AnswerHandler, answer
    fields, host = tuple(asked.headers.get_all()), asked.headers.get("Host", "")
    request = read_request(asked.uri, asked.method, host, fields, origin.scheme, origin.address, asked.version)
    if is_proxied:
        authority = origin.authority or request.authority
        request = replace(request, host=host_name(authority), authority=authority, from_trusted_proxy=True)
    elif origin.certificate is not None:
        request = replace(request, certificate=origin.certificate)
    if origin.public_path:
        request = replace(request, public_path=origin.public_path)
    deciding = Deciding(decide(parts.mounts, request))
    decision = deciding.decision
    if decision.match is not None:
        return ObjectHandler, deciding
    # The list of targets has no plan while its access is being checked.
    first = decision.plan[0] if decision.plan else ListTargets()
    return _WITHOUT_TARGET[type(first)], deciding


_WITHOUT_TARGET: dict[type[Attempt], type[Handler]] = {
    ListTargets: TargetListHandler,
    Refuse: DecidedHandler,
    VisitProvider: SignInHandler,
}


def _asset(asked: HTTPServerRequest, parts: Parts) -> Answer | None:
    """Returns an asset of pages, which is public and available below every path."""
    if asked.method not in READING:
        return None
    name = read_address(asked.uri)[0].rpartition(ASSETS_AT)[2]
    all_pages = (parts.pages, *parts.renderer.pages.themed.values())
    asset = next((each.assets[name] for each in all_pages if name in each.assets), None)
    return Whole(200, asset.headers, asset.body) if asset else None
