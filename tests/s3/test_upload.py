import asyncio
import logging
import sys
import threading
from dataclasses import replace

import pytest
from endless_s3 import endless_s3
from hypothesis import given
from hypothesis import strategies as st
from scripted_s3 import ABORTED, BEGUN, COMPLETED, STORED, error_reply, reply, scripted_s3
from stores import async_chunks, scripted_store, store_at

from tornado_proxy.routing.limits import MOST_PARTS
from tornado_proxy.s3 import upload
from tornado_proxy.s3.limits import PIECE_OF_THREAD
from tornado_proxy.s3.upload import Part, PartBody, Upload, UploadMemory, cut, part_size
from tornado_proxy.storage.errors import Busy, TooLarge, UpstreamError
from tornado_proxy.storage.store import Write
from tornado_proxy.wire.shares import CLIENT


def content(part) -> bytes:
    part.body.seek(0)
    return b"".join(iter(part.body.read, b""))


MIB = 1024**2


@given(st.lists(st.binary(max_size=20), max_size=10), st.integers(1, 9))
def test_parts_have_the_bytes_of_the_stream(chunks, size):
    """The parts of any chunks have the bytes of the stream, one size except the last, and consecutive numbers."""

    async def all_parts():
        return [part async for part in cut(async_chunks(*chunks), size, Write(), UploadMemory(100))]

    parts = _run(all_parts())
    assert b"".join(content(part) for part in parts) == b"".join(chunks)
    assert [part.number for part in parts] == list(range(1, len(parts) + 1))
    assert all(len(part.body) == size for part in parts[:-1])
    assert len(parts[-1].body) <= size


def _run(coroutine):
    """Runs a coroutine that never waits, and returns its result."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value


async def test_the_number_of_parts_is_limited(monkeypatch):
    """A stream that would need more parts than S3 accepts raises `TooLarge`."""
    monkeypatch.setattr(upload, "MOST_PARTS", 3)
    assert len([part async for part in cut(async_chunks(b"x" * 12), 4, Write(), UploadMemory(100))]) == 3
    with pytest.raises(TooLarge, match="more than 3 parts of 4 bytes"):
        assert [part async for part in cut(async_chunks(b"x" * 13), 4, Write(), UploadMemory(100))]


@pytest.mark.parametrize(
    ("announced", "max_size", "size"),
    [
        (0, None, 8 * MIB),
        (8 * MIB, None, 8 * MIB),
        (8 * MIB + 1, None, 5 * MIB),
        (50 * 10**9, None, 5 * MIB),
        (160 * 10**9, 10**12, 16_001_601),
        (None, None, 5 * MIB),
        (None, 160 * 10**9, 16_001_601),
        (None, 10**18, 32 * MIB),
    ],
)
def test_all_parts_have_one_size(announced, max_size, size):
    """Some S3s demand that. A file that is a little larger than it seemed, as a form without a last line end, fits."""
    assert part_size(5 * MIB, Write(announced=announced, max_size=max_size)) == size
    assert size * MOST_PARTS > (announced or 0) + 2


async def test_a_file_that_is_too_large_is_refused_before_it_is_sent():
    """Nothing is read of a body that announces more than the parts can hold; larger parts are the operator's choice."""
    write, unread = Write(announced=10**12), async_chunks(b"x")
    with pytest.raises(TooLarge, match="10000 parts of 33554432 bytes"):
        await anext(cut(unread, 5 * MIB, write, UploadMemory(MIB)))
    assert await anext(unread) == b"x"
    assert part_size(128 * MIB, write) * MOST_PARTS > 10**12


async def test_a_file_of_eight_mebibytes_is_sent_at_once_if_its_size_is_known():
    """One call suffices for it; in parts, there would be four."""
    for announced, calls in ((8 * MIB, 1), (None, 4)):
        async with scripted_store(BEGUN if calls > 1 else STORED, STORED, STORED, COMPLETED, part_size=5 * MIB) as (
            s3,
            store,
        ):
            await store.put("a", async_chunks(bytes(8 * MIB)), Write(announced=announced))
        assert len(s3.requests) == calls


def part_of(client: str, memory: UploadMemory, bucket: str = "") -> PartBody:
    """An empty part of a client."""
    token = CLIENT.set(client)
    try:
        return PartBody(memory, bucket)
    finally:
        CLIENT.reset(token)


async def fill(body: PartBody, size: int, capacity: int = 8 * MIB) -> asyncio.Task[None]:
    """Appends to a part, and returns the task, which waits if there is no memory."""
    task = asyncio.ensure_future(body.append(memoryview(bytes(size)), capacity))
    await asyncio.sleep(0)
    return task


