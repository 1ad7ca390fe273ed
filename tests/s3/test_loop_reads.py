import asyncio
import gc
import weakref
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hostile_s3 import hostile_s3
from running import free_port
from scripted_s3 import Reply, Then, error_reply, object_reply, reply, with_ending
from stores import read_object, store_at

from tornado_proxy.semantics.conditions import Conditions, format_date
from tornado_proxy.storage.errors import Busy, CredentialsRefused, StorageError, Unreachable, UpstreamError

ANY = Conditions()
LISTING = reply(200, b"<ListBucketResult><Contents><Key>a/b</Key></Contents></ListBucketResult>")


def head_reply(answer: Reply) -> Reply:
    """The head of an answer, as the answer to a HEAD."""
    return replace(answer, data=answer.data.partition(b"\r\n\r\n")[0] + b"\r\n\r\n")


# Requests


async def test_a_get_has_its_headers():
    """A GET has an encoded path, a signature, the host, a User-Agent, and refuses content codings."""
    async with hostile_s3(object_reply(b"x")) as s3, store_at(s3.url) as store:
        await read_object(store, "a b+é")
    assert s3.requests[0].startswith("GET /bucket/a%20b%2B%C3%A9 HTTP/1.1\r\n")
    assert s3.header(0, "authorization").startswith("AWS4-HMAC-SHA256 Credential=access/")
    assert s3.header(0, "host") == s3.url.removeprefix("http://")
    assert (s3.header(0, "accept-encoding"), s3.header(0, "user-agent")) == ("identity", "tornado-proxy")


async def test_a_public_bucket_is_read_without_credentials(reads):
    """With `anonymous`, no request is signed, even if there is a key pair."""
    answers = [object_reply(b"x"), LISTING]
    async with hostile_s3(*answers) as s3, store_at(s3.url, reads, anonymous=True) as store:
        await read_object(store, "a")
        await store.list("a/")
        url = await store.presign("a", 60)
    assert [s3.header(number, "authorization") for number in range(2)] == [None, None]
    assert "X-Amz-Signature" not in url


async def test_a_listing_requests_encoded_keys():
    """A listing requests URL-encoded keys, because keys can have characters that XML cannot have."""
    async with hostile_s3(LISTING) as s3, store_at(s3.url) as store:
        await store.list("a/")
    path = "/bucket?delimiter=%2F&encoding-type=url&list-type=2&max-keys=1000&prefix=a%2F"
    assert s3.requests[0].startswith(f"GET {path} ")


# Attempts


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_a_temporary_error_is_tried_again(status):
    """A GET is repeated after a status that another attempt may not have."""
    async with hostile_s3(reply(status), object_reply(b"x")) as s3, store_at(s3.url, max_attempts=2) as store:
        assert await read_object(store, "a") == b"x"


@pytest.mark.parametrize("then", [Then.CLOSE, Then.RESET, Then.SILENCE])
async def test_a_body_that_ends_in_its_first_chunk_is_tried_again(then):
    """A GET is repeated if its body ends early before a chunk was passed on."""
    broken = with_ending(object_reply(bytes(1000)), then, after=500)
    async with (
        hostile_s3(broken, object_reply(b"x")) as s3,
        store_at(s3.url, read_timeout=1.5 if then is Then.SILENCE else 20, max_attempts=2) as store,
    ):
        assert await read_object(store, "a") == b"x"


@pytest.mark.parametrize("status", [400, 403, 404, 409, 501])
async def test_a_permanent_error_is_not_tried_again(status):
    """A GET is not repeated after a status that another attempt would have, too."""
    async with hostile_s3(reply(status)) as s3, store_at(s3.url, max_attempts=3) as store:
        with pytest.raises(Exception, match=str(status)):
            await store.open("a", ANY)
    # After a 404, a listing checks whether the bucket is missing.
    assert len([request for request in s3.requests if request.startswith("GET /bucket/a ")]) == 1


async def test_a_head_uses_the_region_of_an_answer():
    """A HEAD is repeated with the region of an answer, which may be a 400 without a code."""
    for status in (301, 400):
        answer = reply(status, x_amz_bucket_region="eu-west-9")
        async with hostile_s3(answer, head_reply(object_reply(b"x"))) as s3, store_at(s3.url) as store:
            assert (await store.head("a", ANY)).size == 1


# Clocks and keys


def in_an_hour(answer: Reply) -> Reply:
    date = format_date(datetime.now(UTC) + timedelta(hours=1))
    return replace(answer, data=answer.data.replace(b"\r\n\r\n", f"\r\nDate: {date}\r\n\r\n".encode(), 1))


