"""Answers: pages, and objects with the headers from their store."""

import asyncio
import time
from datetime import UTC, datetime

import pytest
from fakes import EndlessBody, OneObjectStore, ScriptedBody
from serving import serve

from tornado_proxy.config.actions import Actions, GetAction, PutAction
from tornado_proxy.config.server import Limits
from tornado_proxy.semantics.conditions import ContentRange
from tornado_proxy.semantics.fields import Checksum
from tornado_proxy.storage.errors import TimedOut, Unreachable
from tornado_proxy.storage.store import ObjectInfo
from tornado_proxy.telemetry.events import Failed
from tornado_proxy.web.answer import Whole, file_headers, private_headers

SHA256 = Checksum("SHA256", "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=", "FULL_OBJECT")
OBJECT_INFO = ObjectInfo(
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


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        ("text/plain", "text/plain; charset=utf-8"),
        ("image/svg+xml", "image/svg+xml; charset=utf-8"),
        ("text/html; charset=latin1", "text/html; charset=latin1"),
        ("image/png", "image/png"),
        (None, "application/octet-stream"),
    ],
)
def test_a_text_without_a_charset_may_get_one(stored, sent):
    """The option is for objects that say nothing themselves."""
    actions = Actions(get=GetAction(charset="utf-8"))
    assert dict(file_headers(ObjectInfo(5, content_type=stored), actions))["Content-Type"] == sent