async def test_memory_is_taken_as_bytes_arrive():
    """A part takes no more memory than it has bytes, however large it may become."""
    memory = UploadMemory(16 * MIB)
    bodies = [PartBody(memory) for _ in range(100)]
    for body in bodies:
        assert (await fill(body, 70_000)).done()
    assert memory.free == 16 * MIB - 100 * 70_000
    for body in bodies:
        body.close()
    assert memory.free == 16 * MIB


async def test_a_client_leaves_memory_for_others():
    """The parts of a client get half of the memory; the next client finds some."""
    memory = UploadMemory(16 * MIB)
    crowd = [part_of("a", memory) for _ in range(20)]
    tasks = [await fill(body, MIB, MIB) for body in crowd]
    assert [task.done() for task in tasks] == [True] * 8 + [False] * 12
    other = await fill(part_of("b", memory), MIB, MIB)
    assert other.done()
    for body in crowd:
        body.close()
        await asyncio.sleep(0)
    assert all(task.done() for task in tasks)


async def test_a_file_that_has_arrived_leaves_memory_for_others():
    """What is kept free for a file that is arriving is free once it ends, for the same client too."""
    memory, has_ended = UploadMemory(16 * MIB), asyncio.Event()

    async def small():
        yield bytes(100_000)
        await has_ended.wait()

    token = CLIENT.set("a")
    files = [asyncio.ensure_future(anext(cut(small(), 5 * MIB, Write(announced=100_000), memory))) for _ in range(30)]
    CLIENT.reset(token)
    await asyncio.sleep(0)
    other = await fill(part_of("a", memory), 2 * MIB)
    assert not other.done()
    has_ended.set()
    await asyncio.gather(*files)
    await asyncio.wait_for(other, 5)


async def test_the_oldest_part_finds_what_it_needs():
    """Parts of one client, and of several, never wait for each other only: the one begun first becomes full."""
    for clients in ("aaaa", "abcd"):
        memory = UploadMemory(16 * MIB)
        bodies, waiting = [part_of(client, memory) for client in clients], {}
        for _ in range(8):
            for body in bodies:
                if body not in waiting or waiting[body].done():
                    waiting[body] = await fill(body, MIB)
        assert len(bodies[0]) == 8 * MIB
        assert memory.free >= -8 * MIB
        assert not all(task.done() for task in waiting.values())
        for body in bodies:
            body.close()
            await asyncio.sleep(0)
        assert all(task.done() for task in waiting.values())


async def test_a_bucket_that_hangs_leaves_memory_for_another():
    """Parts that nothing takes fill seven eighths of the memory; those for another bucket become full one after the other."""
    memory = UploadMemory(16 * MIB)
    waiting = {part_of(client, memory, "hangs"): None for client in "abcdefghijklmnopqrstuvwx"}
    for _ in range(16):
        for body, task in waiting.items():
            if task is None or task.done():
                waiting[body] = await fill(body, 65_536, MIB)
    assert 0 < sum(not task.done() for task in waiting.values()) < 24
    for number in range(3):
        body = part_of(f"healthy {number}", memory, "healthy")
        for _ in range(16):
            assert (await fill(body, 65_536, MIB)).done()
        body.close()
    for body, task in waiting.items():
        task.cancel()
        body.close()
    await asyncio.gather(*waiting.values(), return_exceptions=True)
    assert memory.free == 16 * MIB


@pytest.mark.parametrize(
    ("clients", "bucket", "most"), [("a" * 64, "", 6), ("abcdefgh" * 8, "", 8), ("abcdefgh" * 8, "bucket", 7)]
)
async def test_older_parts_become_full_first(clients, bucket, most):
    """Among many parts that fill at the same pace, enough become full at once to keep S3 busy."""
    memory = UploadMemory(16 * MIB)
    bodies = [part_of(client, memory, bucket) for client in clients]
    waiting = {body: await fill(body, 70_000, MIB) for body in bodies}
    for _ in range(20):
        for body in bodies:
            if waiting[body].done() and len(body) + 50_000 <= MIB:
                waiting[body] = await fill(body, 50_000, MIB)
    full = [body for body in bodies if len(body) + 50_000 > MIB]
    assert len(full) == most
    assert full == bodies[: len(full)]


class CountedPart(PartBody):
    """A part that counts how often one of its kind is looked at."""

    looks = 0

    def __getattribute__(self, name: str) -> object:
        CountedPart.looks += 1
        return super().__getattribute__(name)


