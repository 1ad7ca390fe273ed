"""Writes whose answers break off: none is called done that the S3 has not carried out."""

import asyncio
import json
import time
from hashlib import md5

import pytest
from cutting_s3 import Cut, CuttingS3
from hostile_s3 import hostile_s3, wait_until
from quirky_s3 import etag, quirky_s3
from scripted_s3 import BEGUN, Reply, Then, error_reply, object_reply, reply, scripted_s3
from serving import EVERYTHING, serve
from serving import part as file_part
from stores import async_chunks, store_at

from tornado_proxy.storage.errors import StorageError, TimedOut, UpstreamError
from tornado_proxy.storage.store import IncomingPart, Store, UploadedPart, Write

BODY = b"x" * 1500
PART = 1000  # bytes of a part of `BODY`


async def put(store: Store, key: str) -> None:
    await store.put(key, async_chunks(BODY[:PART]), Write())


async def create(store: Store, key: str) -> None:
    await store.put(key, async_chunks(BODY[:PART]), Write(replace=False))


async def put_in_parts(store: Store, key: str) -> None:
    await store.put(key, async_chunks(BODY), Write())


async def begin(store: Store, key: str) -> None:
    assert await store.begin_upload(key, Write()) == key


async def send_part(store: Store, key: str) -> None:
    await store.put_part(key, key, IncomingPart(1, PART, async_chunks(BODY[:PART])))


async def complete(store: Store, key: str) -> None:
    parts = [UploadedPart(number, size, etag(bytes(size))) for number, size in ((1, PART), (2, 500))]
    assert (await store.complete_upload(key, key, parts, Write())).etag


async def abort(store: Store, key: str) -> None:
    await store.abort_upload(key, key)


async def remove(store: Store, key: str) -> None:
    await store.remove(key)


def has_object(s3: CuttingS3, key: str, size: int) -> bool:
    return len(s3.objects[key][0]) == size


def has_parts(s3: CuttingS3, key: str, *sizes: int) -> bool:
    return [len(each) for each in s3.uploads[key][1].values()] == list(sizes)


def prepare(s3: CuttingS3, key: str, action: object) -> None:
    """What a write finds: an object to remove, an upload to continue."""
    if action is remove:
        s3.objects[key] = b"12345", {}
    if action in (send_part, complete, abort):
        s3.uploads[key] = {}, {1: bytes(PART), 2: bytes(500)} if action is complete else {}


WRITES = {
    "put": (put, lambda s3, key: has_object(s3, key, PART)),
    "put if none": (create, lambda s3, key: has_object(s3, key, PART)),
    "create in parts": (put_in_parts, lambda s3, key: has_object(s3, key, 1500)),
    "part in parts": (put_in_parts, lambda s3, key: has_object(s3, key, 1500)),
    "complete in parts": (put_in_parts, lambda s3, key: has_object(s3, key, 1500)),
    "create": (begin, has_parts),
    "part": (send_part, lambda s3, key: has_parts(s3, key, PART)),
    "complete": (complete, lambda s3, key: has_object(s3, key, 1500)),
    "abort": (abort, lambda s3, key: key not in s3.uploads),
    "remove": (remove, lambda s3, key: key not in s3.objects),
}
"""For each way to write: what writes, and whether the S3 has carried it out, which must be so after a success."""

FRAMINGS = {
    "create": ("length", "chunked", "close"),
    "complete": ("length", "chunked", "close"),
    "abort": ("length", "close"),
    "remove": ("length", "close"),
}


