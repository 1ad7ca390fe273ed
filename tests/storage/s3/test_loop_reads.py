from __future__ import annotations

import asyncio
import ssl
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hostile_s3 import hostile_s3
from scripted_s3 import Reply, Then, error_reply, object_reply, reply, with_ending
from stores import read_object, store_at

from tornado_proxy.semantics.conditions import ByteRange, Conditions, format_date
from tornado_proxy.storage.errors import AccessDenied, Busy, Unreachable, UpstreamError

ANY = Conditions()
LISTING = reply(200, b"<ListBucketResult><Contents><Key>a/b</Key></Contents></ListBucketResult>")


def a_head(answer: Reply) -> Reply:
    """The answer as it is to a HEAD."""
    return replace(answer, data=answer.data.partition(b"\r\n\r\n")[0] + b"\r\n\r\n")


# What is sent


async def test_a_request_is_signed_and_says_who_asks():
    """A GET has the headers that S3 verifies, asks for checksums, and wants no encoding."""
    async with hostile_s3(object_reply(b"x")) as s3, store_at(s3.url) as store:
        await read_object(store, "a b+é")
    assert s3.requests[0].startswith("GET /bucket/a%20b%2B%C3%A9 HTTP/1.1\r\n")
    assert s3.header(0, "authorization").startswith("AWS4-HMAC-SHA256 Credential=access/")
    assert s3.header(0, "host") == s3.url.removeprefix("http://")
    assert (s3.header(0, "accept-encoding"), s3.header(0, "user-agent")) == ("identity", "tornado-proxy")


@pytest.mark.parametrize("reads", ["loop", "executor"])
async def test_a_public_bucket_is_read_without_credentials(reads):
    """With `anonymous`, no request is signed, even where there is a key pair."""
    answers = [object_reply(b"x"), LISTING]
    async with hostile_s3(*answers) as s3, store_at(s3.url, reads, anonymous=True) as store:
        await read_object(store, "a")
        await store.list("a/")
        url = await store.presign("a", 60)
    assert [s3.header(number, "authorization") for number in range(2)] == [None, None]
    assert "X-Amz-Signature" not in url


async def test_a_listing_asks_for_encoded_names():
    """Keys may hold what XML cannot: S3 is asked to encode them."""
    async with hostile_s3(LISTING) as s3, store_at(s3.url) as store:
        await store.list("a/")
    path = "/bucket?delimiter=%2F&encoding-type=url&list-type=2&max-keys=1000&prefix=a%2F"
    assert s3.requests[0].startswith(f"GET {path} ")


# What is tried again


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_what_may_go_well_is_tried_again(status):
    """An S3 in trouble is asked as often as the configuration says."""
    async with hostile_s3(reply(status), object_reply(b"x")) as s3, store_at(s3.url, max_attempts=2) as store:
        assert await read_object(store, "a") == b"x"


@pytest.mark.parametrize("then", [Then.CLOSE, Then.RESET, Then.SILENCE])
async def test_a_body_that_breaks_off_early_is_tried_again(then):
    """As long as nothing was passed on, a break is not the client's."""
    broken = with_ending(object_reply(bytes(1000)), then, after=500)
    async with (
        hostile_s3(broken, object_reply(b"x")) as s3,
        store_at(s3.url, read_timeout=1.5 if then is Then.SILENCE else 20, max_attempts=2) as store,
    ):
        assert await read_object(store, "a") == b"x"


async def test_a_body_that_breaks_off_later_is_not():
    """What was passed on cannot be taken back: the body raises."""
    broken = with_ending(object_reply(bytes(500_000)), Then.CLOSE, after=300_000)
    async with hostile_s3(broken) as s3, store_at(s3.url, max_attempts=3) as store:
        with pytest.raises(Unreachable):
            await read_object(store, "a")
    assert len(s3.requests) == 1


@pytest.mark.parametrize("status", [400, 403, 404, 409, 412, 501])
async def test_what_will_not_change_is_asked_once(status):
    """A refusal is an answer."""
    async with hostile_s3(reply(status)) as s3, store_at(s3.url, max_attempts=3) as store:
        with pytest.raises(Exception, match=str(status)):
            await store.open("a", ANY)
    # A 404 may be that of the bucket, which a listing finds out.
    assert len([request for request in s3.requests if request.startswith("GET /bucket/a ")]) == 1


