"""The application chooses a handler for each request; it relies on few private names of Tornado, which are still there."""

from __future__ import annotations

import inspect

import pytest
from serving import generation, serve
from tornado.httputil import HTTPConnection, HTTPServerRequest, RequestStartLine
from tornado.web import RequestHandler

from tornado_proxy.config.server import Cors, Server
from tornado_proxy.web.application import ProxyApplication
from tornado_proxy.web.handlers import AnswerHandler, MistakeHandler, ObjectHandler
from tornado_proxy.wire.headers import Fields


class _Connection(HTTPConnection):
    """A connection that takes no answer."""

    def set_close_callback(self, callback):
        """Forgets it."""


@pytest.mark.parametrize(
    ("method", "target", "handler"),
    [
        ("GET", "/a", ObjectHandler),
        ("BREW", "/a", ObjectHandler),
        ("GET", "/%zz", MistakeHandler),
        ("GET", "*", MistakeHandler),
        ("OPTIONS", "/a", AnswerHandler),
    ],
)
def test_each_request_gets_its_handler(method, target, handler):
    """Objects, preflights and requests that cannot be read have handlers of their own."""
    application = ProxyApplication(lambda: generation({}, server=Server(cors=Cors(enabled=True))), [].append)
    headers = Fields((("Host", "h"), ("Access-Control-Request-Method", "PUT")))
    line = RequestStartLine(method, target, "HTTP/1.1")
    request = HTTPServerRequest(start_line=line, headers=headers, connection=_Connection())
    assert type(application.find_handler(request)._handler) is handler


def test_the_private_names_of_tornado_are_there():
    """`_execute` awaits `request._body_future` of a handler that streams, and leaves the answer to the methods."""
    source = inspect.getsource(RequestHandler._execute)
    assert list(inspect.signature(RequestHandler._execute).parameters) == ["self", "transforms", "args", "kwargs"]
    assert "await self.request._body_future" in source
    assert "self._prepared_future is not None" in source


async def test_a_request_keeps_its_generation():
    """The application counts a request until its answer is sent."""
    async with serve({"a": b"x"}) as site:
        await site.get("/a")
        await site.last_event()
        assert (site.application.in_flight, repr(site.current[0])) == (0, "<Generation 1, 0 requests>")
