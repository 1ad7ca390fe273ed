from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import socket
import threading
import urllib.request
import warnings
from base64 import b64decode, b64encode
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest
from endless_s3 import endless_s3
from scripted_s3 import Reply, Then, error_reply, object_reply, reply, scripted_s3, with_ending
from stores import async_chunks, post_form, read_object, store_at

from tornado_proxy.routing.uploads import Properties
from tornado_proxy.semantics.conditions import ByteRange, Conditions
from tornado_proxy.semantics.fields import Checksum
from tornado_proxy.storage.errors import (
    AccessDenied,
    BucketMissing,
    Busy,
    ObjectExists,
    ObjectMissing,
    PreconditionFailed,
    TimedOut,
    TooLarge,
    Unreachable,
    UpstreamError,
)
from tornado_proxy.storage.s3.boto3_reads import CHUNK
from tornado_proxy.storage.s3.store import Precondition, checked_precondition, immediate_precondition, parameters_of
from tornado_proxy.storage.store import ObjectInfo, Write

ANY = Conditions()
NEWS = Conditions(if_none_match=('"old"',))
MIB = 1024**2

OPERATIONS = {
    "open": lambda store: store.open("a", ANY),
    "head": lambda store: store.head("a", ANY),
    "list": lambda store: store.list("a/"),
    "put": lambda store: store.put("a", async_chunks(b"x"), Write()),
    "put in parts": lambda store: store.put("a", async_chunks(b"x" * 6 * MIB), Write()),
    "remove": lambda store: store.remove("a"),
}


@pytest.fixture(params=["loop", "executor"])
def read_at(request):
    """`store_at`, for each way in which objects are read."""
    return partial(store_at, reads=request.param)


# What goes wrong on the way


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_closed_port_is_unreachable(read_at, operation, closed_port):
    """Whatever is asked of an S3 that is not there, it is unreachable."""
    async with read_at(f"http://127.0.0.1:{closed_port}") as store:
        with pytest.raises(Unreachable):
            await OPERATIONS[operation](store)


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_an_s3_that_never_answers_times_out(read_at, operation):
    """An S3 that takes the request and says nothing is given up in time."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with read_at(f"http://127.0.0.1:{silent.getsockname()[1]}", read_timeout=0.2) as store:
            with pytest.raises(TimedOut):
                await OPERATIONS[operation](store)


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_an_s3_that_hangs_up_is_unreachable(read_at, operation, closed_port):
    """A connection that ends without an answer is an unreachable S3."""
    with scripted_s3(with_ending(reply(200), Then.CLOSE, after=0)) as s3:
        async with read_at(s3.url) as store:
            with pytest.raises(Unreachable):
                await OPERATIONS[operation](store)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    ("status", "code", "error"),
    [(403, "AccessDenied", AccessDenied), (503, "SlowDown", Busy), (500, "InternalError", UpstreamError)],
)
async def test_errors_of_s3_are_ours(read_at, operation, status, code, error):
    """Whatever is asked, S3's refusal is one of our errors."""
    answer = reply(status) if operation == "head" else error_reply(status, code)
    with scripted_s3(answer) as s3:
        async with read_at(s3.url) as store:
            with pytest.raises(error):
                await OPERATIONS[operation](store)


@pytest.mark.parametrize("operation", ["open", "list", "put", "put in parts", "remove"])
async def test_a_missing_bucket_is_distinguished_from_a_missing_object(read_at, operation):
    """S3 says which of the two it is; only a HEAD cannot."""
    with scripted_s3(error_reply(404, "NoSuchBucket")) as s3:
        async with read_at(s3.url) as store:
            with pytest.raises(BucketMissing):
                await OPERATIONS[operation](store)


@pytest.mark.parametrize("answer", [reply(200, b"no markup"), reply(500, b"<html>")])
async def test_an_answer_that_is_no_s3s_is_an_error(read_at, answer):
    """Something else than S3 behind the endpoint is an error of ours."""
    with scripted_s3(answer) as s3:
        async with read_at(s3.url) as store:
            with pytest.raises(UpstreamError):
                await store.list("a/")


