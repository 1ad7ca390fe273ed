from __future__ import annotations

import asyncio
import io
import threading
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tornado_proxy.s3.boto3_reads import CHUNK, content_range, list_answer, object_info, opened
from tornado_proxy.s3.executor import Executor
from tornado_proxy.semantics.conditions import ContentRange
from tornado_proxy.semantics.fields import Checksum
from tornado_proxy.storage.errors import Unreachable, UpstreamError
from tornado_proxy.storage.store import Entry, ObjectInfo


class Stream(io.BytesIO):
    """A body as boto3 returns it, whose reads wait until `gate` is set, if there is one."""

    gate: threading.Event | None = None
    entered: threading.Event | None = None
    broken: bool = False

    def read(self, amt: int) -> bytes:
        """Reads up to `amt` bytes, waits for the gate, or fails if it is broken."""
        if self.broken:
            raise ConnectionResetError
        if self.gate:
            self.entered.set()
            self.gate.wait(10)
        return super().read(amt)


class LingeringExecutor(Executor):
    """An executor whose threads stay busy with a call after its result is set, until `gate` is set."""

    def __init__(self, threads: int, *, timeout: float) -> None:
        super().__init__(threads, queue=10, timeout=timeout)
        self.gate = threading.Event()

    def submit(self, function, *arguments, **options):
        """Submits a call that begins after its caller has begun to wait for the result."""
        begun = threading.Event()
        call = super().submit(lambda: begun.wait(10) and function(), *arguments, **options)

        def linger() -> None:
            call.outcome.add_done_callback(lambda _: self.gate.wait(10))
            begun.set()

        asyncio.get_running_loop().call_soon(linger)
        return call


def answer(stream: Stream, **fields) -> dict:
    return {"Body": stream, "ContentLength": len(stream.getvalue())} | fields


async def test_a_body_is_read_a_chunk_at_a_time(executor):
    """A chunk of a body is read only when it is requested, except for the first."""
    stream = Stream(bytes(3 * CHUNK))
    body = opened(answer(stream), executor)
    chunks_read = []
    for _ in range(3):
        await body.read()
        chunks_read.append(stream.tell() // CHUNK)
    assert chunks_read == [1, 2, 3]


async def test_a_range_has_its_own_length(executor):
    """The body of a range is complete, although the info has the size of the object."""
    part = opened(answer(Stream(b"0123"), ContentRange="bytes 0-3/100"), executor)
    assert [await part.read(), await part.read()] == [b"0123", b""]
    assert (part.info.size, part.content_range) == (100, ContentRange(0, 3, 100))


async def test_a_body_that_is_too_short_raises(executor):
    """A body that is shorter than its Content-Length raises `Unreachable`."""
    short = opened(answer(Stream(bytes(CHUNK)), ContentLength=CHUNK + 10), executor)
    await short.read()
    with pytest.raises(Unreachable, match="a body ended 10 bytes early"):
        await short.read()


@pytest.mark.parametrize("fields", [{"ContentLength": 100}, {"ContentLength": None}, {"ContentRange": "nonsense"}])
def test_an_invalid_answer_is_closed(executor, fields):
    """The stream of an invalid answer is closed."""
    stream = Stream(b"0123")
    with pytest.raises(Exception, match=r"size|bytes read|nonsense"):
        opened(answer(stream, **fields), executor)
    assert stream.closed


async def test_a_body_is_closed_at_once(executor):
    """`close` closes a body at once if no thread reads it, and can be called twice."""
    stream = Stream(bytes(2 * CHUNK))
    body = opened(answer(stream), executor)
    await body.close()
    assert stream.closed
    await body.close()


async def test_a_body_is_closed_after_it_was_read():
    """`close` closes a completely read body at once, even if the thread of the last read is still busy."""
    executor = LingeringExecutor(1, timeout=5)
    stream = Stream(bytes(2 * CHUNK))
    body = opened(answer(stream), executor)
    assert [len(await body.read()) for _ in range(3)] == [CHUNK, CHUNK, 0]
    await body.close()
    was_closed = stream.closed
    executor.gate.set()
    assert was_closed


async def test_a_body_is_not_closed_while_a_thread_reads_it(executor):
    """A body that is closed while a thread reads it is closed when the thread has finished."""
    stream = Stream(bytes(2 * CHUNK))
    body = opened(answer(stream), executor)
    stream.gate, stream.entered = threading.Event(), threading.Event()
    await body.read()
    reading = asyncio.ensure_future(body.read())
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


async def test_a_failed_read_raises_a_storage_error(executor):
    """An error of the connection becomes `Unreachable`."""
    stream = Stream(bytes(2 * CHUNK))
    body = opened(answer(stream), executor)
    stream.broken = True
    await body.read()
    with pytest.raises(Unreachable, match="reading a body"):
        await body.read()


def test_an_answer_becomes_an_info():
    """Each field of an answer sets its field of the info; the date is in UTC without fractions, and `Expires` is text."""
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
    """A header in UTF-8 that boto3 decoded as Latin-1 is decoded again; other headers are unchanged."""
    assert object_info({"ContentDisposition": header}, 7).content_disposition == text


def test_an_empty_answer_becomes_an_info():
    """The fields that an answer lacks are None in the info."""
    assert object_info({}, 7) == ObjectInfo(7)


@pytest.mark.parametrize("size", [None, -1])
def test_an_object_without_a_size_is_an_error(size):
    """An answer without a valid size raises `UpstreamError`."""
    with pytest.raises(UpstreamError, match="size"):
        object_info({}, size)


def test_a_date_out_of_range_is_ignored():
    """A date after the year 9999 in UTC becomes None."""
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-5)))
    assert object_info({"LastModified": last}, 7).last_modified is None


def test_the_range_of_an_answer_is_read():
    """`content_range` returns the range of an answer, or None."""
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
def test_a_contradictory_range_is_an_error(answer, message):
    """An answer with an invalid range, or another one than that of its body, raises `UpstreamError`."""
    with pytest.raises(UpstreamError, match=message):
        content_range(answer)


@pytest.mark.parametrize("answer", [{"Contents": [{"Size": 1}]}, {"CommonPrefixes": [{}]}])
def test_an_entry_without_a_key_is_an_error(answer):
    """A listing with a file or directory without a name raises `UpstreamError`."""
    with pytest.raises(UpstreamError, match="without"):
        list_answer(answer)


@pytest.mark.parametrize("size", [-3, 10**400])
def test_an_impossible_size_is_ignored(size):
    """An entry with an impossible size has no size."""
    assert list_answer({"Contents": [{"Key": "a", "Size": size}]}).entries == (Entry("a"),)
