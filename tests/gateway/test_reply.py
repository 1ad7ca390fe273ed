"""Answers on their way: back-pressure, slow clients, clients that leave, and stores that break off."""

from __future__ import annotations

import asyncio
import time

import pytest
from fakes import Endless, OneObject, ScriptedBody
from serving import serve

from tornado_proxy.config.server import Limits
from tornado_proxy.storage.errors import TimedOut, Unreachable
from tornado_proxy.telemetry.events import Failed, Refused, Served

GIB = 1 << 30


async def _settle(turns: int) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


async def test_chunks_become_one_body():
    """What the store yields arrives whole and in order, whatever its pieces."""
    pieces = [b"a" * 200_000, b"", b"b", b"c" * 70_000]
    async with serve(OneObject(ScriptedBody(pieces, 270_001))) as site:
        answer = await site.get("/x")
        event = await site.told()
    assert answer.body == b"".join(pieces)
    assert (event.status, event.sent, event.complete) == (200, 270_001, True)


async def test_a_client_that_reads_nothing_holds_the_store_back():
    """Of a gibibyte no more is taken from the store than the sockets' own buffers hold."""
    body = Endless(GIB)
    async with serve(OneObject(body)) as site, site.connect() as client:
        client.writer.transport.pause_reading()
        await client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
        await _settle(5000)
        taken = body.taken
        client.abort()
        await body.closed.wait()
    assert taken < 32 << 20


async def test_a_client_that_leaves_stops_the_store():
    """When the client resets the connection the body is closed, and the event says that the answer broke off."""
    body = Endless(GIB)
    async with serve(OneObject(body)) as site:
        async with site.connect() as client:
            await client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
            await client.reader.readexactly(100_000)
            client.abort()
        await body.closed.wait()
        event = await site.told()
    assert body.taken < GIB
    assert isinstance(event, Served)
    assert (event.status, event.complete, event.reason) == (200, False, "the client closed the connection")


async def test_a_client_that_takes_nothing_is_cut():
    """After the send timeout the connection is closed and the body with it."""
    body = Endless(GIB)
    async with serve(OneObject(body), limits=Limits(send_timeout=0.05)) as site, site.connect() as client:
        client.writer.transport.pause_reading()
        await client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
        await body.closed.wait()
        event = await site.told()
    assert (event.complete, event.reason) == (False, "the client took nothing for 0.05 seconds")


async def test_a_client_that_takes_little_is_not_cut():
    """A piece may take longer than the send timeout, as long as the client goes on taking something of it."""
    piece = b"x" * (24 << 20)
    body = ScriptedBody([piece], len(piece))
    async with serve(OneObject(body), limits=Limits(send_timeout=0.5)) as site, site.connect() as client:
        await client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
        await client.receive_head()
        began, received, pauses = time.monotonic(), 0, 0
        while received < len(piece):
            received += len(await client.reader.read(2 << 20))
            # By what was taken, not by look: a look takes what has arrived, which may be little.
            if received > pauses << 20:
                pauses += 1
                await asyncio.sleep(0.05)
        event = await site.told()
    assert time.monotonic() - began > 1
    assert event.complete


async def test_a_store_that_breaks_off_cuts_the_answer_short():
    """After the first byte a failure closes the connection: a short body, nothing appended, nothing more to read."""
    body = ScriptedBody([b"hello", Unreachable("reset")], 100)
    async with serve(OneObject(body)) as site, site.connect() as client:
        answer = await client.request("GET", "/x")
        event = await site.told()
    assert (answer.status, answer.body, answer.complete) == (200, b"hello", False)
    assert (event.complete, event.reason) == (False, "Unreachable: reset")
    assert body.closed.is_set()


async def test_a_store_that_fails_at_once_is_answered_as_such():
    """Before the first byte a failure is still an error with its own page."""
    body = ScriptedBody([TimedOut("late")], 100)
    async with serve(OneObject(body)) as site, site.connect() as client:
        answer, again = await client.request("GET", "/x"), await client.request("GET", "/%zz")
        events = site.events
    assert (answer.status, again.status) == (504, 400)
    assert "etag" not in answer.headers
    assert isinstance(events[0], Refused)
    assert body.closed.is_set()


@pytest.mark.parametrize(("script", "received"), [([b"hel"], b"hel"), ([b"hel", b"lo more"], b"hel")])
async def test_a_body_of_another_length_than_announced_is_cut(script, received, caplog):
    """A store that yields too little or too much never makes two answers of one; it is a defect, and told so."""
    async with serve(OneObject(ScriptedBody(script, 5))) as site, site.connect() as client:
        answer = await client.request("GET", "/x")
        served = await site.told()
    assert (answer.body, answer.complete) == (received, False)
    assert (served.complete, isinstance(site.events[0], Failed)) == (False, True)
    assert caplog.records == []


async def test_an_empty_body_has_its_head():
    """A streamed answer without a chunk still has its status and headers."""
    async with serve(OneObject(ScriptedBody([], 0))) as site, site.connect() as client:
        answers = [await client.request("GET", "/x") for _ in range(2)]
    assert [(answer.status, answer.headers["content-length"], answer.body) for answer in answers] == [
        (200, "0", b"")
    ] * 2


async def test_a_request_with_a_body_that_nobody_wants_is_answered():
    """A GET's body is dropped; the answer ends the connection, since the body may be long."""
    async with serve({"a": b"x"}) as site, site.connect() as client:
        answer = await client.request("GET", "/a", body=b"y" * 3_000_000)
        assert (answer.status, answer.body, await client.is_closed()) == (200, b"x", True)


async def test_an_http_1_0_client_is_answered_and_closed():
    """Without keep-alive the connection ends with the answer."""
    async with serve({"a": b"x"}) as site, site.connect() as client:
        await client.send(b"GET /a HTTP/1.0\r\n\r\n")
        answer = await client.receive()
        assert (answer.body, await client.is_closed()) == (b"x", True)