@pytest.mark.parametrize("operation", ["open", "head"])
async def test_an_answer_without_a_length_is_an_error(read_at, operation):
    """An object whose size is not told cannot be served."""
    with scripted_s3(with_ending(reply(200), Then.CLOSE, after=len("HTTP/1.1 200 Whatever\r\n"))) as s3:
        s3.replies[0] = replace(s3.replies[0], data=s3.replies[0].data + b"\r\n")
        async with read_at(s3.url) as store:
            with pytest.raises(UpstreamError):
                await OPERATIONS[operation](store)


@pytest.mark.parametrize("told", ["bytes */10", "nonsense", "bytes 0-9/*"])
async def test_a_part_that_is_not_reported_is_an_error(read_at, told):
    """A part that does not say which bytes of how many it is cannot be served."""
    with scripted_s3(replace(object_reply(b"0123"), data=object_reply(b"0123", Content_Range=told).data)) as s3:
        async with read_at(s3.url) as store:
            with pytest.raises(UpstreamError):
                await store.open("a", ANY, ByteRange(0, 3))


def raw(*lines: str, body: bytes = b"") -> Reply:
    return Reply("\r\n".join(["HTTP/1.1 200 OK", *lines, "", ""]).encode() + body, Then.CLOSE)


@pytest.mark.parametrize("operation", ["open", "head"])
@pytest.mark.parametrize(
    "answer",
    [
        raw("Content-Length: -5"),
        raw("Content-Length: five"),
        raw("Content-Length: 5", "Content-Length: 7", body=b"0123456"),
        raw("Content-Length: 2", "Last-Modified: yesterday", body=b"ab"),
        raw("Content-Length: 2", "Last-Modified: 99999999999999999999", body=b"ab"),
        Reply(b"HTTP/1.1 200 OK\r\n" + b"x" * 70_000 + b"\r\n\r\n", Then.CLOSE),
        Reply(b"nonsense\r\n\r\n", Then.CLOSE),
        Reply(b"HTTP/1.1 two hundred\r\n\r\n", Then.CLOSE),
    ],
)
async def test_a_senseless_head_of_an_answer_is_an_error(read_at, operation, answer):
    """Lengths and dates that are none are an error of S3's, not a defect of ours."""
    gc.freeze()
    with scripted_s3(*[answer] * 3) as s3:
        async with read_at(s3.url, max_attempts=1, read_timeout=10) as store:
            with pytest.raises((UpstreamError, Unreachable)):
                await OPERATIONS[operation](store)
    with warnings.catch_warnings():
        # boto3 leaves the connection of an answer that it cannot parse to the collector, which looks at nothing older.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    gc.unfreeze()


@pytest.mark.parametrize("operation", ["open", "head"])
async def test_a_date_at_the_end_of_time_is_left_out(read_at, operation):
    """An object whose date has no UTC is served without it."""
    with scripted_s3(raw("Content-Length: 0", "Last-Modified: Fri, 31 Dec 9999 23:59:59 -0500")) as s3:
        async with read_at(s3.url) as store:
            found = await OPERATIONS[operation](store)
            assert (found if operation == "head" else found.info).last_modified is None


@pytest.mark.parametrize(
    "content",
    [
        "<Contents><Key>a/b</Key><Size>many</Size></Contents>",
        "<Contents><Key>a/b</Key><LastModified>soon</LastModified></Contents>",
        "<Contents><Size>1</Size></Contents>",
        "<Contents/>",
        "<CommonPrefixes/>",
        "<Contents><Key><Key>a</Key></Key></Contents>",
        "<Contents>text</Contents><IsTruncated>maybe</IsTruncated>",
        "<IsTruncated>true</IsTruncated>",
    ],
)
async def test_a_senseless_listing_is_an_error(read_at, content):
    """Entries without a name, numbers and dates that are none: an error of S3's, not a defect of ours."""
    answer = reply(200, f"<ListBucketResult>{content}</ListBucketResult>".encode())
    with scripted_s3(answer) as s3:
        async with read_at(s3.url) as store:
            with pytest.raises(UpstreamError):
                await store.list("a/")


