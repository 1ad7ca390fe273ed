import asyncio
import json
import threading
import urllib.request
from base64 import b64decode, b64encode
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from endless_s3 import endless_s3
from scripted_s3 import BEGUN, COMPLETED, STORED, Reply, Then, error_reply, object_reply, reply, with_ending
from stores import async_chunks, post_form, read_object, scripted_store, store_at

from tornado_proxy.routing.upload_steps import Properties
from tornado_proxy.s3.limits import READ_OF_THREAD
from tornado_proxy.semantics.conditions import ByteRange, Conditions
from tornado_proxy.semantics.fields import Checksum
from tornado_proxy.storage.errors import (
    AccessDenied,
    BucketMissing,
    Busy,
    ObjectMissing,
    PreconditionFailed,
    TimedOut,
    TooLarge,
    Unreachable,
    UpstreamError,
)
from tornado_proxy.storage.store import Write
from tornado_proxy.web.incoming_file import FileHead, IncomingFile

ANY = Conditions()
MIB = 1024**2

OPERATIONS = {
    "open": lambda store: store.open("a", ANY),
    "head": lambda store: store.head("a", ANY),
    "list": lambda store: store.list("a/"),
    "put": lambda store: store.put("a", async_chunks(b"x"), Write()),
    "put in parts": lambda store: store.put("a", async_chunks(b"x" * 6 * MIB), Write()),
    "remove": lambda store: store.remove("a"),
}


# Failures


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_closed_port_is_unreachable(reads, operation, closed_port):
    """Each operation on a closed port raises `Unreachable`."""
    async with store_at(f"http://127.0.0.1:{closed_port}", reads) as store:
        with pytest.raises(Unreachable):
            await OPERATIONS[operation](store)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Reply(b"", Then.SILENCE), TimedOut),
        (Reply(b"", Then.CLOSE), Unreachable),
        (error_reply(403, "AccessDenied"), AccessDenied),
        (error_reply(503, "SlowDown"), Busy),
        (error_reply(500, "InternalError"), UpstreamError),
    ],
)
async def test_each_operation_raises_what_s3_says(reads, operation, answer, error):
    """Each operation raises the storage error for an error of S3, for its silence, and for a lost connection."""
    if operation == "head" and answer.then is Then.KEEP_OPEN:
        answer = Reply(answer.data.partition(b"<?xml")[0])
    async with scripted_store(answer, read_timeout=0.5 if answer.then is Then.SILENCE else 20, reads=reads) as (
        _,
        store,
    ):
        with pytest.raises(error):
            await OPERATIONS[operation](store)


@pytest.mark.parametrize("operation", ["open", "list", "put", "put in parts", "remove"])
async def test_a_missing_bucket_is_distinguished_from_a_missing_object(reads, operation):
    """Each operation but HEAD, whose answer has no error code, raises `BucketMissing` if the bucket is missing."""
    async with scripted_store(error_reply(404, "NoSuchBucket"), reads=reads) as (_, store):
        with pytest.raises(BucketMissing):
            await OPERATIONS[operation](store)


@pytest.mark.parametrize(
    "content", ["<Contents><Key>a/b</Key><Size>many</Size></Contents>", "<IsTruncated>true</IsTruncated>"]
)
async def test_an_invalid_listing_is_an_error(reads, content):
    """A listing that is none, or says that it goes on and not where, raises `UpstreamError`."""
    answer = reply(200, f"<ListBucketResult>{content}</ListBucketResult>".encode())
    async with scripted_store(answer, reads=reads) as (_, store):
        with pytest.raises(UpstreamError):
            await store.list("a/")


async def test_a_body_longer_than_its_range_is_an_error(reads):
    """A 206 with a chunked body that is longer than its range raises `UpstreamError`."""
    data = (
        'HTTP/1.1 206 OK\r\nETag: "1"\r\nContent-Range: bytes 0-3/10\r\nTransfer-Encoding: chunked\r\n\r\n'
        "6\r\n012345\r\n0\r\n\r\n"
    )
    async with scripted_store(*[Reply(data.encode())] * 2, reads=reads) as (_, store):
        opened = await store.open("a", ANY, ByteRange(0, 3))
        with pytest.raises(UpstreamError):
            [chunk async for chunk in opened.chunks()]
        await opened.close()


