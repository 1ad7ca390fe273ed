from __future__ import annotations

import asyncio
import io
import threading
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tornado_proxy.semantics.conditions import ContentRange
from tornado_proxy.semantics.fields import Checksum
from tornado_proxy.storage.errors import Unreachable, UpstreamError
from tornado_proxy.storage.s3.boto3_reads import CHUNK, content_range, list_answer, object_info, opened
from tornado_proxy.storage.s3.executor import Executor
from tornado_proxy.storage.store import Entry, ObjectInfo


class Stream(io.BytesIO):
    """A body as boto3 gives it, of whose reads some may wait."""

    gate: threading.Event | None = None
    entered: threading.Event | None = None
    broken: bool = False

    def read(self, amt: int) -> bytes:
        """So many bytes."""
        if self.broken:
            raise ConnectionResetError
        if self.gate:
            self.entered.set()
            self.gate.wait(10)
        return super().read(amt)


class LingeringExecutor(Executor):
    """An executor whose threads are busy with a call for a while after its result is there."""

    def __init__(self, threads: int, *, timeout: float) -> None:
        super().__init__(threads, timeout=timeout)
        self.gate = threading.Event()

    def submit(self, function, *others, **options):
        """Starts a call that begins when its caller waits for the result."""
        begun = threading.Event()
        call = super().submit(lambda: begun.wait(10) and function(), *others, **options)

        def linger() -> None:
            call.outcome.add_done_callback(lambda _: self.gate.wait(10))
            begun.set()

        asyncio.get_running_loop().call_soon(linger)
        return call


def answer(stream: Stream, **said) -> dict:
    return {"Body": stream, "ContentLength": len(stream.getvalue())} | said