async def test_more_bytes_than_the_part_has_are_an_error(read_at):
    """A 206 whose range is shorter than its body is never passed on."""
    sent = (
        "HTTP/1.1 206 OK\r\nContent-Range: bytes 0-3/10\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n012345\r\n0\r\n\r\n"
    )
    with scripted_s3(Reply(sent.encode())) as s3:
        async with read_at(s3.url) as store:
            with pytest.raises(UpstreamError):
                await store.open("a", ANY, ByteRange(0, 3))


async def test_a_busy_s3_is_asked_again(read_at):
    """As many attempts are made as the configuration says, one after the other."""
    with scripted_s3(reply(503), reply(503), object_reply(b"x")) as s3:
        async with read_at(s3.url, max_attempts=3) as store:
            assert await read_object(store, "a") == b"x"


async def test_an_s3_that_misses_what_is_to_be_removed_is_obeyed(read_at):
    """An S3 that says 404 of a removed object, as some do, has removed it."""
    with scripted_s3(error_reply(404, "NoSuchKey")) as s3:
        async with read_at(s3.url) as store:
            await store.remove("a")
    assert s3.requests[0].startswith("DELETE /bucket/a ")


# Bodies


@pytest.mark.parametrize("then", [Then.CLOSE, Then.SILENCE])
async def test_a_body_that_breaks_off_raises(read_at, then):
    """A body that ends before its length raises after what came, however it ends."""
    with scripted_s3(with_ending(object_reply(bytes(4 * CHUNK)), then, after=2 * CHUNK)) as s3:
        async with read_at(s3.url, read_timeout=1.5 if then is Then.SILENCE else 20) as store:
            opened, got = await store.open("a", ANY), []
            with pytest.raises(TimedOut if then is Then.SILENCE else Unreachable):
                await _read(opened, got)
            assert CHUNK <= sum(got) < 4 * CHUNK
            await opened.close()


@pytest.mark.parametrize("then", [Then.CLOSE, Then.RESET, Then.SILENCE])
async def test_a_body_that_breaks_off_early_fails_to_open(read_at, then):
    """A body that ends within its first chunk is an error before anything was promised to a client."""
    with scripted_s3(with_ending(object_reply(bytes(1000)), then, after=500)) as s3:
        async with read_at(s3.url, read_timeout=0.3 if then is Then.SILENCE else 20) as store:
            with pytest.raises(TimedOut if then is Then.SILENCE else Unreachable):
                await store.open("a", ANY)


async def _read(opened, lengths):
    """Read a body, and note what came."""
    async for chunk in opened.chunks():
        lengths.append(len(chunk))


async def test_a_body_read_whole_gives_its_connection_back(read_at):
    """Requests one after the other use one connection."""
    with scripted_s3(*[object_reply(bytes(2 * CHUNK))] * 3, object_reply(b"")) as s3:
        async with read_at(s3.url) as store:
            for size in (2 * CHUNK, 2 * CHUNK, 2 * CHUNK, 0):
                assert len(await read_object(store, "a")) == size
    assert len(s3.connections) == 1


async def test_a_body_closed_early_drops_its_connection(read_at):
    """What a client does not want is not read to its end: the connection is closed at once."""
    with scripted_s3(
        with_ending(object_reply(bytes(8 * CHUNK)), Then.SILENCE, after=3 * CHUNK), object_reply(b"x")
    ) as s3:
        async with read_at(s3.url, read_timeout=20) as store:
            opened = await store.open("a", ANY)
            await anext(opened.chunks())
            await opened.close()
            await s3.wait_for_disconnect()
            assert await read_object(store, "a") == b"x"
    assert len(s3.connections) == 2


async def test_a_get_that_is_cancelled_drops_its_connection(read_at):
    """An answer that comes when nobody waits for it any more is let go of."""
    gate = threading.Event()
    with scripted_s3(
        replace(with_ending(object_reply(bytes(8 * CHUNK)), Then.SILENCE, after=3 * CHUNK), gate=gate)
    ) as s3:
        async with read_at(s3.url, read_timeout=20) as store:
            opening = asyncio.ensure_future(store.open("a", ANY))
            await s3.wait_for_requests()
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
            gate.set()
            await s3.wait_for_disconnect()


