from __future__ import annotations

import asyncio
import logging
import threading

import pytest
from endless_s3 import endless_s3
from hostile_s3 import wait_until
from hypothesis import given
from hypothesis import strategies as st
from scripted_s3 import error_reply, reply, scripted_s3
from stores import async_chunks, store_at

from tornado_proxy.storage.errors import TooLarge, UpstreamError
from tornado_proxy.storage.s3 import upload
from tornado_proxy.storage.s3.upload import MOST_PARTS, Part, PartBody, Upload, UploadMemory, cut, part_size
from tornado_proxy.storage.store import Write


def content(part) -> bytes:
    part.body.seek(0)
    return b"".join(iter(part.body.read, b""))


MIB, TIB = 1024**2, 1024**4


async def test_chunks_are_cut_and_joined():
    """Parts are complete but the last, whatever the sizes of the chunks."""
    found = [
        (part.number, content(part), part.is_last)
        async for part in cut(async_chunks(b"abc", b"d", b"efghijk"), 4, None, UploadMemory(100))
    ]
    assert found == [(1, b"abcd", False), (2, b"efgh", False), (3, b"ijk", True)]


@pytest.mark.parametrize("chunks", [[], [b""], [b"", b""]])
async def test_an_empty_stream_is_one_empty_part(chunks):
    """There is always a last part."""
    assert [
        (part.number, content(part), part.is_last)
        async for part in cut(async_chunks(*chunks), 4, None, UploadMemory(100))
    ] == [(1, b"", True)]


async def test_a_stream_of_one_size_is_one_part():
    """A part is not handed on before something follows it, so that what fits in one is one."""
    assert [part.is_last async for part in cut(async_chunks(b"ab", b"cd", b""), 4, None, UploadMemory(100))] == [True]


@given(st.lists(st.binary(max_size=20), max_size=10), st.integers(1, 9))
def test_parts_add_up_to_the_stream(chunks, size):
    """Whatever the chunks, the parts are the stream, of one size but the last, and numbered in order."""

    async def all_parts():
        return [part async for part in cut(async_chunks(*chunks), size, None, UploadMemory(100))]

    found = _run(all_parts())
    assert b"".join(content(part) for part in found) == b"".join(chunks)
    assert [part.number for part in found] == list(range(1, len(found) + 1))
    assert all(len(part.body) == size for part in found[:-1])
    assert len(found[-1].body) <= size