async def test_a_body_is_read_a_chunk_at_a_time(executor):
    """A body is read no further than its reader has asked, but for the first chunk."""
    stream = Stream(bytes(3 * CHUNK))
    chunks = opened(answer(stream), executor).chunks()
    read = []
    for _ in range(3):
        await anext(chunks)
        read.append(stream.tell() // CHUNK)
    assert read == [1, 2, 3]


async def test_a_part_has_the_length_of_the_part(executor):
    """A part ends where it should, though the object is larger."""
    part = opened(answer(Stream(b"0123"), ContentRange="bytes 0-3/100"), executor)
    assert [chunk async for chunk in part.chunks()] == [b"0123"]
    assert (part.info.size, part.content_range) == (100, ContentRange(0, 3, 100))


async def test_a_body_that_is_too_short_raises(executor):
    """A body that ends before the length that S3 told is broken, even if its connection ends properly."""
    short = opened(answer(Stream(bytes(CHUNK)), ContentLength=CHUNK + 10), executor)
    chunks = short.chunks()
    await anext(chunks)
    with pytest.raises(Unreachable, match="a body ended 10 bytes early"):
        await anext(chunks)


@pytest.mark.parametrize("said", [{"ContentLength": 100}, {"ContentLength": None}, {"ContentRange": "nonsense"}])
def test_what_cannot_be_opened_is_closed(executor, said):
    """An answer that is not an object leaves no connection open."""
    stream = Stream(b"0123")
    with pytest.raises(Exception, match=r"size|bytes read|nonsense"):
        opened(answer(stream, **said), executor)
    assert stream.closed


async def test_a_body_is_closed_at_once(executor):
    """A body that nobody is reading is closed when it is said so, and once more without harm."""
    stream = Stream(bytes(2 * CHUNK))
    body = opened(answer(stream), executor)
    await body.close()
    assert stream.closed
    await body.close()


async def test_a_body_is_closed_after_it_was_read():
    """A body whose chunks have all been read is closed at once, though the thread that read the last lingers."""
    executor = LingeringExecutor(1, timeout=5)
    stream = Stream(bytes(2 * CHUNK))
    body = opened(answer(stream), executor)
    assert sum([len(chunk) async for chunk in body.chunks()]) == 2 * CHUNK
    await body.close()
    was_closed = stream.closed
    executor.gate.set()
    assert was_closed


async def test_a_body_is_not_closed_under_its_readers_hands(executor):
    """A body that a thread is reading is closed when that thread has done."""
    stream = Stream(bytes(2 * CHUNK))
    body = opened(answer(stream), executor)
    stream.gate, stream.entered = threading.Event(), threading.Event()
    chunks = body.chunks()
    await anext(chunks)
    reading = asyncio.ensure_future(anext(chunks))
    await asyncio.sleep(0)
    await asyncio.to_thread(stream.entered.wait, 10)
    await body.close()
    assert not stream.closed
    stream.gate.set()
    await asyncio.wait([reading])
    for _ in range(2000):
        if not stream.closed:
            await asyncio.sleep(0.005)
    assert stream.closed


async def test_a_read_that_fails_is_an_error_of_ours(executor):
    """What the connection raises does not cross the border."""
    stream = Stream(bytes(2 * CHUNK))
    body = opened(answer(stream), executor)
    stream.broken = True
    chunks = body.chunks()
    await anext(chunks)
    with pytest.raises(Unreachable, match="reading a body"):
        await anext(chunks)


def test_an_answer_becomes_an_info():
    """Each header that S3 keeps has its place; the date is in UTC and whole seconds, `Expires` is the text."""
    moment = datetime(2026, 5, 1, 12, 0, 0, 5, tzinfo=timezone(timedelta(hours=2)))
    answer = {
        "ETag": '"1"', "LastModified": moment, "ContentType": "t", "ContentDisposition": "d", "ContentEncoding": "e",
        "ContentLanguage": "l", "CacheControl": "c", "ExpiresString": "never", "Metadata": {"X": "y"}, "ChecksumType": "FULL_OBJECT",
        "ChecksumSHA256": "abc=", "ChecksumCRC64NVME": "def=",
    }  # fmt: skip
    checksums = (Checksum("SHA256", "abc=", "FULL_OBJECT"), Checksum("CRC64NVME", "def=", "FULL_OBJECT"))
    date = datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert object_info(answer, 7) == ObjectInfo(
        7, '"1"', date, "t", "d", "e", "l", "c", "never", checksums, (("x", "y"),)
    )


@pytest.mark.parametrize(
    ("header", "text"),
    [("plain", "plain"), ("é".encode().decode("latin-1"), "é"), ("é", "é"), ("日", "日")],
)
def test_a_header_is_the_text_that_was_stored(header, text):
    """UTF-8 that was read as Latin-1 is read again; what is not UTF-8 stays."""
    assert object_info({"ContentDisposition": header}, 7).content_disposition == text


def test_an_answer_that_says_nothing_is_an_info_too():
    """What S3 leaves out is none."""
    assert object_info({}, 7) == ObjectInfo(7)


@pytest.mark.parametrize("size", [None, -1])
def test_an_object_without_a_size_is_an_error(size):
    """An answer that does not give the size cannot be served."""
    with pytest.raises(UpstreamError, match="size"):
        object_info({}, size)


def test_a_date_out_of_range_is_left_out():
    """The last day of the year 9999 in a zone behind UTC is not a date in UTC."""
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-5)))
    assert object_info({"LastModified": last}, 7).last_modified is None


def test_a_part_is_reported():
    """An answer says which part it is, or that it is none."""
    assert content_range({"ContentRange": "bytes 0-9/100"}) == ContentRange(0, 9, 100)
    assert content_range({}) is None


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"ContentRange": "bytes */100"}, "and not with its bytes"),
        ({"ContentRange": "nonsense"}, "invalid Content-Range `nonsense`"),
        ({"ContentRange": "bytes 5-3/100"}, "invalid Content-Range"),
        ({"ContentRange": "bytes 0-3/100", "ContentLength": 10}, "and not with its bytes"),
        ({"ResponseMetadata": {"HTTPStatusCode": 206}}, "206 without a Content-Range"),
    ],
)
def test_a_part_that_contradicts_itself_is_an_error(answer, message):
    """An answer that names no bytes, or others than it sends, cannot be served."""
    with pytest.raises(UpstreamError, match=message):
        content_range(answer)


@pytest.mark.parametrize("answer", [{"Contents": [{"Size": 1}]}, {"CommonPrefixes": [{}]}])
def test_an_entry_without_a_name_is_an_error(answer):
    """A listing that does not name what it lists cannot be shown."""
    with pytest.raises(UpstreamError, match="without"):
        list_answer(answer)


@pytest.mark.parametrize("size", [-3, 10**400])
def test_a_senseless_size_is_left_out(size):
    """A negative size is not shown, and the rest of the entry is."""
    assert list_answer({"Contents": [{"Key": "a", "Size": size}]}).entries == (Entry("a"),)