@pytest.mark.parametrize(("way", "reads"), [*((way, "loop") for way in WRITES), ("complete", "executor")])
async def test_no_write_is_done_that_s3_has_not_carried_out(way, reads, record_property, monkeypatch):
    """An answer breaks off after each of its bytes, once or each time, with the write carried out or not."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    monkeypatch.setattr("tornado_proxy.s3.store.COMPLETION_PAUSE", 0)
    act, is_done = WRITES[way]
    confirmed = failed = 0
    async with (
        quirky_s3(s3=CuttingS3()) as s3,
        store_at(s3.url, reads, part_size=PART, max_attempts=1 if reads == "executor" else 2) as store,
    ):

        async def attempt(cut: Cut) -> None:
            nonlocal confirmed, failed
            prepare(s3, cut.key, act)
            try:
                await act(store, cut.key)
            except StorageError:
                failed += 1
                return
            confirmed += 1
            assert is_done(s3, cut.key), f"{way}: {cut} is false"

        write = way.partition(" ")[0]
        for framing in FRAMINGS.get(way, ("length",)):
            whole = Cut(write, framing)
            await attempt(whole)
            assert confirmed
            length = s3.sent[whole.key]
            cuts = [Cut(write, framing, after) for after in range(length)]
            if framing == "length" and reads == "loop":
                cuts += [Cut(write, framing, after, "done") for after in range(length)]
                cuts += [Cut(write, framing, after, "lost", "once") for after in range(length)]
            for start in range(0, len(cuts), 64):
                await asyncio.gather(*map(attempt, cuts[start : start + 64]))
    record_property("cuts", f"{way}: {confirmed} confirmed, {failed} failed, 0 false")


ETAG = '"0123456789abcdef0123456789abcdef"'
LISTED = reply(200, f"<ListPartsResult><Part><PartNumber>1</PartNumber><ETag>{ETAG}</ETag><Size>5</Size></Part></ListPartsResult>".encode())  # fmt: skip
# S3 sends its head before it knows the outcome.
UNKNOWN = reply(200)
FAILED = reply(200, b"<Error><Code>InternalError</Code><Message>So it is</Message></Error>")
MISSING = reply(404)
EMPTY = reply(200, b"<ListBucketResult/>")  # asked once: the bucket is there


@pytest.mark.parametrize("unconfirmed", [UNKNOWN, FAILED, Reply(UNKNOWN.data[:17], Then.CLOSE)])
async def test_a_form_is_answered_502_and_leaves_no_parts_if_s3_does_not_confirm_it(unconfirmed):
    """The upload is looked for, completed again, looked for, and then aborted."""
    part = reply(200, ETag=ETAG)
    with scripted_s3(BEGUN, part, part, unconfirmed, MISSING, EMPTY, unconfirmed, MISSING, reply(204)) as s3:
        async with store_at(s3.url, max_attempts=2, threads=1) as store, serve(store, actions=EVERYTHING) as site:
            answer = await site.upload("/", file_part("file", bytes(9 * 1024**2), filename="a.bin"))
    assert answer.status == 502
    assert [each.split(" ")[0] for each in s3.requests[3:]] == ["POST", "HEAD", "GET", "POST", "HEAD", "DELETE"]


@pytest.mark.parametrize("unconfirmed", [UNKNOWN, FAILED, Reply(UNKNOWN.data[:17], Then.CLOSE)])
async def test_an_upload_in_parts_is_kept_for_its_client_if_s3_does_not_confirm_it(unconfirmed):
    """The completion is answered 502, and its client may send it again."""
    result = f"<CompleteMultipartUploadResult><ETag>{ETAG}</ETag></CompleteMultipartUploadResult>"
    completed = reply(200, result.encode())
    with scripted_s3(LISTED, unconfirmed, MISSING, EMPTY, unconfirmed, MISSING, LISTED, completed) as s3:
        async with store_at(s3.url, max_attempts=2, threads=1) as store, serve(store, actions=EVERYTHING) as site:
            first = await site.request("PUT", "/a.bin?upload=complete&id=u&size=5")
            second = await site.request("PUT", "/a.bin?upload=complete&id=u&size=5")
    assert (first.status, second.status) == (502, 201)
    assert json.loads(second.body)["etag"] == ETAG
    assert "DELETE" not in [request.split(" ")[0] for request in s3.requests]


async def test_an_upload_whose_object_is_there_is_done():
    """The object has the size and the ETag that its parts make: the completion whose answer was lost has happened."""
    etag = f'"{md5(bytes.fromhex(ETAG[1:-1]), usedforsecurity=False).hexdigest()}-1"'
    with scripted_s3(LISTED, UNKNOWN, object_reply(b"", etag, Content_Length="5")) as s3:
        async with store_at(s3.url) as store, serve(store, actions=EVERYTHING) as site:
            answer = await site.request("PUT", "/a.bin?upload=complete&id=u&size=5")
    assert (answer.status, json.loads(answer.body)["etag"]) == (201, etag)


@pytest.mark.parametrize(("size", "status"), [("5", 201), ("6", 502)], ids=["its own", "another"])
async def test_a_file_without_an_answer_is_looked_for_if_it_may_not_be_replaced(size, status):
    """A client that uploads it again would find its own file in the way."""
    etag = f'"{md5(b"hello", usedforsecurity=False).hexdigest()}"'
    with scripted_s3(Reply(b"", Then.CLOSE), object_reply(b"", etag, Content_Length=size)) as s3:
        async with store_at(s3.url, conditional_writes="trusted") as store, serve(store, actions=EVERYTHING) as site:
            answer = await site.upload("/", file_part("file", b"hello", filename="a.txt"))
    assert answer.status == status


async def test_an_upload_that_s3_does_not_know_is_removed():
    """S3 may have lost sight of it for a moment only, and would keep its parts."""
    unknown = error_reply(404, "NoSuchUpload")
    with scripted_s3(BEGUN, unknown, unknown, reply(204)) as s3:
        async with store_at(s3.url, threads=1, part_size=PART) as store:
            with pytest.raises(UpstreamError):
                await store.put("key", async_chunks(BODY), Write())
    assert s3.request_lines()[-1].startswith("DELETE ")


@pytest.mark.parametrize("size", [10, 1500], ids=["at once", "in parts"])
async def test_an_s3_that_takes_all_and_says_nothing_has_one_time_limit(monkeypatch, size):
    """The attempts of a call share the time-out, although S3 takes the body each time; nobody waits for the end of an upload."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    silent = Reply(b"", Then.SILENCE)
    limits = {"read_timeout": 0.4, "timeout": 1, "max_attempts": 20, "part_size": PART}
    async with hostile_s3(BEGUN if size > PART else silent, silent) as s3, store_at(s3.url, **limits) as store:
        start = time.monotonic()
        with pytest.raises(TimedOut, match=r"within 1 s"):
            await store.put("key", async_chunks(b"x" * size), Write(announced=None))
        assert time.monotonic() - start < 5
        assert len(s3.requests) > 1
    # The end of the upload is tried again, at once while the delays are none; later it would hold this process.
    await wait_until(lambda: not store._executor._unfinished)
