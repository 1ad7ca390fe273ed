"""Requests of HTTP/2 and their answers: like those of HTTP/1.1, and heads and bodies that are not accepted."""

import pytest
from h2.errors import ErrorCodes
from http2_client import connect, head
from memory_store import MemoryStore
from serving import serve

from tornado_proxy.config.actions import Actions, PutAction
from tornado_proxy.config.server import Limits

UPLOADS = Actions(put=PutAction(enabled=True, allow_override=True, raw_uploads=True))
GET = {":method": "GET", ":scheme": "https", ":authority": "files.test", ":path": "/a"}


def _fields(*more, **pseudo):
    """The fields of a GET, with pseudo-headers that differ; None leaves one out."""
    all_pseudo = {**GET, **{f":{name}": value for name, value in pseudo.items()}}
    return [*((name, value) for name, value in all_pseudo.items() if value is not None), *more]


@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_is_stored(announced):
    """A body larger than all windows arrives, with and without a Content-Length."""
    store, content = MemoryStore(), bytes(range(256)) * 12_000
    async with serve(store, actions=UPLOADS) as site, connect(site) as client:
        number = await client.ask(head("PUT", "/a", length=len(content) if announced else 0), content)
        assert (await client.receive(number)).status == 201
        assert (await client.request("GET", "/a")).body == content


async def test_expect_is_answered_with_100():
    """A client that waits is asked for its body."""
    async with serve({}, actions=UPLOADS) as site, connect(site) as client:
        number = await client.ask(head("PUT", "/a", {"Expect": "100-continue"}, 3), ends=False)
        while not client.answers[number].interim:
            assert await client.read()
        await client.send_body(number, b"abc")
        assert (await client.receive(number)).status == 201
    assert client.answers[number].interim == ["100"]


async def test_a_refusal_comes_before_the_body():
    """A client that still sends reads the answer; what it sends does not reach the application."""
    async with (
        serve({}, actions=Actions(put=PutAction(enabled=True, raw_uploads=True, max_size=10))) as site,
        connect(site) as client,
    ):
        number = await client.ask(head("PUT", "/a", length=50_000_000), bytes(50_000_000))
        answer = await client.receive(number)
    assert (answer.status, answer.ended) == (413, True)


async def test_a_body_is_not_asked_for_after_its_refusal(caplog):
    """A client that waits gets the answer alone, and its connection goes on."""
    async with serve({"a": b"x"}) as site, connect(site) as client:
        number = await client.ask(head("PUT", "/a", {"Expect": "100-continue"}, 3), ends=False)
        refused = await client.receive(number)
        while client.answers[number].reset is None:  # once it had the time to read the answer
            assert await client.read()
        answer = await client.request("GET", "/a")
    assert (refused.status, refused.interim, refused.reset) == (400, [], ErrorCodes.NO_ERROR)
    assert answer.body == b"x"
    assert caplog.text == ""


async def test_cookies_are_one_header():
    """A client may send each cookie as a field (RFC 9113 8.2.3)."""
    rules = "rewrite `^/a$` -> jinja \"/{{ request.headers['Cookie'] }}\""
    async with serve({"b=1; c=2": b"both"}, rules=rules) as site, connect(site) as client:
        number = await client.ask(_fields(("cookie", "b=1"), ("cookie", "c=2")))
        assert (await client.receive(number)).body == b"both"


async def test_rules_see_the_protocol():
    """A template of Go that asks for it gets the name that Go has for it."""
    rules = 'rewrite `^/a$` -> go "/{{ .Request.Proto }}"'
    async with serve({"HTTP/2.0": b"new", "HTTP/1.1": b"old"}, rules=rules) as site, connect(site) as client:
        assert (await client.request("GET", "/a")).body == b"new"
        assert (await site.get("/a")).body == b"old"


async def test_the_authority_is_the_host():
    """Rules and events see the authority as the host, and the scheme of the connection."""
    rules = 'rewrite `^/a$` -> jinja "/{{ request.scheme }}/{{ request.host }}"'
    async with serve({"https/h.test": b"yes"}, rules=rules) as site, connect(site) as client:
        answer = await client.receive(await client.ask(_fields(authority="h.test:8443")))
        event = await site.last_event()
    assert answer.body == b"yes"
    assert (event.request.host, event.request.protocol) == ("h.test", "HTTP/2.0")