# Bodies


@pytest.mark.parametrize("then", [Then.CLOSE, Then.SILENCE])
async def test_a_body_that_ends_early_raises(reads, then):
    """A body that ends early, and may not be resumed, raises after its received chunks."""
    broken = with_ending(object_reply(bytes(4 * READ_OF_THREAD)), then, after=2 * READ_OF_THREAD)
    patience = 1.5 if then is Then.SILENCE else 20
    async with scripted_store(broken, reads=reads, resumes=0, read_timeout=patience) as (_, store):
        opened, lengths = await store.open("a", ANY), []
        with pytest.raises(TimedOut if then is Then.SILENCE else Unreachable):
            await _read(opened, lengths)
        assert READ_OF_THREAD <= sum(lengths) < 4 * READ_OF_THREAD
        await opened.close()


@pytest.mark.parametrize("then", [Then.CLOSE, Then.RESET, Then.SILENCE])
async def test_a_body_that_ends_in_its_first_chunk_fails_to_open(reads, then):
    """`open` raises if the body ends in its first chunk, before the client has got an answer."""
    broken, patience = with_ending(object_reply(bytes(1000)), then, after=500), 0.3 if then is Then.SILENCE else 20
    async with scripted_store(broken, reads=reads, read_timeout=patience) as (_, store):
        with pytest.raises(TimedOut if then is Then.SILENCE else Unreachable):
            await store.open("a", ANY)


async def _read(opened, lengths):
    """Reads a body and records the lengths of its chunks."""
    async for chunk in opened.chunks():
        lengths.append(len(chunk))


async def test_a_directory_that_s3_lists_twice_is_listed_once(reads):
    """A directory that ends a page is not repeated if S3 lists it again on the next page."""
    directories = (
        "<CommonPrefixes><Prefix>d/a/</Prefix></CommonPrefixes><CommonPrefixes><Prefix>d/b/</Prefix></CommonPrefixes>"
    )
    answer = f"<ListBucketResult><IsTruncated>false</IsTruncated>{directories}</ListBucketResult>"
    async with scripted_store(reply(200, answer.encode()), reply(200, answer.encode()), reads=reads) as (_, store):
        first = await store.list("d/", None, 1)
        second = await store.list("d/", first.next_after, 1)
    assert [entry.name for page in (first, second) for entry in page.entries] == ["a/", "b/"]
    assert second.next_after is None


# Checksums


async def test_checksums_are_not_verified(reads):
    """A body with a wrong checksum is passed on unchanged, because the client can verify it."""
    wrong = b64encode(bytes(4)).decode()
    answer = object_reply(b"abc", x_amz_checksum_crc32=wrong, x_amz_checksum_type="FULL_OBJECT")
    async with scripted_store(answer, reads=reads) as (s3, store):
        opened = await store.open("a", ANY)
        assert [chunk async for chunk in opened.chunks()] == [b"abc"]
        await opened.close()
    assert s3.header(0, "x-amz-checksum-mode") == "ENABLED"
    assert opened.info.checksums == (Checksum("CRC32", wrong, "FULL_OBJECT"),)


# Uploads


async def _interrupted():
    yield b"n" * 12 * MIB
    raise ConnectionResetError


@pytest.mark.parametrize(
    ("chunks", "content_type"),
    [
        ((b"Gr\xc3", b"\xbc\xc3\x9fe"), "text/plain; charset=utf-8"),
        ((b"Gr\xfc\xdfe",), "text/plain"),
        ((b"Gr\xc3",), "text/plain"),
        ((b"x" * 6 * MIB, b"\xc3\xbc"), "text/plain; charset=utf-8"),
        ((b"\xff" * 6 * MIB,), "text/plain"),
    ],
)
async def test_a_text_is_stored_with_the_charset_of_its_bytes(bucket, chunks, content_type):
    """What has passed when the object begins decides: all of a file of one part, the first part of a larger one."""
    upload = IncomingFile(FileHead("a.txt", None), async_chunks(*chunks))
    await bucket.store.put("a", upload.content(), Write("text/plain", text=upload.text))
    assert (await bucket.store.head("a", ANY)).content_type == content_type