def _run(coroutine):
    """What a coroutine returns that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value


@pytest.mark.parametrize(("size", "fits"), [(10, True), (11, False)])
async def test_no_more_is_taken_than_may_be(size, fits):
    """One byte past the largest size raises, before a part with it is handed on."""
    taken = 0
    try:
        async for part in cut(async_chunks(*[b"x"] * size), 4, 10, UploadMemory(100)):
            taken += len(part.body)
    except TooLarge:
        assert (taken, fits) == (8, False)
    else:
        assert (taken, fits) == (10, True)


async def test_there_are_no_more_parts_than_s3_takes(monkeypatch):
    """A stream that would need more parts than S3 takes is too large."""
    monkeypatch.setattr(upload, "MOST_PARTS", 3)
    assert len([part async for part in cut(async_chunks(b"x" * 12), 4, None, UploadMemory(100))]) == 3
    with pytest.raises(TooLarge, match="more than 3 parts"):
        assert [part async for part in cut(async_chunks(b"x" * 13), 4, None, UploadMemory(100))]


def test_parts_of_the_first_gigabytes_are_of_one_size():
    """Some S3s want all parts to be of one size: as many are as can be."""
    assert {part_size(number, 8 * MIB) for number in range(1, 1001)} == {8 * MIB}


@pytest.mark.parametrize("smallest", [8 * MIB, 16 * MIB, 5 * 1024 * MIB])
def test_an_object_of_unknown_length_may_grow_to_the_largest(smallest):
    """Parts grow, within what S3 takes for one, so that their largest number holds 5 TiB."""
    sizes = [part_size(number, smallest) for number in range(1, MOST_PARTS + 1)]
    assert sum(sizes) >= 5 * TIB
    assert max(sizes) <= 5 * 1024 * MIB


async def test_memory_is_shared_out_in_order():
    """Who finds too little left waits for those before, and gets it when it is given back."""
    memory, order = UploadMemory(10), []

    async def take(name, count):
        await memory.take(count)
        order.append(name)

    await take("first", 8)
    waiting = [asyncio.ensure_future(take(name, count)) for name, count in (("second", 6), ("third", 2))]
    await asyncio.sleep(0)
    assert order == ["first"]
    memory.give_back(8)
    await asyncio.gather(*waiting)
    assert (order, memory.free) == (["first", "second", "third"], 2)


async def test_who_is_cancelled_waits_no_more():
    """A client that leaves while it waits for memory takes none, and holds up nobody behind it."""
    memory = UploadMemory(10)
    await memory.take(8)
    gone = asyncio.ensure_future(memory.take(6))
    behind = asyncio.ensure_future(memory.take(2))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.wait([gone])
    assert await behind == 2
    memory.give_back(10)
    assert memory.free == 10


async def test_memory_that_comes_too_late_is_given_back():
    """Who is cancelled in the moment of its turn gives back what it was given."""
    memory = UploadMemory(10)
    await memory.take(10)
    late = asyncio.ensure_future(memory.take(10))
    await asyncio.sleep(0)
    memory.give_back(10)
    late.cancel()
    await asyncio.wait([late])
    assert memory.free == 10


async def test_a_part_larger_than_all_memory_takes_all():
    """A part that could never be held otherwise goes alone."""
    assert await UploadMemory(10).take(50) == 10


async def test_a_small_file_takes_no_shared_memory():
    """A few bytes do not wait for uploads that have all memory."""
    memory = UploadMemory(MIB)
    await memory.take(MIB)
    found = [content(part) async for part in cut(async_chunks(bytes(60_000)), MIB, None, memory)]
    assert (found, memory.free) == ([bytes(60_000)], 0)


async def test_a_large_part_takes_shared_memory_until_it_is_closed():
    """A part has memory of its own size from when it is more than small, and gives it back once."""
    memory = UploadMemory(4 * MIB)
    parts = [part async for part in cut(async_chunks(bytes(100_000), bytes(2 * MIB)), MIB, None, memory)]
    assert (len(parts), memory.free) == (3, MIB)
    assert sum(len(content(part)) for part in parts) == 100_000 + 2 * MIB
    for part in [*parts, *parts]:
        part.body.close()
    assert memory.free == 4 * MIB


async def test_an_upload_that_breaks_off_gives_its_memory_back():
    """The part that was being filled is closed when its stream raises, or is given up."""
    memory = UploadMemory(4 * MIB)

    async def broken():
        yield bytes(500_000)
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        assert [part async for part in cut(broken(), MIB, None, memory)] == []
    assert memory.free == 4 * MIB


async def test_a_part_is_read_again_and_again():
    """boto3 reads a body from its start for the signature and for each attempt."""
    body = PartBody(UploadMemory(100))
    await body.append(memoryview(b"0123456789"), 100)
    assert (body.read(4), body.tell(), body.read(100), body.read(1)) == (b"0123", 4, b"456789", b"")
    assert (body.seek(2), body.read(2), body.seek(-1, 2), body.read(), body.seek(0, 1)) == (2, b"23", 9, b"9", 10)


BEGUN = reply(200, b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
COMPLETED = reply(200, b'<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>')
SENT = reply(200, ETag='"p"')
GONE = reply(204)
MIB = 1024**2
TARGET = {"Bucket": "bucket", "Key": "a"}


async def begin(store) -> Upload:
    return await Upload.begin(await store._boto3(), store._executor, TARGET, {"ContentType": "text/x"})


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
            assert memory.free == MIB - 100_000
            await upload.complete({})
            await wait_until(lambda: memory.free == MIB)  # the thread that sent it ends a moment after its answer


async def test_what_is_aborted_is_let_go_of():
    """Parts that are on their way, or wait, give their memory back when the upload is aborted."""
    memory, gate = UploadMemory(MIB), threading.Event()
    with scripted_s3(BEGUN, type(SENT)(SENT.data, gate=gate), SENT, GONE) as s3:
        async with store_at(s3.url, read_timeout=20, threads=1) as store:
            upload = await begin(store)
            for number in (1, 2):
                await upload.send(Part(number, await filled(bytes(100_000), memory), is_last=False))
            await s3.wait_for_requests(2)
            aborting = asyncio.ensure_future(upload.abort())
            await asyncio.sleep(0)
            assert memory.free == MIB
            gate.set()
            await aborting


async def test_a_part_that_fails_is_reported_at_the_end():
    """A part that S3 refuses keeps the upload from being completed."""
    with scripted_s3(BEGUN, error_reply(500, "InternalError")) as s3:
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
            await s3.wait_for_requests(2)
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
            await s3.wait_for_requests(2)
    assert lines(s3)[1] == "DELETE /bucket/a?uploadId=u"


async def test_an_upload_that_was_begun_for_nobody_is_aborted():
    """An upload that S3 begins when nobody waits for it any more is taken back."""
    gate = threading.Event()
    with scripted_s3(type(BEGUN)(BEGUN.data, gate=gate), GONE) as s3:
        async with store_at(s3.url, read_timeout=20) as store:
            beginning = asyncio.ensure_future(begin(store))
            await s3.wait_for_requests()
            beginning.cancel()
            with pytest.raises(asyncio.CancelledError):
                await beginning
            gate.set()
            await s3.wait_for_requests()
    assert lines(s3)[1] == "DELETE /bucket/a?uploadId=u"


async def test_an_upload_is_aborted_once_it_is_known_whether_it_was_completed():
    """An abort waits for the end of a completion that nobody waits for any more."""
    gate = threading.Event()
    with scripted_s3(BEGUN, type(COMPLETED)(COMPLETED.data, gate=gate), error_reply(404, "NoSuchUpload")) as s3:
        async with store_at(s3.url, read_timeout=20) as store:
            upload = await begin(store)
            completing = asyncio.ensure_future(upload.complete({}))
            await s3.wait_for_requests(2)
            completing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await completing
            gate.set()
            await upload.abort()
    assert len(s3.requests) == 3


async def test_an_abort_that_fails_is_logged(caplog):
    """What could not be taken back is said where an operator reads it; whoever asked for it cannot help it."""
    with scripted_s3(BEGUN, error_reply(500, "InternalError")) as s3, caplog.at_level(logging.WARNING):
        async with store_at(s3.url) as store:
            await (await begin(store)).abort()
    assert [record.getMessage().partition(" (")[0] for record in caplog.records] == [
        "parts of an aborted upload may remain in S3: aborting an upload of `a`: 500 InternalError: So it is"
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
            with pytest.raises(UpstreamError, match="accepts part 1 without an ETag"):
                await upload.complete({})


async def test_an_upload_needs_memory_for_one_part_only():
    """A part that S3 has makes room for the next, though the upload waits for room and not for the part."""
    with endless_s3() as (url, traffic):
        async with store_at(url, upload_memory=5 * MIB, read_timeout=20) as store:
            both = [store.put(name, async_chunks(*[bytes(MIB)] * 12), Write()) for name in "ab"]
            async with asyncio.timeout(20):
                await asyncio.gather(*both)
    assert (traffic.parts, traffic.completed) == (6, 2)
