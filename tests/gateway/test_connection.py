"""What Tornado would answer without us is answered by us: malformed heads, heads that are too large, broken framing."""

from __future__ import annotations

import asyncio
import logging

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving import serve

from tornado_proxy.config.model import Limits
from tornado_proxy.telemetry.events import Failed, Refused

HOST = "Host: files.test\r\n"

MALFORMED = {
    "no request line": "GARBAGE\r\n\r\n",
    "no version": "GET /\r\n\r\n",
    "another version": f"GET / HTTP/2.0\r\n{HOST}\r\n",
    "a space too many": f"GET  / HTTP/1.1\r\n{HOST}\r\n",
    "a method that is no token": f"G(T / HTTP/1.1\r\n{HOST}\r\n",
    "a control character": f"GET /\x01 HTTP/1.1\r\n{HOST}\r\n",
    "no host": "GET / HTTP/1.1\r\n\r\n",
    "two hosts": f"GET / HTTP/1.1\r\n{HOST}Host: other.test\r\n\r\n",
    "a broken host": "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
    "a header without a colon": f"GET / HTTP/1.1\r\n{HOST}nonsense\r\n\r\n",
    "a header with a space in its name": f"GET / HTTP/1.1\r\n{HOST}a b: c\r\n\r\n",
    "a folded header": f"GET / HTTP/1.1\r\n{HOST}a: b\r\n c\r\n\r\n",
    "a null": f"GET / HTTP/1.1\r\n{HOST}a: \x00\r\n\r\n",
    "a length that is none": f"PUT / HTTP/1.1\r\n{HOST}Content-Length: five\r\n\r\n",
    "a negative length": f"PUT / HTTP/1.1\r\n{HOST}Content-Length: -5\r\n\r\n",
    "an immense length": f"PUT / HTTP/1.1\r\n{HOST}Content-Length: {'9' * 5000}\r\n\r\n",
    "two lengths": f"PUT / HTTP/1.1\r\n{HOST}Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
    "a length and chunks": f"PUT / HTTP/1.1\r\n{HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    "an unknown coding": f"PUT / HTTP/1.1\r\n{HOST}Transfer-Encoding: gzip\r\n\r\n",
    "too many parameters": f"GET /?{'a&' * 1500} HTTP/1.1\r\n{HOST}\r\n",
}


@pytest.mark.parametrize("head", MALFORMED.values(), ids=MALFORMED)
async def test_a_malformed_head_is_answered(head, caplog):
    """A 400 with a page and a request id, an end of the connection, an event, and no line in any other log."""
    caplog.set_level(logging.WARNING)
    async with serve({}) as site, site.connect() as client:
        await client.send(head.encode("latin-1"))
        answer = await client.receive()
        closed, event = await client.is_closed(), await site.told()
    assert (answer.status, closed, answer.headers["connection"]) == (400, True, "close")
    assert answer.headers["x-request-id"] in answer.text
    assert isinstance(event, Refused)
    assert (event.status, event.request.method, event.request.path) == (400, "", "")
    assert caplog.records == []


