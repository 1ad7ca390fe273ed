"""Answers as values: pages, and objects with the headers from their store."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

import pytest
from fakes import Endless, OneObject, ScriptedBody
from serving import serve

from tornado_proxy.config.actions import Actions, GetAction, PutAction
from tornado_proxy.config.server import Limits
from tornado_proxy.gateway.answer import Whole, file_headers, is_active, page, private_headers, unchanged_headers
from tornado_proxy.pages.render import Rendering
from tornado_proxy.semantics.conditions import ContentRange
from tornado_proxy.semantics.fields import Checksum
from tornado_proxy.storage.errors import TimedOut, Unreachable
from tornado_proxy.storage.store import ObjectInfo
from tornado_proxy.telemetry.events import Failed, Refused, Served

SHA256 = Checksum("SHA256", "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=", "FULL_OBJECT")
EVERYTHING = ObjectInfo(
    size=5,
    etag='"e"',
    last_modified=datetime(2026, 5, 1, 12, 34, 56, tzinfo=UTC),
    content_type="text/plain",
    content_disposition='attachment; filename="a.txt"',
    content_encoding="gzip",
    content_language="en",
    cache_control="max-age=60",
    expires="Fri, 01 May 2026 13:00:00 GMT",
    checksums=(SHA256,),
)
DIGEST = "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"


def test_a_page_is_a_whole_answer():
    """A rendering's headers come first, then those of the answer, then the length of its bytes."""
    rendering = Rendering("ä".encode(), (("Vary", "Accept"),))
    assert page(404, rendering, (("Allow", ""),)) == Whole(
        404, (("Vary", "Accept"), ("Allow", ""), ("Content-Length", "2")), "ä".encode()
    )


def test_a_whole_file_has_every_header_that_is_known():
    """The headers of the object are sent, with its length, its digest and `Accept-Ranges`."""
    assert dict(file_headers(EVERYTHING, Actions())) == {
        "Content-Type": "text/plain",
        "Content-Length": "5",
        "Content-Encoding": "gzip",
        "Content-Language": "en",
        "Content-Disposition": 'attachment; filename="a.txt"',
        "Content-Digest": DIGEST,
        "Accept-Ranges": "bytes",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "max-age=60",
        "Expires": "Fri, 01 May 2026 13:00:00 GMT",
        "ETag": '"e"',
        "Last-Modified": "Fri, 01 May 2026 12:34:56 GMT",
    }


def test_a_bare_object_has_a_type_and_a_length():
    """Unknown headers are omitted, an empty file has a length, and no type is guessed."""
    assert dict(file_headers(ObjectInfo(size=0), Actions())) == {
        "Content-Type": "application/octet-stream",
        "Content-Length": "0",
        "Accept-Ranges": "bytes",
        "X-Content-Type-Options": "nosniff",
    }


def test_a_part_says_which_and_has_no_content_digest():
    """A part has its own length and range; the digest is of the representation, not of the content."""
    headers = dict(file_headers(EVERYTHING, Actions(), ContentRange(1, 3, 5)))
    assert (headers["Content-Length"], headers["Content-Range"]) == ("3", "bytes 1-3/5")
    assert "Content-Digest" not in headers
    assert headers["Repr-Digest"] == DIGEST


def test_a_file_from_the_cache_says_so_and_its_age():
    """The answer has the result of the cache, and the seconds since S3 was asked, unless they are 0."""
    kept, new = ObjectInfo(1, etag='"a"', cache="hit", age=7), ObjectInfo(1, etag='"a"', cache="miss")
    assert unchanged_headers(file_headers(kept, Actions())) == (("ETag", '"a"'), ("X-Cache", "hit"), ("Age", "7"))
    assert dict(file_headers(kept, Actions())).items() >= {("X-Cache", "hit"), ("Age", "7")}
    assert unchanged_headers(file_headers(new, Actions())) == (("ETag", '"a"'), ("X-Cache", "miss"))


def test_an_unchanged_file_has_what_keeps_a_copy_fresh():
    """A 304 carries validators and lifetimes, nothing of the content."""
    names = [name for name, _ in unchanged_headers(file_headers(EVERYTHING, Actions()))]
    assert names == ["Cache-Control", "Expires", "ETag", "Last-Modified"]


@pytest.mark.parametrize(
    ("disposition", "sent"),
    [
        ("a\r\nSet-Cookie: x", None),
        ("a\x00", None),
        ("größe", "größe".encode().decode("latin-1")),
        ("日本", "日本".encode().decode("latin-1")),
        ("a\tb", "a\tb"),
    ],
)
def test_no_stored_text_breaks_the_head(disposition, sent):
    """A value with control characters is omitted; one with characters beyond ASCII is sent as UTF-8."""
    headers = dict(file_headers(ObjectInfo(size=0, content_disposition=disposition), Actions()))
    assert headers.get("Content-Disposition") == sent


@pytest.mark.parametrize(
    ("content_type", "active"),
    [
        ("text/html", True),
        ("Text/HTML ; charset=utf-8", True),
        ("image/svg+xml", True),
        ("application/xhtml+xml", True),
        ("application/xml", True),
        ("text/html,text/plain", True),
        ("html", True),
        ("text/plain", False),
        ("image/png", False),
        ("application/json", False),
        ("text/javascript", False),
    ],
)
def test_types_that_run_scripts_are_known(content_type, active):
    """HTML and every XML type are active; an invalid type may be taken for HTML."""
    assert is_active(content_type) == active