async def test_attempts_end():
    """An S3 that stays busy is busy."""
    async with hostile_s3(error_reply(503, "SlowDown")) as s3, store_at(s3.url, max_attempts=2) as store:
        with pytest.raises(Busy, match=r"503 SlowDown: So it is"):
            await store.open("a", ANY)
    assert len(s3.requests) == 2


# Regions


@pytest.mark.parametrize(
    "answer",
    [
        reply(301, x_amz_bucket_region="eu-west-9"),
        reply(307, x_amz_bucket_region="eu-west-9"),
        reply(301, b"<Error><Code>PermanentRedirect</Code><Region>eu-west-9</Region></Error>"),
        reply(400, b"<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-9</Region></Error>"),
        reply(400, x_amz_bucket_region="eu-west-9"),
    ],
)
async def test_another_region_is_followed_and_kept(answer):
    """A bucket of another region is asked there, now and from now on."""
    async with hostile_s3(answer, object_reply(b"x")) as s3, store_at(s3.url) as store:
        assert await read_object(store, "a") == b"x"
        assert await read_object(store, "a") == b"x"
    regions = [s3.header(number, "authorization").split("/")[2] for number in range(3)]
    assert regions == ["us-east-1", "eu-west-9", "eu-west-9"]


async def test_a_head_follows_a_region():
    """The answer to a HEAD has the region in a header."""
    answer = reply(301, x_amz_bucket_region="eu-west-9")
    async with hostile_s3(answer, a_head(object_reply(b"x"))) as s3, store_at(s3.url) as store:
        assert (await store.head("a", ANY)).size == 1


async def test_many_follow_at_one_time():
    """Requests that find out together all arrive."""

    def answer(number):
        return (
            object_reply(b"x") if "/eu-west-9/" in s3.requests[number] else reply(301, x_amz_bucket_region="eu-west-9")
        )

    async with hostile_s3(answer) as s3, store_at(s3.url) as store:
        assert await asyncio.gather(*[read_object(store, "a") for _ in range(10)]) == [b"x"] * 10


@pytest.mark.parametrize("region", ["", "us-east-1", "x.evil.example/", "A B"])
async def test_a_redirect_that_leads_nowhere_is_an_error(region):
    """No region, the same one, and what is not a name of one, are not followed: a name becomes part of a host's."""
    async with hostile_s3(reply(301, x_amz_bucket_region=region)) as s3, store_at(s3.url) as store:
        with pytest.raises(UpstreamError):
            await store.open("a", ANY)


async def test_a_redirect_is_followed_once():
    """Two regions that name each other do not keep a request for ever."""
    first, second = (reply(301, x_amz_bucket_region=region) for region in ("eu-west-8", "eu-west-9"))
    async with hostile_s3(lambda number: (first, second)[number % 2]) as s3, store_at(s3.url) as store:
        with pytest.raises(UpstreamError):
            await store.open("a", ANY)
    assert len(s3.requests) == 2


# Clocks and keys


def in_an_hour(answer: Reply) -> Reply:
    date = format_date(datetime.now(UTC) + timedelta(hours=1))
    return replace(answer, data=answer.data.replace(b"\r\n\r\n", f"\r\nDate: {date}\r\n\r\n".encode(), 1))


async def test_s3s_clock_is_signed_by():
    """A signature whose time S3 refuses is made again by S3's clock, once, and so are those that follow."""
    refused = in_an_hour(error_reply(403, "RequestTimeTooSkewed"))
    async with hostile_s3(refused, object_reply(b"x")) as s3, store_at(s3.url) as store:
        assert await read_object(store, "a") == b"x"
        assert await read_object(store, "a") == b"x"
    times = [datetime.strptime(s3.header(number, "x-amz-date"), "%Y%m%dT%H%M%S%z") for number in range(3)]
    assert [round((moment - times[0]) / timedelta(hours=1)) for moment in times] == [0, 1, 1]


