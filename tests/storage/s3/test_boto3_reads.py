from __future__ import annotations

import asyncio
import io
import threading

import pytest

from tornado_proxy.semantics.conditions import ContentRange
from tornado_proxy.storage.errors import Unreachable
from tornado_proxy.storage.s3.boto3_reads import CHUNK, opened


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


async def test_a_body_is_closed_after_it_was_read(executor):
    """A body whose chunks have all been read is closed as well."""
    stream = Stream(bytes(2 * CHUNK))
    body = opened(answer(stream), executor)
    assert sum([len(chunk) async for chunk in body.chunks()]) == 2 * CHUNK
    await body.close()
    assert stream.closed


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
    await executor.run(lambda: None)
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
