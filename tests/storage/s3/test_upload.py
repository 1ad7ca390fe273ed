from __future__ import annotations

import asyncio
import logging
import threading

import pytest
from endless_s3 import endless_s3
from scripted_s3 import an_error, reply, scripted_s3
from stores import pieces, store_at

from tornado_proxy.storage.errors import UpstreamError
from tornado_proxy.storage.s3.parts import Part, PartBody, UploadMemory
from tornado_proxy.storage.s3.upload import Upload
from tornado_proxy.storage.store import Write

BEGUN = reply(200, b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
COMPLETED = reply(200, b'<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>')
SENT = reply(200, ETag='"p"')
GONE = reply(204)
MIB = 1024**2
TARGET = {"Bucket": "bucket", "Key": "a"}


def begin(store) -> object:
    return Upload.begin(store._client, store._writer._executor, TARGET, {"ContentType": "text/x"})


async def filled(data: bytes, memory: UploadMemory | None = None) -> PartBody:
    body = PartBody(memory or UploadMemory(MIB))
    await body.append(memoryview(data), len(data))
    return body


def lines(s3) -> list[str]:
    return [request.splitlines()[0].removesuffix(" HTTP/1.1") for request in s3.requests]


async def test_an_upload_is_begun_sent_and_completed():
    """Each part is one request, and all are named at the end, with the precondition."""
    with scripted_s3(BEGUN, SENT, SENT, COMPLETED) as s3:
        async with store_at(s3.url) as store:
            upload = await begin(store)
            await upload.send(Part(1, await filled(b"a"), is_last=False))
            await upload.send(Part(2, await filled(b"b"), is_last=True))
            answer = await upload.complete({"IfNoneMatch": "*"})
    assert answer["ETag"] == '"e"'
    assert (lines(s3)[0], lines(s3)[3]) == ("POST /bucket/a?uploads", "POST /bucket/a?uploadId=u")
    assert sorted(lines(s3)[1:3]) == [f"PUT /bucket/a?uploadId=u&partNumber={number}" for number in (1, 2)]
    assert (s3.header(0, "Content-Type"), s3.header(3, "If-None-Match")) == ("text/x", "*")


async def test_what_was_sent_is_let_go_of():
    """A part's memory is given back as soon as S3 has it."""
    memory = UploadMemory(MIB)
    with scripted_s3(BEGUN, SENT, COMPLETED) as s3:
        async with store_at(s3.url) as store:
            upload = await begin(store)
            await upload.send(Part(1, await filled(bytes(100_000), memory), is_last=True))
            held = memory.free
            await upload.complete({})
    assert (held, memory.free) == (MIB - 100_000, MIB)


async def test_what_is_aborted_is_let_go_of():
    """Parts that are on their way, or wait, give their memory back when the upload is aborted."""
    memory, gate = UploadMemory(MIB), threading.Event()
    with scripted_s3(BEGUN, type(SENT)(SENT.data, gate=gate), SENT, GONE) as s3:
        async with store_at(s3.url, read_timeout=20, threads=1) as store:
            upload = await begin(store)
            for number in (1, 2):
                await upload.send(Part(number, await filled(bytes(100_000), memory), is_last=False))
            await s3.is_asked(2)
            aborting = asyncio.ensure_future(upload.abort())
            await asyncio.sleep(0)
            assert memory.free == MIB
            gate.set()
            await aborting


async def test_a_part_that_fails_is_told_at_the_end():
    """A part that S3 refuses keeps the upload from being completed."""
    with scripted_s3(BEGUN, an_error(500, "InternalError")) as s3:
        async with store_at(s3.url) as store:
            upload = await begin(store)
            await upload.send(Part(1, await filled(b"a"), is_last=True))
            with pytest.raises(UpstreamError, match="uploading a part of `a`: 500 InternalError"):
                await upload.complete({})


async def test_an_upload_is_aborted_after_its_parts_have_arrived():
    """A part that is on its way is waited for: one that arrives after the abort would stay."""
    gate = threading.Event()
    with scripted_s3(BEGUN, type(SENT)(SENT.data, gate=gate), GONE) as s3:
        async with store_at(s3.url, read_timeout=20) as store:
            upload = await begin(store)
            await upload.send(Part(1, await filled(b"a"), is_last=True))
            await s3.is_asked(2)
            aborting = asyncio.ensure_future(upload.abort())
            await asyncio.sleep(0)
            assert len(s3.requests) == 2
            gate.set()
            await aborting
    assert lines(s3)[2] == "DELETE /bucket/a?uploadId=u"


async def test_an_abort_goes_on_though_its_caller_is_cancelled():
    """Whoever is cancelled twice leaves nothing behind either."""
    gate = threading.Event()
    with scripted_s3(BEGUN, type(GONE)(GONE.data, gate=gate)) as s3:
        async with store_at(s3.url, read_timeout=20) as store:
            upload = await begin(store)
            aborting = asyncio.ensure_future(upload.abort())
            await asyncio.sleep(0)
            aborting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await aborting
            gate.set()
            await s3.is_asked(2)
    assert lines(s3)[1] == "DELETE /bucket/a?uploadId=u"


async def test_an_upload_that_was_begun_for_nobody_is_aborted():
    """An upload that S3 begins when nobody waits for it any more is taken back."""
    gate = threading.Event()
    with scripted_s3(type(BEGUN)(BEGUN.data, gate=gate), GONE) as s3:
        async with store_at(s3.url, read_timeout=20) as store:
            beginning = asyncio.ensure_future(begin(store))
            await s3.is_asked()
            beginning.cancel()
            with pytest.raises(asyncio.CancelledError):
                await beginning
            gate.set()
            await s3.is_asked()
    assert lines(s3)[1] == "DELETE /bucket/a?uploadId=u"


async def test_an_upload_is_aborted_once_it_is_known_whether_it_was_completed():
    """An abort waits for the end of a completion that nobody waits for any more."""
    gate = threading.Event()
    with scripted_s3(BEGUN, type(COMPLETED)(COMPLETED.data, gate=gate), an_error(404, "NoSuchUpload")) as s3:
        async with store_at(s3.url, read_timeout=20) as store:
            upload = await begin(store)
            completing = asyncio.ensure_future(upload.complete({}))
            await s3.is_asked(2)
            completing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await completing
            gate.set()
            await upload.abort()
    assert len(s3.requests) == 3


async def test_an_abort_that_fails_is_logged(caplog):
    """What could not be taken back is said where an operator reads it; whoever asked for it cannot help it."""
    with scripted_s3(BEGUN, an_error(500, "InternalError")) as s3, caplog.at_level(logging.WARNING):
        async with store_at(s3.url) as store:
            await (await begin(store)).abort()
    assert [record.getMessage().partition(" (")[0] for record in caplog.records] == [
        "parts of an upload may stay behind: aborting an upload of `a`: 500 InternalError: So it is"
    ]


async def test_an_upload_without_an_identifier_is_an_error():
    """An answer that does not say what the S3 API promises is an error of ours."""
    with scripted_s3(reply(200, b"<InitiateMultipartUploadResult/>")) as s3:
        async with store_at(s3.url) as store:
            with pytest.raises(UpstreamError, match="begins an upload of `a` without an UploadId"):
                await begin(store)


async def test_a_part_without_an_etag_is_an_error():
    """A part that S3 does not name cannot be made part of an object."""
    with scripted_s3(BEGUN, reply(200)) as s3:
        async with store_at(s3.url) as store:
            upload = await begin(store)
            await upload.send(Part(1, await filled(b"a"), is_last=True))
            with pytest.raises(UpstreamError, match="takes part 1 without an ETag"):
                await upload.complete({})


async def test_an_upload_needs_memory_for_one_part_only():
    """A part that S3 has makes room for the next, though the upload waits for room and not for the part."""
    with endless_s3() as (url, traffic):
        async with store_at(url, upload_memory=5 * MIB, read_timeout=20) as store:
            both = [store.put(name, pieces(*[bytes(MIB)] * 12), Write()) for name in "ab"]
            async with asyncio.timeout(20):
                await asyncio.gather(*both)
    assert (traffic.parts, traffic.completed) == (6, 2)