async def test_a_reader_that_is_cancelled_drops_its_connection(read_at):
    """A body whose reader goes away while it waits is closed, at once or by the thread that is reading it."""
    with scripted_s3(with_ending(object_reply(bytes(8 * CHUNK)), Then.SILENCE, after=2 * CHUNK)) as s3:
        async with read_at(s3.url, read_timeout=2) as store:
            opened, got = await store.open("a", ANY), []
            reading = asyncio.ensure_future(_read(opened, got))
            await asyncio.sleep(0.2)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            await opened.close()
            await s3.wait_for_disconnect()


# Conditions


async def test_a_get_is_pinned_to_what_was_decided_on(read_at):
    """After a HEAD has decided, the GET asks for that very representation."""
    with scripted_s3(object_reply(b"", Content_Length="3"), object_reply(b"abc")) as s3:
        async with read_at(s3.url) as store:
            assert await read_object(store, "a", NEWS) == b"abc"
    assert (s3.requests[0].split()[0], s3.requests[1].split()[0]) == ("HEAD", "GET")
    assert s3.header(1, "If-Match") == '"1"'


async def test_an_object_that_changes_meanwhile_is_decided_on_again(read_at):
    """A GET that comes too late is decided anew, once."""
    head, late = object_reply(b"", Content_Length="3"), error_reply(412, "PreconditionFailed")
    with scripted_s3(head, late, object_reply(b"", '"2"', Content_Length="3"), object_reply(b"new", '"2"')) as s3:
        async with read_at(s3.url) as store:
            assert await read_object(store, "a", NEWS) == b"new"
    assert s3.header(3, "If-Match") == '"2"'


async def test_an_object_that_never_stays_is_busy(read_at):
    """An object that changes between every look and the GET is not looked at for ever."""
    with scripted_s3(*[object_reply(b"", Content_Length="3"), error_reply(412, "PreconditionFailed")] * 2) as s3:
        async with read_at(s3.url) as store:
            with pytest.raises(Busy):
                await store.open("a", NEWS)


async def test_an_if_match_is_left_to_s3(read_at):
    """One strong ETag costs one call: S3 decides."""
    with scripted_s3(error_reply(412, "PreconditionFailed")) as s3:
        async with read_at(s3.url) as store:
            with pytest.raises(PreconditionFailed):
                await store.open("a", Conditions(if_match=('"x"',)))
    assert (len(s3.requests), s3.header(0, "If-Match")) == (1, '"x"')


async def test_if_range_costs_one_call_while_it_holds(read_at):
    """A download that is resumed asks for the part and the ETag at once."""
    part = replace(
        object_reply(b""), data=object_reply(b"01", Content_Range="bytes 0-1/10").data.replace(b" 200 ", b" 206 ")
    )
    with scripted_s3(part) as s3:
        async with read_at(s3.url) as store:
            opened = await store.open("a", Conditions(if_range='"1"'), ByteRange(0, 1))
            await opened.close()
    assert (opened.info.size, s3.header(0, "If-Match"), s3.header(0, "Range")) == (10, '"1"', "bytes=0-1")


@pytest.mark.parametrize("etag", ['W/"1"', None])
async def test_a_get_is_not_pinned_to_what_cannot_be_distinguished(read_at, etag):
    """Without a strong ETag there is nothing that the GET could ask for."""
    head = object_reply(b"", Content_Length="3") if etag is None else object_reply(b"", etag, Content_Length="3")
    head = head if etag else replace(head, data=head.data.replace(b'ETag: "1"\r\n', b""))
    with scripted_s3(head, object_reply(b"abc")) as s3:
        async with read_at(s3.url) as store:
            assert await read_object(store, "a", NEWS) == b"abc"
    assert s3.header(1, "If-Match") is None


# Listings


async def test_a_directory_that_s3_lists_twice_is_listed_once(read_at):
    """An S3 that begins a page with the directory that ended the last one does not repeat it."""
    listed = (
        "<CommonPrefixes><Prefix>d/a/</Prefix></CommonPrefixes><CommonPrefixes><Prefix>d/b/</Prefix></CommonPrefixes>"
    )
    answer = f"<ListBucketResult><IsTruncated>false</IsTruncated>{listed}</ListBucketResult>"
    with scripted_s3(reply(200, answer.encode()), reply(200, answer.encode())) as s3:
        async with read_at(s3.url) as store:
            first = await store.list("d/", None, 1)
            second = await store.list("d/", first.next_token, 1)
    assert [entry.name for page in (first, second) for entry in page.entries] == ["a/", "b/"]
    assert second.next_token is None