@pytest.mark.parametrize(
    ("choice", "uploads", "own", "sent"),
    [
        ("auto", False, None, None),
        ("auto", True, None, "attachment"),
        ("auto", True, "inline", "attachment"),
        ("auto", True, 'Attachment; filename="a.html"', 'Attachment; filename="a.html"'),
        ("inline", True, None, None),
        ("attachment", False, None, "attachment"),
    ],
)
def test_what_may_have_been_uploaded_is_saved(choice, uploads, own, sent):
    """With uploads enabled, HTML is an attachment, unless the configuration trusts the uploaders."""
    actions = Actions(get=GetAction(active_content=choice), put=PutAction(enabled=uploads))
    info = ObjectInfo(1, content_type="text/html", content_disposition=own)
    assert dict(file_headers(info, actions)).get("Content-Disposition") == sent


def test_files_have_the_policy_of_their_target():
    """A configured Content-Security-Policy is added, and every file has `nosniff`."""
    plain, strict = Actions(), Actions(get=GetAction(content_security_policy="sandbox"))
    headers = [dict(file_headers(ObjectInfo(1), actions)) for actions in (plain, strict)]
    assert [each.get("Content-Security-Policy") for each in headers] == [None, "sandbox"]
    assert [each["X-Content-Type-Options"] for each in headers] == ["nosniff", "nosniff"]


GIB = 1 << 30


async def _settle(turns: int) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


async def test_chunks_become_one_body():
    """The client receives all pieces of the store in order."""
    pieces = [b"a" * 200_000, b"", b"b", b"c" * 70_000]
    async with serve(OneObject(ScriptedBody(pieces, 270_001))) as site:
        answer = await site.get("/x")
        event = await site.told()
    assert answer.body == b"".join(pieces)
    assert (event.status, event.sent, event.complete) == (200, 270_001, True)


async def test_a_body_that_was_sent_is_closed():
    """What a store holds for an object is free after its last piece."""
    body = ScriptedBody([b"x"], 1)
    async with serve(OneObject(body)) as site:
        await site.get("/x")
        await site.told()
    assert body.closed.is_set()


async def test_a_client_that_reads_nothing_holds_the_store_back():
    """The store is read no faster than the client reads: of a gibibyte, only the sockets' buffers are filled."""
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
    """When the client resets the connection, the body is closed and the event reports an incomplete answer."""
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
    """A piece may take longer than the send timeout if the client keeps reading."""
    piece = b"x" * (24 << 20)
    body = ScriptedBody([piece], len(piece))
    async with serve(OneObject(body), limits=Limits(send_timeout=0.5)) as site, site.connect() as client:
        await client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
        await client.receive_head()
        began, received, pauses = time.monotonic(), 0, 0
        while received < len(piece) and not client.reader.at_eof():
            received += len(await client.reader.read(2 << 20))
            # By what was taken, not by look: a look takes what has arrived, which may be little.
            if received > pauses << 20:
                pauses += 1
                await asyncio.sleep(0.05)
        event = await site.told()
    assert time.monotonic() - began > 1
    assert event.complete


async def test_a_client_is_not_cut_for_a_slow_store():
    """The send timeout counts only while the client has something to take."""
    piece = b"x" * (8 << 20)

    class _Slow(ScriptedBody):
        async def chunks(self):
            yield piece
            await asyncio.sleep(0.6)
            yield b"y"

    async with serve(OneObject(_Slow([], len(piece) + 1)), limits=Limits(send_timeout=0.2)) as site:
        answer = await site.get("/x")
    assert answer.complete


async def test_a_store_that_breaks_off_cuts_the_answer_short():
    """A failure after the first byte closes the connection: the body is short, and nothing is appended."""
    body = ScriptedBody([b"hello", Unreachable("reset")], 100)
    async with serve(OneObject(body)) as site, site.connect() as client:
        answer = await client.request("GET", "/x")
        event = await site.told()
    assert (answer.status, answer.body, answer.complete) == (200, b"hello", False)
    assert (event.complete, event.reason) == (False, "Unreachable: reset")
    assert body.closed.is_set()


async def test_a_store_that_fails_at_once_is_answered_as_such():
    """A failure before the first byte is answered with an error page."""
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
    """A store that yields too few or too many bytes is reported as a defect, and nothing follows its answer."""
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


@pytest.mark.parametrize(
    ("cookies", "given", "sent"),
    [
        ((), (), (("Cache-Control", "private, no-cache"),)),
        ((), (("Cache-Control", "public"), ("ETag", "x")), (("Cache-Control", "public"), ("ETag", "x"))),
        ((), (("Cache-Control", "no-cache"),), (("Cache-Control", "private, no-cache"),)),
        (("a=b",), (("Cache-Control", "public"),), (("Cache-Control", "private, no-cache"), ("Set-Cookie", "a=b"))),
        (("a=b",), (("Cache-Control", "no-store"),), (("Cache-Control", "no-store"), ("Set-Cookie", "a=b"))),
    ],
)
def test_a_private_answer_stays_out_of_shared_caches(cookies, given, sent):
    """A private answer is not cached, unless the object allows it; a session never is."""
    assert private_headers(given, tuple(("Set-Cookie", each) for each in cookies)) == sent


@pytest.mark.parametrize("name", ["Cache-Control", "cache-control"])
def test_an_isolated_user_s_file_stays_out_of_shared_caches(name):
    """With isolated users, the object's own caching headers do not count."""
    given = ((name, "public, max-age=600"), ("ETag", "x"))
    sent = private_headers(given, (), is_isolated=True)
    assert sent == (("ETag", "x"), ("Cache-Control", "private, no-cache"))