MALFORMED = {
    "no method": _fields(method=None),
    "no scheme": _fields(scheme=None),
    "another scheme": _fields(scheme="ftp"),
    "no path": _fields(path=None),
    "an empty path": _fields(path=""),
    "a path with a space": _fields(path="/a b"),
    "a path with a line end": _fields(path="/a\r\nx: y"),
    "an address as the path": _fields(path="https://other.test/a"),
    "an asterisk": _fields(path="*"),
    "neither authority nor host": _fields(authority=None),
    "an authority with a user": _fields(authority="ann@files.test"),
    "an empty authority and a host": _fields(("host", "files.test"), authority=""),
    "two hosts": _fields(("host", "a"), ("host", "a"), authority=None),
    "another host": _fields(("host", "other.test")),
    "a method that is not a token": _fields(method="GE T"),
    "a CONNECT with a path": _fields(method="CONNECT"),
    "an extended CONNECT": _fields(method="CONNECT", protocol="websocket"),
    "a status": _fields(status="200"),
    "a pseudo-header twice": [*_fields(), (":path", "/b")],
    "a pseudo-header behind a header": [*_fields(("a", "b"), path=None), (":path", "/a")],
    "upper case": _fields(("A", "b")),
    "a name with a colon": _fields(("a:b", "c")),
    "a name with a space": _fields(("a b", "c")),
    "no name": _fields(("", "c")),
    "a line end": _fields(("a", "b\r\nc: d")),
    "a null": _fields(("a", "b\0c")),
    "a control character": _fields(("a", "b\x01c")),
    "a blank at the end": _fields(("a", "b ")),
    "a connection": _fields(("connection", "close")),
    "a kept connection": _fields(("keep-alive", "timeout=5")),
    "a proxy's connection": _fields(("proxy-connection", "close")),
    "chunks": _fields(("transfer-encoding", "chunked")),
    "an upgrade": _fields(("upgrade", "websocket")),
    "codings": _fields(("te", "gzip")),
    "a length that is not a number": _fields(("content-length", "five")),
    "two lengths": _fields(("content-length", "5"), ("content-length", "6")),
    "a length without a body": _fields(("content-length", "5")),
}


@pytest.mark.parametrize("fields", MALFORMED.values(), ids=MALFORMED)
async def test_a_malformed_head_ends_its_stream(fields):
    """It gets a 400 and an event, its stream an error; the connection goes on."""
    async with serve({"a": b"x"}) as site, connect(site) as client:
        if fields[0] == (":status", "200"):
            pytest.skip("h2 sends no such head")
        answer = await client.receive(await client.ask(fields))
        event = await site.last_event()
        other = await client.request("GET", "/a")
    assert (answer.status, answer.reset, answer.ended) == (400, ErrorCodes.PROTOCOL_ERROR, False)
    assert answer.headers["x-request-id"] in answer.text
    assert event.is_error
    assert (event.status, event.request.method, event.request.path) == (400, "", "")
    assert other.status == 200


@pytest.mark.parametrize(("announced", "sent"), [(5, 3), (5, 7), (5, 70_000)])
async def test_a_body_of_another_length_stores_nothing(announced, sent):
    """A body that is longer or shorter than announced is a 400 and an error of its stream."""
    store = MemoryStore()
    async with serve(store, actions=UPLOADS) as site, connect(site) as client:
        number = await client.ask(head("PUT", "/a", length=announced), bytes(sent))
        answer = await client.receive(number)
        assert (await client.request("GET", "/a")).status == 404
    assert (answer.status, answer.reset) == (400, ErrorCodes.PROTOCOL_ERROR)


@pytest.mark.parametrize("sent", [3, 7])
async def test_a_body_of_another_length_behind_its_answer(sent):
    """A client that was refused before its body arrived is told of the mistake too."""
    async with serve({}) as site, connect(site) as client:
        number = await client.ask(head("POST", "/a", length=5), ends=False)
        answer = await client.receive(number)
        client.h2.send_data(number, bytes(sent), end_stream=True)
        await client.flush()
        while answer.reset is None:
            assert await client.read()
        assert (await client.request("GET", "/a")).status == 404
    assert (answer.status, answer.ended, answer.reset) == (405, True, ErrorCodes.PROTOCOL_ERROR)


async def test_malformed_trailers_store_nothing():
    """A pseudo-header in trailers is an error of their stream."""
    async with serve({}, actions=UPLOADS) as site, connect(site) as client:
        number = await client.ask(head("PUT", "/a"), b"abc", ends=False)
        client.h2.send_headers(number, [(":path", "/b")], end_stream=True)
        await client.flush()
        answer = await client.receive(number)
        assert (await client.request("GET", "/a")).status == 404
    assert (answer.status, answer.reset) == (400, ErrorCodes.PROTOCOL_ERROR)


async def test_a_large_head_is_a_431():
    """A head above the limit is refused; the connection goes on."""
    async with serve({"a": b"x"}) as site, connect(site, Limits(max_header_size=4096)) as client:
        large = await client.request("GET", "/a", {"X-Long": "x" * 4096})
        small = await client.request("GET", "/a", {"X-Long": "x" * 3500})
    assert (large.status, small.status) == (431, 200)


async def test_many_headers_are_a_431():
    """Each field counts, also an empty one."""
    async with serve({"a": b"x"}) as site, connect(site) as client:
        number = await client.ask(_fields(*((f"x{n}", "") for n in range(600))))
        assert (await client.receive(number)).status == 431
