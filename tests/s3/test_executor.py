import asyncio
import gc
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from hostile_s3 import wait_until
from scripted_s3 import Then, error_reply, object_reply, receive, reply, with_ending
from stores import async_chunks, read_object, scripted_store, store_at

from tornado_proxy.s3.executor import CallAbandoned, Executor, current_call
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.storage.errors import Busy, TimedOut, Unreachable, UpstreamError
from tornado_proxy.storage.store import Write


class FakeConnection:
    """A connection without a network, on which a call waits until it is cut."""

    def __init__(self) -> None:
        self.call = None
        self.is_cut = threading.Event()

    def cut(self) -> None:
        """Sets `is_cut`."""
        self.is_cut.set()

    def abandon(self) -> None:
        """Does nothing."""

    def wait(self) -> None:
        """Waits until the connection is cut, and then fails."""
        current_call().use(self)
        assert self.is_cut.wait(10)
        raise ConnectionResetError


@pytest.fixture
def two_threads() -> Executor:
    """An executor with two threads, a queue of three calls and a timeout of 10 s."""
    return Executor(2, queue=3, timeout=10)


async def test_the_result_of_a_cancelled_call_is_undone(two_threads):
    """`undo` gets the result of a call that returns after its caller was cancelled."""
    begun, gate, undone = threading.Event(), threading.Event(), threading.Event()
    results = []

    def call():
        begun.set()
        gate.wait(10)
        return "a connection"

    def undo(result):
        results.append(result)
        undone.set()

    running = asyncio.ensure_future(two_threads.run(call, undo))
    await asyncio.to_thread(begun.wait, 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    gate.set()
    await asyncio.to_thread(undone.wait, 10)
    assert results == ["a connection"]


def _end_call(executor: Executor, gate: threading.Event) -> None:
    """Lets the call in the one thread of an executor end, before the loop can learn of it."""
    gate.set()
    has_ended = threading.Event()
    executor.submit(has_ended.set)
    assert has_ended.wait(10)


@pytest.mark.parametrize("is_before", [True, False])
async def test_a_result_in_the_moment_of_the_cancellation_is_undone(is_before):
    """A call that ends just before its caller notices that it was cancelled, or just after, has nobody for its result."""
    executor, begun, gate, undone = Executor(1, queue=3, timeout=10), *(threading.Event() for _ in range(3))

    running = asyncio.ensure_future(executor.run(lambda: (begun.set(), gate.wait(10)), lambda _: undone.set()))
    await asyncio.to_thread(begun.wait, 10)
    running.cancel()
    if is_before:
        _end_call(executor, gate)
    else:
        asyncio.get_running_loop().call_soon(_end_call, executor, gate)
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await asyncio.to_thread(undone.wait, 10)


async def test_a_failure_in_the_moment_of_the_cancellation_is_not_logged(caplog):
    """A client leaves as S3 fails: asyncio would report the failure as one at which nobody has looked."""
    executor, begun, gate = Executor(1, queue=3, timeout=10), threading.Event(), threading.Event()
    running = asyncio.ensure_future(executor.run(lambda: (begun.set(), gate.wait(10), int("x"))))
    await asyncio.to_thread(begun.wait, 10)
    _end_call(executor, gate)
    running.cancel()
    await asyncio.wait((running,))
    del running
    await asyncio.sleep(0)
    gc.collect()
    assert caplog.messages == []


async def test_a_call_that_is_cancelled_in_the_queue_is_never_made(two_threads):
    """A call is not made if its caller is cancelled while the call waits for a thread."""
    gate, calls = threading.Event(), []
    busy = [asyncio.ensure_future(two_threads.run(lambda: gate.wait(10))) for _ in range(2)]
    waiting = asyncio.ensure_future(two_threads.run(lambda: calls.append(1), calls.append))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gate.set()
    await asyncio.gather(*busy)
    await two_threads.run(lambda: None)
    assert calls == []


async def test_the_connection_of_a_cancelled_call_is_cut(two_threads):
    """A call that waits for S3 ends when its caller is cancelled, and its thread takes the next call."""
    connections = [FakeConnection(), FakeConnection()]
    calls = [asyncio.ensure_future(two_threads.run(connection.wait)) for connection in connections]
    await wait_until(lambda: all(connection.call for connection in connections))
    for call in calls:
        call.cancel()
    assert await two_threads.run(lambda: "next") == "next"
    assert all(connection.is_cut.is_set() for connection in connections)


async def test_a_connection_that_another_call_uses_is_not_cut(two_threads):
    """A connection that another call has taken over is not cut when the first call is cancelled."""
    connection, gate, used = FakeConnection(), threading.Event(), threading.Event()

    def first():
        current_call().use(connection)
        used.set()
        gate.wait(10)

    running = asyncio.ensure_future(two_threads.run(first))
    await asyncio.to_thread(used.wait, 10)
    call = connection.call
    other = asyncio.ensure_future(two_threads.run(connection.wait))
    await wait_until(lambda: connection.call is not call)
    running.cancel()
    await asyncio.wait([running])
    assert not connection.is_cut.is_set()
    connection.cut()
    with pytest.raises(ConnectionResetError):
        await other
    gate.set()


async def test_a_cancelled_call_cannot_use_a_connection(two_threads):
    """A cancelled call that tries to use a connection, such as boto3's next attempt, raises `CallAbandoned`."""
    begun, gate, errors = threading.Event(), threading.Event(), []

    def call():
        begun.set()
        gate.wait(10)
        try:
            current_call().use(FakeConnection())
        except BaseException as error:
            errors.append(type(error))
            raise

    running = asyncio.ensure_future(two_threads.run(call))
    await asyncio.to_thread(begun.wait, 10)
    running.cancel()
    await asyncio.wait([running])
    gate.set()
    await wait_until(lambda: errors)
    assert errors == [CallAbandoned]


async def test_the_queue_is_bounded():
    """`run` refuses a call with `Busy` if the queue is full; `submit` does not, as it continues work that has begun."""
    executor, gate = Executor(1, queue=2, timeout=60), threading.Event()
    calls = [asyncio.ensure_future(executor.run(lambda: gate.wait(10))) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(Busy, match="3 calls to S3"):
        await executor.run(lambda: None)
    begun = executor.submit(lambda: "a part")
    gate.set()
    await asyncio.gather(*calls)
    assert await begun.result(10) == "a part"
    assert await executor.run(lambda: "later") == "later"


async def test_cancelled_calls_leave_the_queue():
    """A thousand cancelled calls take no place in the queue."""
    executor, gate = Executor(1, queue=1000, timeout=60), threading.Event()
    busy = asyncio.ensure_future(executor.run(lambda: gate.wait(10)))
    waiting = [asyncio.ensure_future(executor.run(lambda: None)) for _ in range(1000)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    last = asyncio.ensure_future(executor.run(lambda: "served"))
    await asyncio.sleep(0)
    gate.set()
    await busy
    assert await last == "served"


async def test_a_call_that_takes_too_long_times_out():
    """A call that exceeds the timeout raises `TimedOut`, and its connection is cut."""
    executor, connection = Executor(1, queue=10, timeout=0.2), FakeConnection()
    started = time.monotonic()
    hanging = asyncio.ensure_future(executor.run(connection.wait))
    await asyncio.sleep(0)
    with pytest.raises(TimedOut, match=r"S3 did not answer within 0\.2 s"):
        await hanging
    assert time.monotonic() - started < 10
    assert connection.is_cut.wait(10)


async def test_the_wait_for_a_thread_counts_towards_the_timeout():
    """A call that gets no thread within the timeout raises `TimedOut`."""
    executor, gate = Executor(1, queue=10, timeout=0.2), threading.Event()
    executor.submit(lambda: gate.wait(10))
    with pytest.raises(TimedOut):
        await executor.run(lambda: None)
    gate.set()


async def test_an_upload_may_exceed_the_timeout():
    """An upload may wait for a thread, and take longer than the timeout while it makes progress."""
    executor = Executor(1, queue=10, timeout=1)

    def send():
        for _ in range(4):
            time.sleep(0.3)
            current_call().progress = time.monotonic()
        return "stored"

    assert await asyncio.gather(executor.run(send, is_upload=True), executor.run(send, is_upload=True)) == [
        "stored",
        "stored",
    ]


async def test_threads_of_a_released_executor_end():
    """The threads of an executor end when its last reference is deleted, without the garbage collector."""
    executor = Executor(2, queue=10, timeout=60)
    begun = threading.Event()
    call = executor.submit(lambda: begun.wait(10) and threading.current_thread())
    begun.set()  # the call has its reference to the executor before it ends
    thread = await call.result(10)
    gc.disable()
    try:
        del executor, call
        await asyncio.to_thread(thread.join, 10)
    finally:
        gc.enable()
    assert not thread.is_alive()


async def test_a_call_that_has_ended_frees_its_function(two_threads):
    """The function of a call, and so all that a request has, needs no garbage collector."""

    def ask() -> int:
        return 1

    freed = weakref.ref(ask)
    gc.disable()
    try:
        assert await two_threads.run(ask) == 1
        del ask
        await wait_until(lambda: freed() is None)
    finally:
        gc.enable()


ANY = Conditions()
KIB, MIB = 1024, 1024**2


@contextmanager
def slow_s3(rate: int) -> Iterator[tuple[str, list[int]]]:
    """Runs an S3 on a slow line, which takes `rate` bytes a second; yields its URL and the lengths of the request bodies."""
    lengths: list[int] = []

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            data = b""
            while b"\r\n\r\n" not in data:
                data += receive(connection)
            head, _, body = data.partition(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.splitlines() if line.lower().startswith(b"content-length:"))
            remaining, begun = length - len(body), time.monotonic()
            while remaining > 0:
                remaining -= len(receive(connection, min(remaining, 4 * KIB)))
                pause = (length - remaining) / rate - (time.monotonic() - begun)
                time.sleep(max(0.0, pause))
            lengths.append(length)
            connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: "e"\r\nConnection: close\r\n\r\n')

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 * KIB)  # also for accepted connections
        server.bind(("127.0.0.1", 0))
        server.listen()
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", lengths
        server.shutdown(socket.SHUT_RDWR)


async def test_an_upload_over_a_slow_line_is_stored():
    """An upload that takes longer than all timeouts is stored while S3 keeps reading."""
    with slow_s3(rate=MIB) as (url, lengths):
        async with store_at(url, connect_timeout=2, read_timeout=2, timeout=2, max_attempts=1) as store:
            begun = time.monotonic()
            stored = await store.put("a", async_chunks(bytes(4 * MIB)), Write())
    assert (stored.etag, lengths) == ('"e"', [4 * MIB])
    assert time.monotonic() - begun > 3


async def test_an_s3_that_stops_reading_an_upload_times_out():
    """It is as slow as one that does not answer, also while the thread waits to send."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 * KIB)
        server.bind(("127.0.0.1", 0))
        server.listen()  # connections wait to be accepted, so that nobody reads
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        async with store_at(url, read_timeout=0.3, timeout=5, max_attempts=1) as store:
            with pytest.raises(TimedOut, match="PutObject"):
                await store.put("a", async_chunks(bytes(5 * MIB)), Write())


async def test_the_close_of_a_hanging_body_frees_its_thread():
    """A thread that waits for the rest of a body is free for the next request when the body is closed."""
    half = with_ending(object_reply(bytes(MIB)), Then.SILENCE, after=600 * KIB)
    async with scripted_store(half, object_reply(b"next"), reads="executor", threads=1, read_timeout=30) as (_, store):
        opened = await store.open("a", ANY)
        chunks = opened.chunks()
        await anext(chunks)
        await anext(chunks)
        reading = asyncio.ensure_future(anext(chunks))
        await asyncio.sleep(0.05)
        reading.cancel()
        await asyncio.wait([reading])
        await opened.close()
        assert await read_object(store, "next") == b"next"


CREATE = Write(replace=False)


@pytest.mark.parametrize("lost", [with_ending(reply(200), Then.CLOSE, after=0), reply(500), reply(502), reply(504)])
async def test_a_conditional_write_whose_answer_is_lost_is_not_repeated(lost):
    """A conditional write without an answer is not repeated, because a second attempt could find the object of the first."""
    async with scripted_store(lost, error_reply(412, "PreconditionFailed"), reads="executor", max_attempts=3) as (
        s3,
        store,
    ):
        with pytest.raises((Unreachable, UpstreamError, TimedOut)):
            await store.put("a", async_chunks(b"x"), CREATE)
    assert s3.request_lines() == ["PUT /bucket/a", "HEAD /bucket/a"]  # which looks for it


@pytest.mark.parametrize(
    ("write", "answer"),
    [(CREATE, reply(503)), (Write(), reply(500)), (Write(), with_ending(reply(200), Then.CLOSE, after=0))],
)
async def test_other_writes_are_repeated(write, answer):
    """A write is repeated after a 503, with which nothing was stored, or if it has no condition."""
    async with scripted_store(answer, reply(200, ETag='"e"'), reads="executor", max_attempts=3) as (_, store):
        assert (await store.put("a", async_chunks(b"x"), write)).etag == '"e"'