@pytest.mark.parametrize("bucket", ["bucket", "bucket {}"])
async def test_finding_memory_looks_at_each_part_a_few_times(bucket):
    """The event loop is not held up by how many clients have parts, nor by how many buckets they are for."""
    looks = []
    for clients in (20, 160):
        memory = UploadMemory(256 * MIB)
        for number in range(clients):
            token = CLIENT.set(str(number))
            part = CountedPart(memory, bucket.format(number))
            CLIENT.reset(token)
            CountedPart.looks = 0
            await memory.take(part, 70_000)
        looks.append(CountedPart.looks)
    assert looks[1] < 10 * looks[0]


async def test_nobody_waits_for_memory_without_end(monkeypatch):
    """An upload that finds no memory for long is refused."""
    monkeypatch.setattr(upload.limits, "MEMORY_WITHIN", 0.01)
    memory = UploadMemory(8 * MIB)
    await fill(PartBody(memory), 8 * MIB)
    body = PartBody(memory)
    with pytest.raises(Busy, match="no memory"):
        await (await fill(body, MIB))
    body.close()
    assert memory.free == 0


async def test_a_cancelled_upload_takes_no_memory():
    """An upload that is cancelled while it waits, or in the moment in which it gets memory, keeps none."""
    for is_late in (False, True):
        memory = UploadMemory(8 * MIB)
        holder, body = PartBody(memory), PartBody(memory)
        await fill(holder, 8 * MIB)
        waiting = await fill(body, MIB)
        if is_late:
            holder.close()
        waiting.cancel()
        await asyncio.wait([waiting])
        body.close()
        holder.close()
        assert memory.free == 8 * MIB


async def test_a_part_larger_than_the_memory_takes_all():
    """A part that is larger than the shared memory is taken alone."""
    memory = UploadMemory(MIB)
    large, other = PartBody(memory), PartBody(memory)
    assert (await fill(large, 3 * MIB)).done()
    waiting = await fill(other, MIB)
    assert not waiting.done()
    large.close()
    await waiting
    other.close()


async def test_a_small_file_takes_no_shared_memory():
    """A file of 60 kB does not wait for shared memory."""
    memory = UploadMemory(MIB)
    await fill(PartBody(memory), MIB, MIB)
    contents = [content(part) async for part in cut(async_chunks(bytes(60_000)), MIB, Write(), memory)]
    assert (contents, memory.free) == ([bytes(60_000)], 0)


async def test_an_interrupted_upload_gives_its_memory_back():
    """The memory of a part that is being filled is given back if the stream raises."""
    memory = UploadMemory(4 * MIB)

    async def broken():
        yield bytes(500_000)
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        assert [part async for part in cut(broken(), MIB, Write(), memory)] == []
    assert memory.free == 4 * MIB


async def test_a_closed_part_returns_its_memory_to_the_system():
    """A body that is referred to keeps none, and a thread that still sends it gets an error."""
    body = PartBody(UploadMemory(8 * MIB))
    await fill(body, 2 * PIECE_OF_THREAD)
    body.close()
    assert sys.getsizeof(body) < PIECE_OF_THREAD
    with pytest.raises(ValueError, match="closed"):
        body.read()


async def test_a_part_that_a_thread_still_reads_gives_its_memory_back():
    """The buffer cannot be released in that moment; other uploads need not wait for it."""
    memory = UploadMemory(8 * MIB)
    body = PartBody(memory)
    await fill(body, MIB)
    with body.getbuffer(), pytest.raises(BufferError):
        body.close()
    assert memory.free == 8 * MIB


TARGET = {"Bucket": "bucket", "Key": "a"}


async def begin(store) -> Upload:
    return await Upload.begin(store._client, store._executor, TARGET, {"ContentType": "text/x"})


async def part_body(data: bytes, memory: UploadMemory | None = None) -> PartBody:
    body = PartBody(memory or UploadMemory(MIB))
    await body.append(memoryview(data), len(data))
    return body


