import asyncio
import io
import threading
from http.client import IncompleteRead

import pytest
from hostile_s3 import wait_until

from tornado_proxy.s3.boto3_reads import opened
from tornado_proxy.s3.executor import Executor
from tornado_proxy.s3.limits import READ_OF_THREAD
from tornado_proxy.semantics.conditions import ByteRange
from tornado_proxy.storage.errors import Unreachable
from tornado_proxy.storage.store import ObjectInfo


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


def answer(stream: Stream, status: int = 200, **headers: str | None) -> dict:
    """Returns an answer with a body, whose length stands in its headers unless they say otherwise."""
    fields = {"content-length": str(len(stream.getvalue())), "etag": '"1"'}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    present = {name: value for name, value in fields.items() if value is not None}
    return {"Body": stream, "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": present}}


async def test_a_body_is_read_a_chunk_at_a_time(executor):
    """A chunk of a body is read only when it is requested, except for the first."""
    stream = Stream(bytes(3 * READ_OF_THREAD))
    body = opened(answer(stream), None, executor)
    chunks_read = []
    for _ in range(3):
        await body.read()
        chunks_read.append(stream.tell() // READ_OF_THREAD)
    assert chunks_read == [1, 2, 3]


async def test_a_body_that_is_too_short_raises(executor):
    """A body that is shorter than its Content-Length raises `Unreachable`."""
    short = opened(answer(Stream(bytes(READ_OF_THREAD)), content_length=str(READ_OF_THREAD + 10)), None, executor)
    await short.read()
    with pytest.raises(Unreachable, match="a body ended 10 bytes early"):
        await short.read()


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, {"content_length": "100"}),
        (200, {"content_length": None}),
        (200, {"content_range": "bytes 0-3/100"}),
        (206, {"content_range": "nonsense"}),
        (206, {"content_range": "bytes 0-3/100", "content_length": "10"}),
    ],
)
def test_an_invalid_answer_is_closed(executor, status, headers):
    """An answer whose headers are invalid, contradict each other or its body is an error, and its stream is closed."""
    stream = Stream(b"0123")
    with pytest.raises((ValueError, IncompleteRead)):
        opened(answer(stream, status, **headers), ByteRange(0, 3), executor)
    assert stream.closed


async def test_a_body_is_closed_after_it_was_read():
    """`close` closes a completely read body at once, even if the thread of the last read is still busy."""
    executor = LingeringExecutor(1, timeout=5)
    stream = Stream(bytes(2 * READ_OF_THREAD))
    body = opened(answer(stream), None, executor)
    assert [len(await body.read()) for _ in range(3)] == [READ_OF_THREAD, READ_OF_THREAD, 0]
    body.close()
    was_closed = stream.closed
    executor.gate.set()
    assert was_closed


async def test_a_body_is_not_closed_while_a_thread_reads_it(executor):
    """A body that is closed while a thread reads it is closed when the thread has finished."""
    stream = Stream(bytes(2 * READ_OF_THREAD))
    body = opened(answer(stream), None, executor)
    stream.gate, stream.entered = threading.Event(), threading.Event()
    await body.read()
    reading = asyncio.ensure_future(body.read())
    await asyncio.sleep(0)
    await asyncio.to_thread(stream.entered.wait, 10)
    body.close()
    assert not stream.closed
    stream.gate.set()
    await asyncio.wait([reading])
    await wait_until(lambda: stream.closed)


def test_the_headers_of_an_answer_become_an_info(executor):
    """The info is read from the headers as S3 sent them: boto3 decodes texts in UTF-8 as Latin-1, and drops others."""
    headers = {"etag": '"1"', "content_disposition": "é".encode().decode("latin-1"), "expires": "never"}
    body = opened(answer(Stream(b"0123"), x_amz_version_id="v", **headers), None, executor)
    assert body.head.info == ObjectInfo(4, '"1"', content_disposition="é", expires="never")
    assert body.head.version == "v"