SECRET = {
    "a header's value": f"GET / HTTP/1.1\r\n{HOST}Authorization: Basic pASSw\x01\r\n\r\n",
    "a cookie": f"GET / HTTP/1.1\r\n{HOST}Cookie: session=pASSw\x7f\r\n\r\n",
    "a header's name": f"GET / HTTP/1.1\r\n{HOST}Basic pASSw: x\r\n\r\n",
    "a header without a colon": f"GET / HTTP/1.1\r\n{HOST}Authorization Basic pASSw\r\n\r\n",
    "a coding": f"PUT / HTTP/1.1\r\n{HOST}Transfer-Encoding: pASSw\r\n\r\n",
    "a length": f"PUT / HTTP/1.1\r\n{HOST}Content-Length: pASSw\r\n\r\n",
    "a Host with user information": "GET / HTTP/1.1\r\nHost: ann:pASSw@h\r\n\r\n",
    "several hosts": "GET / HTTP/1.1\r\nHost: a,pASSw\r\n\r\n",
    "an address with user information": f"GET http://ann:pASSw@h/x HTTP/1.1\r\n{HOST}\r\n",
    "an address with a slash in a password": f"GET http://ann:a/pASSw@h/x HTTP/1.1\r\n{HOST}\r\n",
    "an address of another scheme": f"GET ftp://ann:pASSw@h/x HTTP/1.1\r\n{HOST}\r\n",
    "an address to connect to": f"CONNECT ann:pASSw@h:443 HTTP/1.1\r\n{HOST}\r\n",
    "a query": f"GET /%zz?X-Amz-Signature=pASSw HTTP/1.1\r\n{HOST}\r\n",
    "a query of too many parameters": f"GET /?{'a&' * 1500}token=pASSw HTTP/1.1\r\n{HOST}\r\n",
    "a fragment": f"GET http:#access_token=pASSw HTTP/1.1\r\n{HOST}\r\n",
    "a request line that is none": f"GET http://ann:pASSw@h/x\r\n{HOST}\r\n",
}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a header with a space in its name", "a header's name"),
        ("a null", "a header's value"),
        ("a folded header", "second line"),
        ("a header without a colon", "colon"),
        ("no host", "no Host"),
        ("two hosts", "more than one Host"),
        ("a broken host", "the Host is none"),
        ("no version", "request line"),
        ("another version", "another version"),
        ("too many parameters", "too many parameters"),
        ("a length and chunks", "both a Content-Length"),
        ("an unknown coding", "Transfer-Encoding"),
    ],
)
async def test_the_operator_learns_what_is_wrong_with_a_head(name, words):
    """The reason says which part of a head is wrong, whatever words Tornado has for it."""
    async with serve({}) as site, site.connect() as client:
        await client.send(MALFORMED[name].encode("latin-1"))
        await client.receive()
        event = await site.told()
    assert words in event.reason


@pytest.mark.parametrize("head", SECRET.values(), ids=SECRET)
async def test_no_secret_of_a_bad_head_is_told(head):
    """Neither the event, from which the log is made, nor the answer repeats what a bad request holds."""
    async with serve({}) as site, site.connect() as client:
        await client.send(head.encode("latin-1"))
        answer = await client.receive()
        event = await site.told()
    assert answer.status == event.status == 400
    assert event.reason
    assert "pASSw" not in f"{event} {answer}"


@pytest.mark.parametrize(
    "head",
    [
        f"GET / HTTP/1.1\r\n{HOST}X-Long: {'x' * 70_000}\r\n\r\n",
        f"GET /{'x' * 70_000} HTTP/1.1\r\n{HOST}\r\n",
        f"GET / HTTP/1.1\r\n{HOST}" + "X: y\r\n" * 20_000 + "\r\n",
    ],
)
async def test_a_head_that_is_too_large_is_answered(head):
    """Beyond the limit a head of up to a mebibyte is a 431."""
    async with serve({}) as site, site.connect() as client:
        await client.send(head.encode())
        answer = await client.receive()
    assert answer.status == 431


async def test_the_limit_is_a_setting():
    """A head of exactly the limit passes, one byte more does not."""
    head = f"GET / HTTP/1.1\r\n{HOST}X: "
    async with serve({}, limits=Limits(max_header_size=1000)) as site, site.connect() as client:
        for length, status in ((1000, 200), (1001, 431)):
            await client.send(head.encode() + b"x" * (length - len(head) - 4) + b"\r\n\r\n")
            assert (await client.receive()).status == status