# Headers


async def test_a_header_in_utf_8_is_read_as_such(read_at):
    """A file's name that another program stored in a header comes as it was meant."""
    disposition = 'attachment; filename="é日.txt"'
    with scripted_s3(object_reply(b"x", Content_Disposition=disposition)) as s3:
        async with read_at(s3.url) as store:
            opened = await store.open("a", ANY)
            await opened.close()
    assert opened.info.content_disposition == disposition


# Checksums


async def test_checksums_are_reported_and_not_verified(bucket):
    """An object's checksums come with GET and HEAD, whatever the body is: the client has the digest to look."""
    bucket.client.put_object(Bucket=bucket.name, Key="a", Body=b"abc", ChecksumAlgorithm="SHA256")
    expected = (Checksum("SHA256", b64encode(hashlib.sha256(b"abc").digest()).decode()),)
    opened = await bucket.store.open("a", ANY)
    await opened.close()
    assert opened.info.checksums == expected
    assert (await bucket.store.head("a", ANY)).checksums == expected


async def test_a_wrong_checksum_is_the_clients_to_find(read_at):
    """A body that does not fit its checksum passes as it came."""
    wrong = b64encode(bytes(4)).decode()
    answer = object_reply(b"abc", x_amz_checksum_crc32=wrong, x_amz_checksum_type="FULL_OBJECT")
    with scripted_s3(answer) as s3:
        async with read_at(s3.url) as store:
            opened = await store.open("a", ANY)
            assert [chunk async for chunk in opened.chunks()] == [b"abc"]
            await opened.close()
    assert s3.header(0, "x-amz-checksum-mode") == "ENABLED"
    assert opened.info.checksums == (Checksum("CRC32", wrong, "FULL_OBJECT"),)


# Uploads


async def _breaking_off():
    yield b"n" * 12 * MIB
    raise ConnectionResetError


@pytest.mark.parametrize(
    ("chunks", "write", "error"),
    [
        (_breaking_off, Write(), ConnectionResetError),
        (lambda: async_chunks(b"n" * 6 * MIB, b"n" * 6 * MIB), Write(max_size=11 * MIB), TooLarge),
        (lambda: async_chunks(b"n" * 6 * MIB), Write(conditions=Conditions(if_none_match=("*",))), PreconditionFailed),
    ],
)
async def test_an_upload_that_fails_leaves_no_parts_behind(bucket, chunks, write, error):
    """Parts that will never be an object are taken back, whatever kept them from being one."""
    bucket.add("a", b"old")
    with pytest.raises(error):
        await bucket.store.put("a", chunks(), write)
    assert bucket.uploads() == []
    assert await read_object(bucket.store, "a") == b"old"


async def test_an_upload_that_is_cancelled_leaves_no_parts_behind(bucket):
    """A task that is cancelled takes its parts back before it ends."""
    waiting = asyncio.Event()

    async def endless():
        yield b"n" * 12 * MIB
        waiting.set()
        await asyncio.Event().wait()

    write = asyncio.ensure_future(bucket.store.put("a", endless(), Write()))
    await waiting.wait()
    assert bucket.uploads() == ["a"]
    write.cancel()
    with pytest.raises(asyncio.CancelledError):
        await write
    assert (bucket.uploads(), bucket.keys()) == ([], [])


async def test_a_large_upload_is_stored_in_parts(bucket):
    """What is larger than a part comes in parts, of which S3 keeps the count."""
    stored = await bucket.store.put("a", async_chunks(b"n" * 12 * MIB), Write())
    assert stored.etag.endswith('-3"')
    assert bucket.uploads() == []