async def test_a_head_that_is_refused_by_a_far_clock_is_signed_again():
    """The answer to a HEAD has no code; its date shows that the clock may be the reason."""
    async with (
        hostile_s3(a_head(in_an_hour(reply(403))), a_head(object_reply(b"x"))) as s3,
        store_at(s3.url) as store,
    ):
        assert (await store.head("a", ANY)).size == 1


@pytest.mark.parametrize("code", ["RequestTimeTooSkewed", "ExpiredToken"])
async def test_a_refusal_that_stays_is_one(code):
    """A request is signed in another way once."""
    async with hostile_s3(in_an_hour(error_reply(403, code))) as s3, store_at(s3.url) as store:
        with pytest.raises(AccessDenied):
            await store.open("a", ANY)
    assert len(s3.requests) == 2


# Answers that contradict themselves


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Reply(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"), UpstreamError),
        (Reply(b"HTTP/1.0 200 OK\r\n\r\nabc", Then.CLOSE), UpstreamError),
        (Reply(b"HTTP/1.1 204 No Content\r\n\r\n"), UpstreamError),
        (reply(206, b"abc", Content_Range="bytes 0-2/3"), UpstreamError),
        (reply(200, b"<Error><Code>InternalError</Code></Error>"), UpstreamError),
        (reply(200, b"<Error><Code>SlowDown</Code></Error>"), Busy),
    ],
    ids=["chunked", "1.0", "204", "206", "error", "slow down"],
)
async def test_an_answer_that_is_no_object_is_an_error(answer, error):
    """What may not be the whole of an object, or is none, is never served as one; its connection is not kept."""
    async with hostile_s3(answer) as s3, store_at(s3.url) as store:
        with pytest.raises(error):
            await store.open("a", ANY)


async def test_an_object_that_looks_like_an_error_is_an_object():
    """An answer with the validators of an object is one, whatever its content."""
    body = b"<Error><Code>InternalError</Code></Error>"
    async with hostile_s3(object_reply(body)) as s3, store_at(s3.url) as store:
        assert await read_object(store, "a") == body


async def test_a_part_that_was_not_asked_for_is_an_error():
    """Bytes of another place are not served for those that were asked for."""
    other = reply(206, b"1234", Content_Range="bytes 1-4/10", ETag='"1"')
    async with hostile_s3(other) as s3, store_at(s3.url) as store:
        with pytest.raises(UpstreamError):
            await store.open("a", ANY, ByteRange(0, 3))


async def test_a_listing_that_is_an_error_is_one():
    """A 200 with an error document is what the document says."""
    async with hostile_s3(error_reply(200, "SlowDown")) as s3, store_at(s3.url) as store:
        with pytest.raises(Busy):
            await store.list("a/")


async def test_a_listing_without_a_length_is_read_to_its_end():
    """A document shows by itself whether it is whole."""
    document = LISTING.data.partition(b"\r\n\r\n")[2]
    for head in (b"HTTP/1.0 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"):
        async with hostile_s3(Reply(head + document, Then.CLOSE)) as s3, store_at(s3.url) as store:
            assert [entry.name for entry in (await store.list("a/")).entries] == ["b"]
        async with hostile_s3(Reply(head + document[:-5], Then.CLOSE)) as s3, store_at(s3.url) as store:
            with pytest.raises(UpstreamError):
                await store.list("a/")


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of `localhost`, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([*new, *names, *files], check=True, capture_output=True)
    return folder


async def test_tls_is_verified(certificate, monkeypatch):
    """S3's certificate has to be of the bundle and of the name; then objects are read as without TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    named = []
    context.sni_callback = lambda _socket, name, _context: named.append(name)
    body = bytes(range(256)) * 8192
    async with hostile_s3(object_reply(body), tls=context) as s3:
        async with store_at(f"https://localhost:{s3.port}") as store:
            with pytest.raises(Unreachable, match="certificate verify failed"):
                await store.open("a", ANY)
        monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate / "cert.pem"))
        async with store_at(f"https://localhost:{s3.port}") as store:
            assert await read_object(store, "a") == body
        async with store_at(f"https://127.0.0.1:{s3.port}") as store:
            with pytest.raises(Unreachable, match="certificate"):
                await store.open("a", ANY)
    assert "localhost" in named