async def test_an_endless_head_is_cut(caplog):
    """A head of more than a mebibyte is not waited for, and breaks nothing."""
    async with serve({"a": b"x"}) as site:
        async with site.connect() as client:
            client.writer.write(f"GET / HTTP/1.1\r\n{HOST}X: ".encode() + b"x" * (3 << 20))
            with pytest.raises((ConnectionError, AssertionError)):
                assert not await client.is_closed()
        assert (await site.get("/a")).body == b"x"
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_an_idle_connection_is_closed():
    """A client that sends no head within the idle time is let go."""
    async with serve({}, limits=Limits(idle_timeout=0.05)) as site, site.connect() as client:
        assert await client.is_closed()


async def test_a_slow_head_is_cut():
    """The idle time is for the whole head: a client that sends it byte by byte gains nothing."""
    async with serve({}, limits=Limits(idle_timeout=0.1)) as site, site.connect() as client:
        await client.send(b"GET / HT")
        assert await client.is_closed()


@pytest.mark.parametrize(
    "head",
    [
        "GET http://files.test/a HTTP/1.1\r\nHost: other.test\r\n\r\n",
        "\r\nGET /a HTTP/1.1\r\nHost: files.test\r\n\r\n",
        "GET /a HTTP/1.0\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: \r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
        f"GET /a HTTP/1.1\r\n{HOST}Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
    ],
)
async def test_an_unusual_head_is_none_the_worse(head):
    """Absolute addresses, an empty line before, HTTP/1.0, an empty Host and a repeated length are all right."""
    async with serve({"a": b"x"}) as site, site.connect() as client:
        await client.send(head.encode())
        answer = await client.receive()
    assert (answer.status, answer.body) == (200, b"x")


@pytest.mark.parametrize("options", ["close", "TE, close", "Close,keep-alive"])
async def test_close_may_stand_among_other_options(options):
    """A client that says `close`, alone or in a list, in any case, is told the same, and the connection ends."""
    async with serve({"a": b"x"}) as site, site.connect() as client:
        await client.send(f"GET /a HTTP/1.1\r\n{HOST}Connection: {options}\r\n\r\n".encode())
        answer = await client.receive()
        assert (answer.body, answer.headers["connection"]) == (b"x", "close")
        assert await client.is_closed()


async def test_pipelined_requests_are_answered_in_order():
    """Requests sent at once are answered one after the other."""
    async with serve({"a": b"1", "b": b"2", "c": b"3"}) as site, site.connect() as client:
        await client.send("".join(f"GET /{name} HTTP/1.1\r\n{HOST}\r\n" for name in "abc").encode())
        bodies = [(await client.receive()).body for _ in "abc"]
    assert bodies == [b"1", b"2", b"3"]


async def test_bytes_beyond_ascii_in_a_path_are_utf8():
    """A client that does not escape is understood."""
    async with serve({"größe": b"x"}) as site, site.connect() as client:
        await client.send(f"GET /größe HTTP/1.1\r\n{HOST}\r\n".encode())
        answer = await client.receive()
    assert answer.body == b"x"


PIECES = st.one_of(
    st.sampled_from([b"GET", b"PUT", b" ", b"/", b"HTTP/1.1", b"\r\n", b"Host: h\r\n", b"\r\n\r\n", b"%", b":", b"?"]),
    st.sampled_from([b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n"]),
    st.sampled_from([b"Range: bytes=0-\r\n", b"Content-Type: multipart/form-data; boundary=b\r\n", b"--b\r\n"]),
    st.binary(max_size=6),
)


@given(pieces=st.lists(PIECES, min_size=1, max_size=12))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_break_the_server(pieces, caplog):
    """Whatever is sent, the next client is served, and nothing worse than an access line is logged."""

    async def story():
        async with serve({"a": b"x"}) as site:
            async with site.connect() as client:
                client.writer.write(b"GET /a HTTP/1.1\r\n" * (pieces[0] == b"Host: h\r\n") + b"".join(pieces))
                client.writer.write_eof()
                await client.reader.read(-1)
            assert (await site.get("/a")).body == b"x"
            return [event for event in site.events if isinstance(event, Failed)]

    caplog.clear()
    assert asyncio.run(story()) == []
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