def test_a_whole_file_has_all_its_headers():
    assert dict(file_headers(OBJECT_INFO, Actions())) == {
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


def test_an_object_without_metadata_has_a_type_and_a_length():
    """Unknown headers are omitted, and no content type is guessed."""
    assert dict(file_headers(ObjectInfo(size=0), Actions())) == {
        "Content-Type": "application/octet-stream",
        "Content-Length": "0",
        "Accept-Ranges": "bytes",
        "X-Content-Type-Options": "nosniff",
    }


def test_a_range_has_no_content_digest():
    """A range has its own length and the digest of the whole object as `Repr-Digest`."""
    headers = dict(file_headers(OBJECT_INFO, Actions(), ContentRange(1, 3, 5)))
    assert (headers["Content-Length"], headers["Content-Range"]) == ("3", "bytes 1-3/5")
    assert "Content-Digest" not in headers
    assert headers["Repr-Digest"] == DIGEST


def _unchanged(info):
    return Whole(304, file_headers(info, Actions())).shortened().headers


def test_a_cached_file_has_its_age():
    """The answer has the result of the cache, and its age in seconds unless this is 0."""
    hit, miss = ObjectInfo(1, etag='"a"', cache="hit", age=7), ObjectInfo(1, etag='"a"', cache="miss")
    assert _unchanged(hit) == (("ETag", '"a"'), ("X-Cache", "hit"), ("Age", "7"))
    assert dict(file_headers(hit, Actions())).items() >= {("X-Cache", "hit"), ("Age", "7")}
    assert _unchanged(miss) == (("ETag", '"a"'), ("X-Cache", "miss"))


def test_a_304_has_validators_and_lifetimes():
    names = [name for name, _ in _unchanged(OBJECT_INFO)]
    assert names == ["Cache-Control", "Expires", "ETag", "Last-Modified"]


@pytest.mark.parametrize(
    ("disposition", "expected"),
    [
        ("a\r\nSet-Cookie: x", None),
        ("a\x00", None),
        ("größe", "größe".encode().decode("latin-1")),
        ("日本", "日本".encode().decode("latin-1")),
        ("a\tb", "a\tb"),
    ],
)
def test_stored_headers_cannot_break_the_head(disposition, expected):
    """A value with control characters is omitted, and characters beyond ASCII are sent as UTF-8."""
    headers = dict(file_headers(ObjectInfo(size=0, content_disposition=disposition), Actions()))
    assert headers.get("Content-Disposition") == expected


@pytest.mark.parametrize(
    ("choice", "uploads", "disposition", "expected"),
    [
        ("auto", False, None, None),
        ("auto", True, None, "attachment"),
        ("auto", True, "inline", "attachment"),
        ("auto", True, 'Attachment; filename="a.html"', 'Attachment; filename="a.html"'),
        ("auto", True, "attachment ; filename*=UTF-8''a", "attachment ; filename*=UTF-8''a"),
        ("auto", True, "attachment inline", "attachment"),
        ("auto", True, "attachments", "attachment"),
        ("auto", True, "attachment, inline", "attachment"),
        ("auto", True, 'attachment; filename="a', "attachment"),
        ("auto", True, "attachment; filename=a; filename=b", "attachment"),
        ("inline", True, None, None),
        ("attachment", False, None, "attachment"),
    ],
)
def test_uploaded_html_is_an_attachment(choice, uploads, disposition, expected):
    """With uploads enabled, HTML is an attachment, unless `activeContent` allows it inline."""
    actions = Actions(get=GetAction(active_content=choice), put=PutAction(enabled=uploads))
    info = ObjectInfo(1, content_type="text/html", content_disposition=disposition)
    assert dict(file_headers(info, actions)).get("Content-Disposition") == expected


def test_files_have_the_policy_of_their_target():
    """A configured Content-Security-Policy is added, and every file has `nosniff`."""
    plain, strict = Actions(), Actions(get=GetAction(content_security_policy="sandbox"))
    headers = [dict(file_headers(ObjectInfo(1), actions)) for actions in (plain, strict)]
    assert [fields.get("Content-Security-Policy") for fields in headers] == [None, "sandbox"]
    assert [fields["X-Content-Type-Options"] for fields in headers] == ["nosniff", "nosniff"]


GIB = 1 << 30


async def test_chunks_are_joined():
    chunks = [b"a" * 200_000, b"", b"b", b"c" * 70_000]
    async with serve(OneObjectStore(ScriptedBody(chunks, 270_001))) as site:
        answer = await site.get("/x")
        event = await site.last_event()
    assert answer.body == b"".join(chunks)
    assert (event.status, event.sent, event.complete) == (200, 270_001, True)


async def test_a_disconnect_closes_the_body():
    """When the client disconnects, the body is closed and the event reports an incomplete answer."""
    body = EndlessBody(GIB)
    async with serve(OneObjectStore(body)) as site:
        async with site.connect() as client:
            await client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
            await client.reader.readexactly(100_000)
            client.abort()
        await body.closed.wait()
        event = await site.last_event()
    assert body.bytes_read < GIB
    assert not event.is_error
    assert (event.status, event.complete, event.reason) == (200, False, "the client closed the connection")


async def test_a_piece_longer_than_the_announced_body_ends_the_request():
    """If not even the head can be written, the connection is closed, and the event says why."""
    body = ScriptedBody([b"xyz"], 1)
    async with serve(OneObjectStore(body)) as site, site.connect() as client:
        await client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
        assert await client.is_closed()
        event = await site.last_event()
    assert (event.complete, event.reason) == (False, "`HTTPOutputError` was raised")


async def test_a_client_that_reads_nothing_is_disconnected():
    body = EndlessBody(GIB)
    async with serve(OneObjectStore(body), limits=Limits(send_timeout=0.05)) as site, site.connect() as client:
        client.writer.transport.pause_reading()
        await client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
        await body.closed.wait()
        event = await site.last_event()
    assert (event.complete, event.reason) == (False, "the client read less than 1024 bytes a second")


async def test_a_slow_client_is_not_disconnected():
    """A chunk may take longer than the send timeout if the client continues to read."""
    chunk = b"x" * (24 << 20)
    body = ScriptedBody([chunk], len(chunk))
    async with serve(OneObjectStore(body), limits=Limits(send_timeout=1)) as site, site.connect() as client:
        await client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
        await client.receive_head()
        began, received, pauses = time.monotonic(), 0, 0
        while received < len(chunk) and not client.reader.at_eof():
            received += len(await client.reader.read(2 << 20))
            # A pause for each mebibyte rather than for each read, which may return little.
            if received > pauses << 20:
                pauses += 1
                await asyncio.sleep(0.1)
        event = await site.last_event()
    assert time.monotonic() - began > 2
    assert event.complete


async def test_a_slow_store_does_not_disconnect_the_client():
    """The send timeout does not apply while the store has no data."""
    chunk = b"x" * (8 << 20)

    class _Slow(ScriptedBody):
        async def chunks(self):
            yield chunk
            await asyncio.sleep(0.6)
            yield b"y"

    async with serve(OneObjectStore(_Slow([], len(chunk) + 1)), limits=Limits(send_timeout=0.2)) as site:
        answer = await site.get("/x")
    assert answer.complete


async def test_an_interrupted_body_truncates_the_answer():
    """A failure after the first byte closes the connection, and nothing is appended to the body."""
    body = ScriptedBody([b"hello", Unreachable("reset")], 100)
    async with serve(OneObjectStore(body)) as site, site.connect() as client:
        answer = await client.request("GET", "/x")
        event = await site.last_event()
    assert (answer.status, answer.body, answer.complete) == (200, b"hello", False)
    assert (event.complete, event.reason) == (False, "Unreachable: reset")
    assert body.closed.is_set()


async def test_a_failure_before_the_first_byte_is_an_error_page():
    """The answer has the status of the failure, and the connection serves the next request."""
    body = ScriptedBody([TimedOut("late")], 100)
    async with serve(OneObjectStore(body)) as site, site.connect() as client:
        answer, next_answer = await client.request("GET", "/x"), await client.request("GET", "/%zz")
        events = site.events
    assert (answer.status, next_answer.status) == (504, 400)
    assert "etag" not in answer.headers
    assert events[0].is_error
    assert body.closed.is_set()


@pytest.mark.parametrize(("chunks", "received"), [([b"hel"], b"hel"), ([b"hel", b"lo more"], b"hel")])
async def test_a_body_of_a_wrong_length_is_a_defect(chunks, received, caplog):
    """If the store yields too few or too many bytes, the answer is incomplete and a defect is reported."""
    async with serve(OneObjectStore(ScriptedBody(chunks, 5))) as site, site.connect() as client:
        answer = await client.request("GET", "/x")
        served = await site.last_event()
    assert (answer.body, answer.complete) == (received, False)
    assert (served.complete, isinstance(site.events[0], Failed)) == (False, True)
    assert caplog.records == []


async def test_an_empty_body_has_a_head():
    """A streamed answer without a chunk has its status and headers."""
    async with serve(OneObjectStore(ScriptedBody([], 0))) as site, site.connect() as client:
        answers = [await client.request("GET", "/x") for _ in range(2)]
    assert [(each.status, each.headers["content-length"], each.body) for each in answers] == [(200, "0", b"")] * 2


@pytest.mark.parametrize(
    ("cookies", "headers", "expected"),
    [
        ((), (), (("Cache-Control", "private, no-cache"),)),
        ((), (("ETag", "x"), ("Cache-Control", "max-age=6")), (("ETag", "x"), ("Cache-Control", "private, max-age=6"))),
        ((), (("Cache-Control", "public"), ("ETag", "x")), (("Cache-Control", "public"), ("ETag", "x"))),
        ((), (("etag", "x"), ("cache-control", "max-age=6")), (("etag", "x"), ("Cache-Control", "private, max-age=6"))),
        ((), (("ETag", "x"), ("Cache-Control", "s-maxage=6")), (("ETag", "x"), ("Cache-Control", "s-maxage=6"))),
        ((), (("Cache-Control", "no-cache"),), (("Cache-Control", "private, no-cache"),)),
        (("a=b",), (("Cache-Control", "public"),), (("Cache-Control", "private, no-cache"), ("Set-Cookie", "a=b"))),
        (("a=b",), (("Cache-Control", "no-store"),), (("Cache-Control", "no-store"), ("Set-Cookie", "a=b"))),
    ],
)
def test_a_private_answer_stays_out_of_shared_caches(cookies, headers, expected):
    """A private answer is not cached unless the object allows it, and an answer with a session never is."""
    assert private_headers(headers, tuple(("Set-Cookie", cookie) for cookie in cookies)) == expected


@pytest.mark.parametrize("name", ["Cache-Control", "cache-control"])
def test_the_file_of_an_isolated_user_stays_out_of_shared_caches(name):
    """For an isolated user, the caching headers of the object are replaced."""
    headers = ((name, "public, max-age=600"), ("ETag", "x"))
    private = private_headers(headers, (), is_isolated=True)
    assert private == (("ETag", "x"), ("Cache-Control", "private, no-cache"))
