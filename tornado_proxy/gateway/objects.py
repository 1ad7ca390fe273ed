"""The handler of every request: it hands Tornado's calls on to the exchange that answers, and does nothing else."""

from __future__ import annotations

from asyncio import Task
from collections.abc import Callable

from tornado.httputil import HTTPServerRequest
from tornado.web import RequestHandler, stream_request_body

from tornado_proxy.config.model import Limits
from tornado_proxy.gateway.body import Body
from tornado_proxy.gateway.errors import Departed


@stream_request_body
class ObjectHandler(RequestHandler):
    """One request; the body is read when the exchange asks for it, at the pace at which it takes it."""

    def initialize(self, begin: Callable[[ObjectHandler, Body], Task[None]], limits: Limits) -> None:
        """Take what starts an exchange; Tornado's way of handing things to a handler."""
        self._begin = begin
        self._body = Body(limits.body_timeout, announced=_announces_body(self.request))
        self._auto_finish = False  # the exchange ends the answer, or cuts it

    async def prepare(self) -> None:
        """Begin the exchange, and wait until it wants the body or will not have it."""
        if self.request.method != "PUT":
            self._body.discard()
        self._exchange = self._begin(self, self._body)
        await self._body.wanted.wait()

    async def data_received(self, chunk: bytes) -> None:
        """Pass on a piece of the body; Tornado reads no more until it is taken."""
        await self._body.deliver(chunk)

    async def _complete(self) -> None:
        self._body.end()
        await self._exchange

    get = head = post = put = patch = delete = options = _complete

    def on_connection_close(self) -> None:
        """Tell the exchange that nothing more will come; what it sends from now on will tell it the rest."""
        self._body.break_off(Departed("the client went away"))
        super().on_connection_close()

    def compute_etag(self) -> None:
        """No ETag but the object's own: Tornado's is a hash of what was written in one piece."""

    def set_default_headers(self) -> None:
        """Leave out what Tornado says of itself, and the type that it supposes."""
        self.clear_header("Server")
        self.clear_header("Content-Type")


def _announces_body(request: HTTPServerRequest) -> bool:
    headers = request.headers
    return "Transfer-Encoding" in headers or headers.get("Content-Length", "").strip("0") != ""