async def test_an_aborted_upload_gives_its_memory_back():
    """The memory of parts that are being sent or wait is given back when the upload is aborted."""
    memory, gate = UploadMemory(MIB), threading.Event()
    async with scripted_store(BEGUN, replace(STORED, gate=gate), STORED, ABORTED, read_timeout=20, threads=1) as (
        s3,
        store,
    ):
        upload = await begin(store)
        await upload.send(Part(1, await part_body(bytes(100_000), memory), is_last=False))
        sending = asyncio.ensure_future(upload.send(Part(2, await part_body(bytes(100_000), memory), is_last=False)))
        await s3.wait_for_requests(2)
        sending.cancel()
        aborting = asyncio.ensure_future(upload.abort())
        await asyncio.sleep(0)
        assert memory.free == MIB
        gate.set()
        await aborting


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (error_reply(500, "InternalError"), "uploading a part of `a`: 500 InternalError"),
        (reply(200), "accepts part 1 without an ETag"),
    ],
    ids=["an error", "no ETag"],
)
async def test_a_failed_part_prevents_the_completion(answer, message):
    """`finish` raises the error of a part that S3 has refused, or has accepted without an ETag."""
    async with scripted_store(BEGUN, answer) as (_, store):
        upload = await begin(store)
        await upload.send(Part(1, await part_body(b"a"), is_last=True))
        with pytest.raises(UpstreamError, match=message):
            await upload.finish()


async def test_an_upload_is_aborted_after_its_parts_have_arrived():
    """`abort` waits for parts that are being sent, because a part that arrives after the abort would remain."""
    gate = threading.Event()
    async with scripted_store(BEGUN, replace(STORED, gate=gate), ABORTED) as (s3, store):
        upload = await begin(store)
        await upload.send(Part(1, await part_body(b"a"), is_last=True))
        await s3.wait_for_requests(2)
        aborting = asyncio.ensure_future(upload.abort())
        await asyncio.sleep(0)
        assert len(s3.requests) == 2
        gate.set()
        await aborting
    assert s3.request_lines()[2] == "DELETE /bucket/a?uploadId=u"


async def test_an_abort_continues_if_its_caller_is_cancelled():
    """An upload is aborted even if the task that awaits `abort` is cancelled."""
    gate = threading.Event()
    async with scripted_store(BEGUN, replace(ABORTED, gate=gate)) as (s3, store):
        upload = await begin(store)
        aborting = asyncio.ensure_future(upload.abort())
        await asyncio.sleep(0)
        aborting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await aborting
        gate.set()
        await s3.wait_for_requests(2)
    assert s3.request_lines()[1] == "DELETE /bucket/a?uploadId=u"


async def test_an_upload_is_aborted_if_its_beginning_is_cancelled():
    """An upload that S3 begins after the caller was cancelled is aborted."""
    gate = threading.Event()
    async with scripted_store(replace(BEGUN, gate=gate), ABORTED) as (s3, store):
        beginning = asyncio.ensure_future(begin(store))
        await s3.wait_for_requests()
        beginning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await beginning
        gate.set()
        await s3.wait_for_requests()
    assert s3.request_lines()[1] == "DELETE /bucket/a?uploadId=u"


async def test_an_abort_waits_for_a_cancelled_completion():
    """`abort` waits for the answer to a completion whose caller was cancelled."""
    gate = threading.Event()
    async with scripted_store(BEGUN, replace(COMPLETED, gate=gate), error_reply(404, "NoSuchUpload")) as (s3, store):
        upload = await begin(store)
        completing = asyncio.ensure_future(upload.complete({}))
        await s3.wait_for_requests(2)
        completing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await completing
        gate.set()
        await upload.abort()
    assert len(s3.requests) == 3


async def test_a_failed_abort_is_logged(caplog):
    """A failed abort is logged for the operator and raises no error, because the client can do nothing about it."""
    with scripted_s3(BEGUN, error_reply(500, "InternalError")) as s3, caplog.at_level(logging.WARNING):
        async with store_at(s3.url) as store:
            await (await begin(store)).abort()
    assert [record.getMessage().partition(" (")[0] for record in caplog.records] == [
        "parts of an aborted upload may remain in S3: aborting an upload of `a`: 500 InternalError: So it is"
    ]


async def test_an_upload_without_an_id_is_an_error():
    """An answer without an UploadId raises `UpstreamError`."""
    async with scripted_store(reply(200, b"<InitiateMultipartUploadResult/>")) as (_, store):
        with pytest.raises(UpstreamError, match="begins an upload of `a` without an UploadId"):
            await begin(store)


async def test_two_uploads_can_share_memory_for_one_part():
    """Two concurrent uploads complete with memory for one part, because a stored part frees its memory at once."""
    with endless_s3() as (url, traffic):
        async with store_at(url, upload_memory=5 * MIB) as store:
            uploads = [store.put(name, async_chunks(*[bytes(MIB)] * 12), Write()) for name in "ab"]
            async with asyncio.timeout(20):
                await asyncio.gather(*uploads)
    assert (traffic.parts, traffic.completed) == (6, 2)