async def test_a_large_upload_stays_within_its_memory(live_bytes):
    """An upload of 256 MiB holds three parts of 8 MiB at most, and a little."""

    async def chunks():
        for _ in range(4096):
            yield block

    block = bytes(64 * 1024)
    with endless_s3() as (url, traffic):
        async with store_at(url, part_size=8 * MIB, read_timeout=20) as store:
            with live_bytes() as most:
                await store.put("a", chunks(), Write())
    assert (traffic.parts, traffic.completed, traffic.received >= 256 * MIB) == (32, 1, True)
    assert most() < 32 * MIB


async def test_a_slow_s3_slows_the_upload_down():
    """Chunks are asked for only as fast as S3 takes them: with two parts on their way, the client waits."""
    gate = threading.Event()
    begun = reply(200, b"<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
    stored = replace(reply(200, ETag='"p"'), gate=gate)
    completed = reply(200, b'<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>')
    taken = []

    async def chunks():
        for number in range(20):
            taken.append(number)
            yield bytes(MIB)

    with scripted_s3(begun, *[stored] * 4, completed) as s3:
        async with store_at(s3.url, read_timeout=20) as store:
            write = asyncio.ensure_future(store.put("a", chunks(), Write()))
            await s3.wait_for_requests(3)
            for _ in range(50):
                await asyncio.sleep(0)
            held = len(taken)
            gate.set()
            await write
    assert (held, len(taken)) == (16, 20)


# Signed URLs


@pytest.mark.parametrize("key", ["plain.txt", "a b+c%.txt", "/lead//ing", "é/日本?#"])
async def test_a_signed_url_fetches_the_object(bucket, key):
    """Whoever has the URL has the object."""
    bucket.add(key, b"abc")
    url = await bucket.store.presign(key, 60)
    assert await asyncio.to_thread(_fetch, url) == b"abc"


def _fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read()


async def test_a_form_binds_all_that_it_says(bucket):
    """Key, bucket, size, type and every property are conditions of the signed policy."""
    properties = Properties(
        {"by": "ann"},
        cache_control="no-cache",
        content_disposition="inline",
        content_encoding="gzip",
        content_language="en",
        expires=datetime(2030, 1, 2, tzinfo=UTC),
        storage_class="STANDARD_IA",
        canned_acl="private",
    )
    form = await bucket.store.presign_upload("a", Write("text/css", max_size=10, properties=properties), 60)
    policy = json.loads(b64decode(form.fields["policy"]))
    conditions = {
        name: value for each in policy["conditions"] if isinstance(each, dict) for name, value in each.items()
    }
    assert [each for each in policy["conditions"] if isinstance(each, list)] == [["content-length-range", 0, 10]]
    said = {name: value for name, value in form.fields.items() if name not in ("policy", "x-amz-signature")}
    assert conditions == {**said, "bucket": bucket.name}
    assert conditions["Expires"] == "Wed, 02 Jan 2030 00:00:00 GMT"
    assert conditions["x-amz-meta-by"] == "ann"


async def test_a_form_stores_the_object(bucket):
    """Whoever has the form, until it expires."""
    form = await bucket.store.presign_upload("d/é.txt", Write("text/css", max_size=10), 60)
    await asyncio.to_thread(post_form, form, b"abc")
    opened = await bucket.store.open("d/é.txt", ANY)
    assert b"".join([chunk async for chunk in opened.chunks()]) == b"abc"
    await opened.close()


async def test_a_store_says_what_it_is(bucket):
    """The store's `repr` names its bucket and no secret."""
    assert repr(bucket.store) == f"<S3Store of {bucket.name}>"


async def test_a_closed_store_is_unreachable():
    """A store that was closed makes no call."""
    async with store_at("http://127.0.0.1:9") as store:
        await store.close()
        with pytest.raises(Unreachable):
            await store.head("a", ANY)
        with pytest.raises(ObjectMissing):
            await store.head("", ANY)


NOW = datetime(2026, 5, 1, tzinfo=UTC)
THERE = ObjectInfo(3, '"1"', NOW)
EMPTY = {"IfNoneMatch": "*"}


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (Write(), Precondition()),
        (Write(conditions=Conditions(if_modified_since=NOW)), Precondition()),
        (Write(replace=False), Precondition(EMPTY, ObjectExists)),
        (Write(conditions=Conditions(if_none_match=("*",))), Precondition(EMPTY)),
        (Write(replace=False, conditions=Conditions(if_none_match=("*",))), Precondition(EMPTY)),
        (Write(conditions=Conditions(if_match=('"1"',))), Precondition({"IfMatch": '"1"'})),
    ],
)
def test_what_s3_decides_alone(write, expected):
    """One condition that every S3 knows is sent with the write; what it raises tells the rule from the client's."""
    assert immediate_precondition(write) == expected