async def test_requests_are_signed_with_the_time_of_s3(caplog):
    """A request is signed again with S3's time if S3 refuses the time, as are later ones; the log says it once."""
    refused = in_an_hour(error_reply(403, "RequestTimeTooSkewed"))
    async with hostile_s3(refused, object_reply(b"x")) as s3, store_at(s3.url) as store:
        assert await read_object(store, "a") == b"x"
        assert await read_object(store, "a") == b"x"
    times = [datetime.strptime(s3.header(number, "x-amz-date"), "%Y%m%dT%H%M%S%z") for number in range(3)]
    assert [round((moment - times[0]) / timedelta(hours=1)) for moment in times] == [0, 1, 1]
    (warning,) = (each.message for each in caplog.records if each.levelname == "WARNING")
    assert warning.startswith("the clock is wrong: that of S3 differs by +3")


async def test_a_head_is_signed_again_with_the_time_of_s3():
    """A HEAD is signed again if the date of a 403, which has no error code, differs from the local time."""
    async with (
        hostile_s3(head_reply(in_an_hour(reply(403))), head_reply(object_reply(b"x"))) as s3,
        store_at(s3.url) as store,
    ):
        assert (await store.head("a", ANY)).size == 1


@pytest.mark.parametrize("code", ["RequestTimeTooSkewed", "ExpiredToken"])
async def test_a_request_is_signed_again_once(code):
    """A request that is refused after it was signed again raises `CredentialsRefused`."""
    async with hostile_s3(in_an_hour(error_reply(403, code))) as s3, store_at(s3.url) as store:
        with pytest.raises(CredentialsRefused):
            await store.open("a", ANY)
    assert len(s3.requests) == 2


# Invalid answers


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Reply(b"HTTP/1.0 200 OK\r\n\r\nabc", Then.CLOSE), UpstreamError),
        (Reply(b"HTTP/1.1 204 No Content\r\n\r\n"), UpstreamError),
        (reply(206, b"abc", Content_Range="bytes 0-2/3"), UpstreamError),
        (reply(200, b"<Error><Code>InternalError</Code></Error>"), UpstreamError),
        (reply(200, b"<Error><Code>SlowDown</Code></Error>"), Busy),
    ],
    ids=["1.0", "204", "206", "error", "slow down"],
)
async def test_an_answer_that_is_not_an_object_is_an_error(answer, error):
    """An answer that may be incomplete or is not an object raises an error."""
    async with hostile_s3(answer) as s3, store_at(s3.url) as store:
        with pytest.raises(error):
            await store.open("a", ANY)


async def test_an_object_with_the_content_of_an_error_is_an_object():
    """An answer with an ETag and a date is an object, even if its body is an error document."""
    body = b"<Error><Code>InternalError</Code></Error>"
    async with hostile_s3(object_reply(body)) as s3, store_at(s3.url) as store:
        assert await read_object(store, "a") == body


async def test_a_listing_without_a_length_is_read_to_its_end():
    """A listing without a length is read to its end, and raises an error if the document is incomplete."""
    document = LISTING.data.partition(b"\r\n\r\n")[2]
    for head in (b"HTTP/1.0 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"):
        async with hostile_s3(Reply(head + document, Then.CLOSE)) as s3, store_at(s3.url) as store:
            assert [entry.name for entry in (await store.list("a/")).entries] == ["b"]
        async with hostile_s3(Reply(head + document[:-5], Then.CLOSE)) as s3, store_at(s3.url) as store:
            with pytest.raises(UpstreamError):
                await store.list("a/")


# TLS


async def test_plain_http_where_tls_is_asked_for_is_recognised():
    """The default scheme is HTTPS, which an S3 of one's own may not speak."""

    async def answer(_reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with store_at(f"https://127.0.0.1:{port}") as store:
            with pytest.raises(Unreachable, match="it speaks no TLS; for plain HTTP, write `http://`"):
                await store.open("a", ANY)


async def test_a_host_that_is_not_known_is_named_without_a_number():
    """The reason is that of the resolver."""
    async with store_at("http://nowhere.invalid:1") as store:
        with pytest.raises(Unreachable) as caught:
            await store.open("a", ANY)
    assert "nowhere.invalid:1: " in str(caught.value)
    assert "[Errno" not in str(caught.value)


# Memory


class _Request:
    """Stands for the request that reads."""


async def _left_by_a_read(store) -> list[_Request]:
    """Reads without the garbage collector; returns what is left of the request."""
    left = weakref.WeakSet[_Request]()

    async def read() -> None:
        request = _Request()
        left.add(request)
        with suppress(StorageError):
            await read_object(store, "a")

    gc.collect()
    gc.disable()
    try:
        await read()
        return [*left]
    finally:
        gc.enable()


@pytest.mark.parametrize("answer", [object_reply(b"x"), reply(404), reply(503)])
async def test_a_read_leaves_no_cycle(answer):
    """The request that reads is free at once: a reload keeps what waits for the garbage collector, and its generation."""
    async with hostile_s3(answer, answer) as s3, store_at(s3.url, max_attempts=1) as store:
        assert await _left_by_a_read(store) == []


async def test_a_read_that_reaches_no_s3_leaves_no_cycle():
    """Nor does one whose S3 refuses connections at all of its addresses."""
    async with store_at(f"http://localhost:{free_port()}", max_attempts=1) as store:
        assert await _left_by_a_read(store) == []
