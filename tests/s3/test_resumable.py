"""Reads that go on where they stopped, in both ways of reading."""

import asyncio
import random
from contextlib import asynccontextmanager

import pytest
from hostile_s3 import hostile_s3, wait_until
from ranged_s3 import RangedS3
from scripted_s3 import Then
from stores import read_object, store_at

from tornado_proxy.config.model import CallHeaders
from tornado_proxy.s3.answers import ObjectHead
from tornado_proxy.s3.resumable import longest_pause, quick_pieces, rest_of
from tornado_proxy.semantics.conditions import ByteRange, Conditions
from tornado_proxy.storage.errors import Busy, StorageError
from tornado_proxy.storage.store import ObjectInfo
from tornado_proxy.wire import shares

ANY = Conditions()
KIB, MIB = 1024, 1024**2
BODY = random.Random(7).randbytes(2 * MIB + 7)  # its last piece is a short one
OTHER = random.Random(8).randbytes(2 * MIB)


@asynccontextmanager
async def store_of(ranged: RangedS3, reads: str = "loop", **options):
    """A store whose bucket has this object, and the list of what it says about resumed reads."""
    async with hostile_s3(ranged) as ranged.s3, store_at(ranged.s3.url, reads, **options) as store:
        noticed = []
        store._notice = noticed.append
        yield store, noticed


async def read(store, part: ByteRange | None = None) -> bytes:
    return await read_object(store, "a", part=part)


def first_only(after: int, then: Then):
    """Breaks the answer to the first request."""
    return lambda number: (after, then) if number == 0 else None


@pytest.mark.parametrize("then", [Then.CLOSE, Then.RESET])
async def test_a_body_that_breaks_off_is_continued(reads, then):
    """A body that S3 cuts in the middle arrives whole, with one more call."""
    ranged = RangedS3(BODY, first_only(MIB, then))
    # A reset drops what is on its way, which may be all of the body.
    async with store_of(ranged, reads, max_attempts=2) as (store, noticed):
        assert await read(store) == BODY
    assert len(ranged.s3.requests) == 2
    assert [each[:2] for each in noticed] == [("broken", "ok")] * len(noticed)


async def test_a_body_that_stalls_is_continued(reads):
    """When S3 stops sending a body for too long, the read resumes, and the body arrives whole."""
    ranged = RangedS3(BODY, first_only(MIB, Then.SILENCE))
    async with store_of(ranged, reads, read_timeout=0.3, timeout=20) as (store, noticed):
        assert await read(store) == BODY
    assert [each[:2] for each in noticed] == [("stalled", "ok")]


