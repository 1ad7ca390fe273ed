"""The application chooses a handler for each request; it relies on few private names of Tornado, which are still there."""

from __future__ import annotations

import inspect

import pytest
from serving import generation, serve
from tornado.httputil import HTTPConnection, HTTPServerRequest, RequestStartLine
from tornado.web import RequestHandler

from tornado_proxy.config.server import Cors, Server
from tornado_proxy.semantics.forwarded import Origin
from tornado_proxy.web.application import ProxyApplication
from tornado_proxy.web.handlers import AnswerHandler, MistakeHandler, ObjectHandler
from tornado_proxy.wire.headers import Fields
from tornado_proxy.wire.stream import Context, WireRequest


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
    assert type(application.handler(request)) is handler


def test_the_private_names_of_tornado_are_there():
    """A handler sets what `RequestHandler` sets and reads, without the parts for templates and for `_execute`."""
    application, line = ProxyApplication(lambda: generation({}), [].append), RequestStartLine("GET", "/a", "HTTP/1.1")
    request = HTTPServerRequest(start_line=line, headers=Fields((("Host", "h"),)), connection=_Connection())
    unused = {"_auto_finish", "_prepared_future", "ui"}
    assert vars(RequestHandler(application, request)).keys() - vars(application.handler(request)).keys() == unused
    source = "".join(map(inspect.getsource, (RequestHandler.write, RequestHandler.flush, RequestHandler.finish)))
    assert not any(f"self.{name}" in source for name in unused)
    assert "for transform in self._transforms" in source


def test_a_request_of_the_wire_has_all_that_tornados_has():
    """What no handler here asks for is read when it is asked for, with Tornado's result."""
    line, headers = RequestStartLine("GET", "/a?b=c&b=d", "HTTP/1.1"), Fields((("Host", "h:1"), ("Cookie", "e=f")))
    connection = _Connection()
    connection.context = Context("192.0.2.1", "http", Origin("192.0.2.1", "http"))
    arguments = {"start_line": line, "headers": headers, "connection": connection, "server_connection": None}
    ours, tornados = WireRequest(**arguments), HTTPServerRequest(**arguments)
    assert (ours.arguments, ours.host_name, ours.path, ours.cookies["e"].value) == (
        tornados.arguments,
        tornados.host_name,
        tornados.path,
        "f",
    )
    assert all(hasattr(WireRequest(**arguments), name) for name in vars(tornados))


async def test_a_request_keeps_its_generation():
    """The application counts a request until its answer is sent."""
    async with serve({"a": b"x"}) as site:
        await site.get("/a")
        await site.last_event()
        assert (site.application.in_flight, repr(site.current[0])) == (0, "<Generation 1, 0 requests>")