@pytest.mark.parametrize(
    ("chunks", "write", "error"),
    [
        (_interrupted, Write(), ConnectionResetError),
        (lambda: async_chunks(b"n" * 6 * MIB, b"n" * 6 * MIB), Write(max_size=11 * MIB), TooLarge),
        (lambda: async_chunks(b"n" * 6 * MIB), Write(conditions=Conditions(if_none_match=("*",))), PreconditionFailed),
    ],
)
async def test_a_failed_upload_leaves_no_parts(bucket, chunks, write, error):
    """An upload that fails for any reason removes its parts and keeps the old object."""
    bucket.add("a", b"old")
    with pytest.raises(error):
        await bucket.store.put("a", chunks(), write)
    assert bucket.uploads() == []
    assert await read_object(bucket.store, "a") == b"old"


async def test_a_cancelled_upload_leaves_no_parts(bucket):
    """A cancelled upload removes its parts before it ends."""
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


async def test_a_large_upload_has_limited_memory(live_bytes):
    """An upload of 256 MiB never has more than two parts of 8 MiB in memory, and no copy of one: three would be 24 MiB."""

    async def chunks():
        for _ in range(4096):
            held.append(before - store._memory.free)
            yield block

    block, held = bytes(64 * 1024), []
    with endless_s3() as (url, traffic):
        async with store_at(url, part_size=8 * MIB) as store:
            before = store._memory.free
            with live_bytes() as peak:
                await store.put("a", chunks(), Write())
    assert (traffic.parts, traffic.completed, traffic.received >= 256 * MIB) == (32, 1, True)
    assert max(held) <= 16 * MIB
    assert peak() < 24 * MIB


async def test_a_slow_s3_slows_the_upload_down():
    """An upload reads chunks only as fast as S3 accepts them: it waits while two parts are in memory."""
    gate = threading.Event()
    read = []

    async def chunks():
        for number in range(20):
            read.append(number)
            yield bytes(MIB)

    async with scripted_store(BEGUN, *[replace(STORED, gate=gate)] * 4, COMPLETED) as (s3, store):
        write = asyncio.ensure_future(store.put("a", chunks(), Write()))
        await s3.wait_for_requests(3)
        for _ in range(50):
            await asyncio.sleep(0)
        read_before = len(read)
        gate.set()
        await write
    assert (read_before, len(read)) == (11, 20)


# Signed URLs


@pytest.mark.parametrize("key", ["plain.txt", "a b+c%.txt", "/lead//ing", "é/日本?#"])
async def test_a_signed_url_fetches_the_object(bucket, key):
    """A GET of a signed URL returns the object."""
    bucket.add(key, b"abc")
    url = await bucket.store.presign(key, 60)
    assert await asyncio.to_thread(_fetch, url) == b"abc"


def _fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read()


async def test_the_policy_of_a_form_has_all_fields(bucket):
    """The signed policy has the key, the bucket, the size, the type and every property as conditions."""
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
    fields = {name: value for name, value in form.fields.items() if name not in ("policy", "x-amz-signature")}
    assert conditions == {**fields, "bucket": bucket.name}
    assert conditions["Expires"] == "Wed, 02 Jan 2030 00:00:00 GMT"
    assert conditions["x-amz-meta-by"] == "ann"


async def test_a_form_stores_the_object(bucket):
    """A POST of a form stores an object."""
    form = await bucket.store.presign_upload("d/é.txt", Write("text/css", max_size=10), 60)
    await asyncio.to_thread(post_form, form, b"abc")
    assert await read_object(bucket.store, "d/é.txt") == b"abc"


async def test_a_closed_store_is_unreachable():
    """A closed store raises `Unreachable`; for the empty key, which needs no call, it raises `ObjectMissing`."""
    async with store_at("http://127.0.0.1:9") as store:
        await store.close()
        with pytest.raises(Unreachable):
            await store.head("a", ANY)
        with pytest.raises(ObjectMissing):
            await store.head("", ANY)