async def test_a_part_is_continued_within_itself(reads):
    """A range that breaks off is continued to its end, and not beyond."""
    ranged = RangedS3(BODY, first_only(MIB // 2, Then.CLOSE))
    async with store_of(ranged, reads) as (store, _):
        assert await read(store, ByteRange(1000, MIB + 999)) == BODY[1000 : MIB + 1000]
    assert len(ranged.s3.requests) == 2
    assert ranged.gets()[1].endswith(f"-{MIB + 999}")


@pytest.mark.parametrize("successor", [OTHER, None], ids=["replaced", "deleted"])
async def test_the_version_that_was_begun_is_read_to_its_end(reads, successor):
    """Where S3 keeps versions, one that was replaced or deleted in the middle arrives whole."""
    ranged = RangedS3(BODY, first_only(MIB, Then.CLOSE), {"v1": BODY, "v2": OTHER})
    async with store_of(ranged, reads) as (store, _):
        opened = await store.open("a", ANY)
        ranged.replace(successor)
        received = b"".join([chunk async for chunk in opened.chunks()])
        await opened.close()
    assert received == BODY


@pytest.mark.parametrize(
    ("versions", "successor"),
    [({}, OTHER), ({}, None), ({"v1": BODY}, None)],
    ids=["replaced", "deleted", "version deleted"],
)
async def test_an_object_that_is_gone_for_good_is_cut(reads, versions, successor):
    """If neither the object nor its version is there any more, the body is cut, and joined with that of no other."""
    ranged, received = RangedS3(BODY, first_only(MIB, Then.CLOSE), versions), b""
    async with store_of(ranged, reads) as (store, noticed):
        opened = await store.open("a", ANY)
        ranged.replace(successor)
        ranged.versions = dict.fromkeys(versions)
        with pytest.raises(StorageError, match="changed while it was read"):  # noqa: PT012
            async for chunk in opened.chunks():
                received += chunk
        await opened.close()
    assert BODY.startswith(received)
    assert [each[:2] for each in noticed] == [("broken", "changed")]


async def test_an_object_that_was_uploaded_in_parts_is_continued(reads):
    """The ETag of a multipart upload, which is no MD5, names the object as well as any other."""
    ranged = RangedS3(BODY, first_only(MIB, Then.CLOSE), etag='"9bb58f26192e4ba00f01e2e7b136bbd8-3"')
    async with store_of(ranged, reads) as (store, noticed):
        assert await read(store) == BODY
    assert ranged.etag in (ranged.s3.header(1, "if-match"), ranged.s3.header(1, "If-Match"))
    assert [each[:2] for each in noticed] == [("broken", "ok")]


async def test_an_encrypted_object_is_continued_with_its_key(reads):
    """The call that continues an object under a key of its owner has the headers of the key again (S3 API, SSE-C)."""
    prefix = "x-amz-server-side-encryption-customer-"
    key = {f"{prefix}algorithm": "AES256", f"{prefix}key": "a2V5", f"{prefix}key-md5": "bWQ1"}
    ranged = RangedS3(BODY, first_only(MIB, Then.CLOSE), added={f"{prefix}algorithm": "AES256"})
    headers = CallHeaders(get_headers=tuple(key.items()))
    async with store_of(ranged, reads, request_config=headers) as (store, noticed):
        assert await read(store) == BODY
    assert [{name: ranged.s3.header(number, name) for name in key} for number in range(2)] == [key, key]
    assert [each[:2] for each in noticed] == [("broken", "ok")]


@pytest.mark.parametrize("wrong", ["whole", "shifted", "size", "etag", "416", "403"])
async def test_a_wrong_continuation_is_refused(wrong):
    """An answer that is not what was asked for cuts the body."""
    ranged = RangedS3(BODY, first_only(MIB, Then.CLOSE))
    right = ranged.__call__

    def answer(number):
        reply = right(number)
        if number == 0:
            return reply
        head, _, body = reply.data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        found = next(line for line in lines if line.startswith("Content-Range"))
        first = int(found.split()[2].split("-")[0])
        changes = {
            "whole": lambda: ("HTTP/1.1 200 OK", *[line for line in lines[1:] if line != found]),
            "shifted": lambda: [line.replace(f"bytes {first}-", f"bytes {first - 1}-") for line in lines],
            "size": lambda: [line.replace(f"/{len(BODY)}", f"/{len(BODY) + 1}") for line in lines],
            "etag": lambda: [line.replace('ETag: "', 'ETag: "0') for line in lines],
            "416": lambda: ("HTTP/1.1 416 Range", "Content-Length: 0"),
            "403": lambda: ("HTTP/1.1 403 Forbidden", "Content-Length: 0"),
        }
        changed = "\r\n".join(changes[wrong]()).encode() + b"\r\n\r\n"
        return type(reply)(changed + (body if wrong not in ("416", "403") else b""), reply.then)

    async with hostile_s3(answer) as ranged.s3, store_at(ranged.s3.url) as store:
        with pytest.raises(StorageError):
            await read(store)


async def test_a_read_that_does_not_get_on_ends():
    """A read that breaks again and again without getting on is tried a limited number of times."""
    ranged = RangedS3(BODY, lambda number: (64 * KIB, Then.CLOSE))
    async with store_of(ranged, resumes=3) as (store, noticed):
        with pytest.raises(StorageError):
            await read(store)
    assert len(noticed) == 3


async def test_a_read_that_gets_on_may_break_often():
    """A read that gets on by a MiB between its failures arrives whole, however often it breaks."""
    body = random.Random(9).randbytes(8 * MIB)
    ranged = RangedS3(body, lambda number: (MIB + 100 * KIB, Then.CLOSE))
    async with store_of(ranged, resumes=1) as (store, noticed):
        assert await read(store) == body
    assert len(noticed) == 7


@pytest.mark.parametrize(("has_etag", "options"), [(False, {}), (True, {"resumes": 0})], ids=["no ETag", "resumes: 0"])
async def test_some_reads_are_not_resumed(reads, has_etag, options):
    """Without an ETag nothing tells whether the rest is of the same object; with `resumes: 0` none is asked for."""
    ranged = RangedS3(BODY, first_only(MIB, Then.CLOSE), has_etag=has_etag)
    async with store_of(ranged, reads, **options) as (store, noticed):
        with pytest.raises(StorageError):
            await read(store)
    assert (len(ranged.s3.requests), noticed) == (1, [])


# Slow clients


async def test_a_slow_reader_lets_its_connection_go(reads):
    """After a pause its connection is closed, and the read goes on when the reader does, in pieces of 64 KiB."""
    ranged = RangedS3(BODY)
    async with store_of(ranged, reads, release_after=0.2) as (store, noticed):
        opened = await store.open("a", ANY)
        chunks = opened.chunks()
        received = await anext(chunks)
        await wait_until(lambda: not ranged.s3.open_connections)
        async for chunk in chunks:
            received += chunk
            if len(noticed) < 3:
                await asyncio.sleep(0.3)
        await opened.close()
    assert received == BODY
    assert {each[:2] for each in noticed} == {("slow", "ok")}
    first, last = ranged.gets()[1].removeprefix("bytes=").split("-")
    assert int(last) - int(first) == 64 * KIB - 1


async def test_a_reader_of_pieces_holds_no_connection():
    """A piece that is in memory has given its connection back, which the next piece uses."""
    ranged = RangedS3(BODY)
    async with store_of(ranged, release_after=0.1) as (store, noticed):
        opened = await store.open("a", ANY)
        async for _ in opened.chunks():
            await asyncio.sleep(0.3 if len(noticed) < 3 else 0)
        await opened.close()
    assert len(noticed) >= 3
    assert ranged.s3.connections_made == 2


async def test_a_slow_reader_that_catches_up_is_not_sent_all_the_rest():
    """A client that takes some pieces at once, as one does that was kept waiting, is still read by pieces."""
    ranged = RangedS3(BODY)
    async with store_of(ranged, release_after=0.1) as (store, noticed):
        opened = await store.open("a", ANY)
        async for _ in opened.chunks():
            await asyncio.sleep(0.3 if len(noticed) % 4 == 0 else 0)
        await opened.close()
    asked = [each.removeprefix("bytes=").split("-") for each in ranged.gets()[1:]]
    assert {int(last) - int(first) + 1 for first, last in asked[:-1]} == {64 * KIB}


async def test_a_request_takes_the_connection_of_a_slow_reader():
    """Where no connection is free, the slow reader that has paused longest gives its own to a new request at once."""
    ranged = RangedS3(BODY)
    async with store_of(ranged, connections=2, release_after=60) as (store, noticed):
        slow = [await store.open("a", ANY) for _ in range(2)]
        bodies = [each.chunks() for each in slow]
        received = [await anext(each) for each in bodies]
        async with asyncio.timeout(1):
            assert await read(store, ByteRange(0, 9)) == BODY[:10]
        for number, chunks in enumerate(bodies):
            received[number] += b"".join([chunk async for chunk in chunks])
            await slow[number].close()
    assert received == [BODY, BODY]
    assert [each[:2] for each in noticed].count(("slow", "ok")) >= 1


async def test_an_object_without_an_etag_keeps_its_connection():
    """A read that cannot be resumed keeps its connection, however slow its reader is."""
    ranged = RangedS3(BODY, has_etag=False)
    async with store_of(ranged, release_after=0.1) as (store, noticed):
        opened = await store.open("a", ANY)
        received = b""
        async for chunk in opened.chunks():
            received += chunk
            await asyncio.sleep(0.3 if len(received) < 100 * KIB else 0)
        await opened.close()
    assert (received, noticed, len(ranged.s3.requests)) == (BODY, [], 1)


async def test_thirty_downloads_with_a_random_cut_arrive_whole():
    """Each download is cut once at a random place, and arrives whole with at most one more call."""
    generator = random.Random(11)
    ranged = RangedS3(BODY)
    cut: set[str] = set()

    def breaks(number):
        key = ranged.s3.requests[number].split(" ", 2)[1]
        if key in cut:
            return None
        cut.add(key)
        return generator.randrange(len(BODY)), generator.choice([Then.CLOSE, Then.RESET])

    ranged.breaks = breaks
    async with store_of(ranged, max_attempts=2) as (store, _):
        contents = await asyncio.gather(*[read_object(store, f"a{number}") for number in range(30)])
        whole = [content == BODY for content in contents]
    assert (whole, len(ranged.s3.requests)) == ([True] * 30, 60)


async def test_bodies_do_not_take_more_memory_than_there_is(monkeypatch):
    """Bodies that are on their way hold places of 128 KiB each; the last one is for another bucket, and closing one frees its place."""
    monkeypatch.setattr(shares, "PLACE_WITHIN", 0.05)
    ranged = RangedS3(BODY)
    async with store_of(ranged, read_memory=4 * 128 * KIB) as (store, _):
        taken = [await store.open("a", ANY) for _ in range(3)]
        with pytest.raises(Busy, match="memory for a body"):
            await store.open("a", ANY)
        await taken.pop().close()
        taken.append(await store.open("a", ANY))
        for each in taken:
            await each.close()


@pytest.mark.parametrize("etag", [None, 'W/"e"', "e", ""])
def test_an_object_without_a_strong_etag_is_not_resumed(etag):
    """Nothing tells such an object from another one."""
    assert rest_of(ObjectHead(ObjectInfo(10, etag), None, "v1"), 0) is None


def test_pauses_grow_up_to_a_limit():
    """Each pause is up to twice as long as the one before, and none is longer than ten seconds."""
    assert [longest_pause(tries) for tries in (1, 2, 3, 20)] == [0.1, 0.2, 0.4, 10.0]


def test_a_client_that_is_fast_again_gets_all_the_rest():
    """After eight pieces in a row that a client took at once, it is not slow."""
    quick: list[int | None] = [0]
    while (before := quick[-1]) is not None:
        quick.append(quick_pieces(before, 0.01))
    assert quick == [*range(8), None]


def test_a_client_that_is_slow_again_begins_anew():
    """A piece that took its client longer than a quarter of a second ends the row."""
    assert quick_pieces(7, 0.26) == 0