@pytest.mark.parametrize(
    "conditions",
    [
        Conditions(if_match=("*",)),
        Conditions(if_match=('W/"1"',)),
        Conditions(if_match=("nonsense",)),
        Conditions(if_match=('"1"', '"2"')),
        Conditions(if_match=('"1"',), if_none_match=("*",)),
        Conditions(if_none_match=('"1"',)),
        Conditions(if_unmodified_since=NOW),
        Conditions(if_none_match=("*",), if_unmodified_since=NOW),
    ],
)
def test_what_needs_a_look(conditions):
    """Conditions that S3 does not decide, or decides in its own way, are decided here."""
    assert immediate_precondition(Write(conditions=conditions)) is None


def test_an_if_match_of_a_target_that_does_not_replace_needs_a_look():
    """Such a write can only fail, and how is a question of what is there."""
    assert immediate_precondition(Write(replace=False, conditions=Conditions(if_match=('"1"',)))) is None


@pytest.mark.parametrize(
    ("write", "found", "expected"),
    [
        (Write(conditions=Conditions(if_match=("*",))), THERE, Precondition({"IfMatch": '"1"'})),
        (Write(conditions=Conditions(if_none_match=('"2"',))), THERE, Precondition({"IfMatch": '"1"'})),
        (Write(conditions=Conditions(if_none_match=('"2"',))), None, Precondition(EMPTY)),
        (Write(conditions=Conditions(if_unmodified_since=NOW)), ObjectInfo(3), Precondition()),
        (Write(replace=False, conditions=Conditions(if_none_match=('"2"',))), None, Precondition(EMPTY, ObjectExists)),
    ],
)
def test_a_write_is_pinned_to_what_was_found(write, found, expected):
    """A write that may go ahead does so only if nothing has changed since."""
    assert checked_precondition(write, found) == expected


@pytest.mark.parametrize(
    ("write", "found", "error"),
    [
        (Write(conditions=Conditions(if_match=("*",))), None, PreconditionFailed),
        (Write(conditions=Conditions(if_match=('"2"', '"3"'))), THERE, PreconditionFailed),
        (Write(replace=False, conditions=Conditions(if_match=('"1"',))), THERE, ObjectExists),
        (Write(replace=False, conditions=Conditions(if_match=('"1"',))), None, PreconditionFailed),
    ],
)
def test_a_write_that_may_not_go_ahead_is_refused(write, found, error):
    """What stands against a write is told before a byte is sent."""
    with pytest.raises(error):
        checked_precondition(write, found)


@pytest.mark.parametrize("theirs", [PreconditionFailed, ObjectMissing])
def test_what_s3_finds_is_reported_in_the_words_of_the_write(theirs):
    """S3 says 412 of an object in the way and 404 of one that is gone; either is the write's own refusal."""
    with pytest.raises(ObjectExists, match="so it is"), Precondition(EMPTY, ObjectExists).decided():
        raise theirs("so it is")


def test_other_errors_pass():
    """What has nothing to do with the condition is raised as it is."""
    with pytest.raises(Unreachable), Precondition(EMPTY, ObjectExists).decided():
        raise Unreachable("so it is")


def test_properties_are_parameters_of_s3():
    """What is not given is not said, so that the bucket's defaults hold."""
    moment = datetime(2065, 10, 21, tzinfo=UTC)
    properties = Properties(
        {"a": "b"}, cache_control="no-cache", expires=moment, storage_class="GLACIER", canned_acl="private"
    )
    assert parameters_of(Write("text/plain", properties=properties)) == {
        "ContentType": "text/plain",
        "Metadata": {"a": "b"},
        "CacheControl": "no-cache",
        "Expires": moment,
        "StorageClass": "GLACIER",
        "ACL": "private",
    }
    assert parameters_of(Write()) == {}
