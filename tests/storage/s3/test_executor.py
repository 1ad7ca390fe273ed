from __future__ import annotations

import asyncio
import gc
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from endless_s3 import endless_s3
from faulty_s3 import faulty_s3
from scripted_s3 import Then, error_reply, object_reply, reply, scripted_s3, with_ending
from stores import async_chunks, read_object, store_at

from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.storage.errors import Busy, ObjectExists, TimedOut, Unreachable, UpstreamError
from tornado_proxy.storage.s3.executor import CallAbandoned, Executor, current_call
from tornado_proxy.storage.store import Write


class FakeConnection:
    """A connection that waits until it is cut."""

    def __init__(self) -> None:
        self.call = None
        self.is_cut = threading.Event()

    def cut(self) -> None:
        """Note it."""
        self.is_cut.set()

    def abandon(self) -> None:
        """Nothing is open."""

    def wait(self) -> None:
        """Wait as for an answer that does not come."""
        current_call().use(self)
        assert self.is_cut.wait(10)
        raise ConnectionResetError


@pytest.fixture
def two_threads() -> Executor:
    """Two threads, and calls that take no longer than a second or so."""
    return Executor(2, queue=3, timeout=10)


async def until(condition) -> None:
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    pytest.fail("it did not happen")


async def test_a_call_is_made_in_a_thread(two_threads):
    """A call's result comes from another thread than the loop's."""
    assert await two_threads.run(threading.get_ident) != threading.get_ident()


async def test_what_a_call_raises_is_raised(two_threads):
    """An exception comes through as it is."""
    with pytest.raises(ZeroDivisionError):
        await two_threads.run(lambda: 1 // 0)


async def test_as_many_calls_run_as_there_are_threads(two_threads):
    """Two calls that wait for each other both end."""
    meeting = threading.Barrier(2)
    await asyncio.gather(two_threads.run(lambda: meeting.wait(10)), two_threads.run(lambda: meeting.wait(10)))


async def test_a_call_that_nobody_waits_for_is_undone(two_threads):
    """What a call returns after its caller was cancelled goes to `undo`."""
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


@pytest.mark.parametrize("undo", [None, lambda _: pytest.fail("nothing to undo")])
async def test_a_failure_that_nobody_waits_for_is_forgotten(two_threads, undo):
    """A call that fails after its caller was cancelled leaves nothing to undo."""
    begun, gate = threading.Event(), threading.Event()

    def call():
        begun.set()
        gate.wait(10)
        raise ConnectionError

    running = asyncio.ensure_future(two_threads.run(call, undo))
    await asyncio.to_thread(begun.wait, 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    gate.set()


async def test_a_call_that_was_not_begun_is_never_made(two_threads):
    """A caller that is cancelled while all threads are busy takes its call back."""
    gate, made = threading.Event(), []
    busy = [asyncio.ensure_future(two_threads.run(lambda: gate.wait(10))) for _ in range(2)]
    waiting = asyncio.ensure_future(two_threads.run(lambda: made.append(1), made.append))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gate.set()
    await asyncio.gather(*busy)
    await two_threads.run(lambda: None)
    assert made == []


async def test_the_call_of_a_caller_that_left_is_cut_off(two_threads):
    """A call that waits for S3 ends as soon as nobody waits for it: its thread is free for the next."""
    hanging = [FakeConnection(), FakeConnection()]
    calls = [asyncio.ensure_future(two_threads.run(each.wait)) for each in hanging]
    await until(lambda: all(each.call for each in hanging))
    for call in calls:
        call.cancel()
    assert await two_threads.run(lambda: "next") == "next"
    assert all(each.is_cut.is_set() for each in hanging)


async def test_a_connection_that_another_call_uses_is_not_cut(two_threads):
    """A call whose connection is back in the pool, and in use again, ends without it."""
    connection, gate, used = FakeConnection(), threading.Event(), threading.Event()

    def first():
        current_call().use(connection)
        used.set()
        gate.wait(10)

    running = asyncio.ensure_future(two_threads.run(first))
    await asyncio.to_thread(used.wait, 10)
    call = connection.call
    other = asyncio.ensure_future(two_threads.run(connection.wait))
    await until(lambda: connection.call is not call)
    running.cancel()
    await asyncio.wait([running])
    assert not connection.is_cut.is_set()
    connection.cut()
    with pytest.raises(ConnectionResetError):
        await other
    gate.set()


async def test_a_call_that_was_given_up_uses_no_other_connection(two_threads):
    """What boto3 would do next is not done."""
    begun, gate, seen = threading.Event(), threading.Event(), []

    def call():
        begun.set()
        gate.wait(10)
        try:
            current_call().use(FakeConnection())
        except BaseException as error:
            seen.append(type(error))
            raise

    running = asyncio.ensure_future(two_threads.run(call))
    await asyncio.to_thread(begun.wait, 10)
    running.cancel()
    await asyncio.wait([running])
    gate.set()
    await until(lambda: seen)
    assert seen == [CallAbandoned]


async def test_the_queue_is_bounded():
    """More calls than may wait are refused at once; what goes on with something begun is not."""
    executor, gate = Executor(1, queue=2), threading.Event()
    calls = [asyncio.ensure_future(executor.run(lambda: gate.wait(10))) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(Busy, match="3 calls to S3"):
        await executor.run(lambda: None)
    begun = executor.submit(lambda: "a part")
    gate.set()
    await asyncio.gather(*calls)
    assert await begun.result(10) == "a part"
    assert await executor.run(lambda: "later") == "later"


async def test_callers_that_left_leave_their_place_in_the_queue():
    """A thousand departed clients take no place from the next."""
    executor, gate = Executor(1, queue=1000), threading.Event()
    busy = asyncio.ensure_future(executor.run(lambda: gate.wait(10)))
    waiting = [asyncio.ensure_future(executor.run(lambda: None)) for _ in range(1000)]
    await asyncio.sleep(0)
    for each in waiting:
        each.cancel()
    await asyncio.wait(waiting)
    last = asyncio.ensure_future(executor.run(lambda: "served"))
    await asyncio.sleep(0)
    gate.set()
    await busy
    assert await last == "served"


async def test_a_call_that_takes_too_long_is_cut_off():
    """The whole time of a call is bounded, its wait for a thread included."""
    executor, connection = Executor(1, timeout=0.2), FakeConnection()
    started = time.monotonic()
    hanging = asyncio.ensure_future(executor.run(connection.wait))
    await asyncio.sleep(0)
    with pytest.raises(TimedOut, match=r"S3 did not answer within 0\.2 s"):
        await hanging
    assert time.monotonic() - started < 10
    assert connection.is_cut.wait(10)


async def test_the_wait_for_a_thread_counts():
    """A request that no thread takes is answered in time."""
    executor, gate = Executor(1, timeout=0.2), threading.Event()
    executor.submit(lambda: gate.wait(10))
    with pytest.raises(TimedOut):
        await executor.run(lambda: None)
    gate.set()


async def test_an_upload_may_wait_and_take_its_time():
    """Neither the wait for a thread nor the sending of bytes is silence of S3's."""
    executor = Executor(1, timeout=1)

    def send():
        for _ in range(4):
            time.sleep(0.3)
            current_call().progress = time.monotonic()
        return "stored"

    assert await asyncio.gather(executor.run(send, is_upload=True), executor.run(send, is_upload=True)) == [
        "stored",
        "stored",
    ]


async def test_a_closed_executor_makes_no_new_call(two_threads):
    """What was begun may go on."""
    two_threads.close()
    with pytest.raises(Unreachable):
        await two_threads.run(threading.get_ident)
    assert await two_threads.submit(lambda: "a chunk").result(10) == "a chunk"


async def test_threads_that_nobody_holds_end():
    """A store that was closed leaves no thread behind, once nothing is read any more; no garbage collection is needed."""
    executor = Executor(2)
    begun = threading.Event()
    call = executor.submit(lambda: begun.wait(10) and threading.current_thread())
    begun.set()  # it is certain that the call is linked with the executor before it ends
    thread = await call.result(10)
    gc.disable()
    try:
        del executor, call
        await asyncio.to_thread(thread.join, 10)
    finally:
        gc.enable()
    assert not thread.is_alive()


ANY = Conditions()
KIB, MIB = 1024, 1024**2


@contextmanager
def slow_s3(rate: int) -> Iterator[tuple[str, list[int]]]:
    """An S3 behind a line that takes so many bytes a second; it gives its URL and the bytes of each request."""
    taken: list[int] = []

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            data = b""
            while b"\r\n\r\n" not in data:
                data += connection.recv(4096)
            head, _, body = data.partition(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.splitlines() if line.lower().startswith(b"content-length:"))
            left, begun = length - len(body), time.monotonic()
            while left > 0:
                left -= len(connection.recv(min(left, 4 * KIB)))
                behind = (length - left) / rate - (time.monotonic() - begun)
                time.sleep(max(0.0, behind))
            taken.append(length)
            connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: "e"\r\nConnection: close\r\n\r\n')

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 * KIB)  # of accepted connections too
        server.bind(("127.0.0.1", 0))
        server.listen()
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", taken
        server.shutdown(socket.SHUT_RDWR)


async def test_an_upload_over_a_slow_line_is_stored():
    """A body that takes longer than the time-outs is sent, as long as S3 takes some of it."""
    with slow_s3(rate=MIB) as (url, taken):
        async with store_at(url, connect_timeout=2, read_timeout=2, timeout=2, max_attempts=1) as store:
            begun = time.monotonic()
            stored = await store.put("a", async_chunks(bytes(4 * MIB)), Write())
    assert (stored.etag, taken) == ('"e"', [4 * MIB])
    assert time.monotonic() - begun > 3


@pytest.mark.integration
async def test_an_upload_at_300_kilobytes_a_second_is_stored():
    """The default time-outs suit a slow line."""
    with slow_s3(rate=300_000) as (url, taken):
        async with store_at(url, connect_timeout=5, read_timeout=30, part_size=16 * MIB) as store:
            await store.put("a", async_chunks(bytes(8 * MIB)), Write())
    assert taken == [8 * MIB]


async def test_many_uploads_to_a_healthy_s3_are_stored():
    """64 uploads at once need more time than a connection may take."""
    with endless_s3() as (url, traffic):
        async with store_at(url, threads=64, connect_timeout=1, read_timeout=30, max_attempts=1) as store:
            await asyncio.gather(*[store.put(f"{n}", async_chunks(bytes(5 * MIB)), Write()) for n in range(64)])
    assert traffic.stored == 64


async def test_an_s3_that_takes_nothing_is_given_up():
    """Silence is bounded while a body is sent, too."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        async with store_at(url, read_timeout=0.3, max_attempts=1) as store:
            with pytest.raises((TimedOut, Unreachable)):
                await store.put("a", async_chunks(bytes(32 * MIB)), Write())


async def test_an_answer_byte_by_byte_is_given_up():
    """An S3 that is never silent and never done is no more than a time-out."""
    with faulty_s3() as s3:
        async with store_at(s3.url, "executor", read_timeout=5, timeout=0.5) as store:
            for ask in (store.head("drip", ANY), store.open("drip", ANY), store.open("drip-body", ANY)):
                with pytest.raises(TimedOut):
                    await ask


async def test_a_body_that_hangs_is_cut_off_with_its_reader():
    """A thread that waits for the rest of a body is free when the body is closed."""
    half = with_ending(object_reply(bytes(MIB)), Then.SILENCE, after=600 * KIB)
    with scripted_s3(half, object_reply(b"next")) as s3:
        async with store_at(s3.url, "executor", threads=1, read_timeout=30) as store:
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


async def test_a_body_that_hangs_times_out():
    """A chunk that does not come is given up, though the connection is not silent for as long."""
    half = with_ending(object_reply(bytes(MIB)), Then.SILENCE, after=600 * KIB)
    with scripted_s3(half) as s3:
        async with store_at(s3.url, "executor", read_timeout=30, timeout=2) as store:
            opened = await store.open("a", ANY)
            with pytest.raises(TimedOut):
                assert [chunk async for chunk in opened.chunks()] == []
            await opened.close()


CREATE = Write(replace=False)


@pytest.mark.parametrize("lost", [with_ending(reply(200), Then.CLOSE, after=0), reply(500), reply(502), reply(504)])
async def test_a_conditional_write_whose_answer_is_lost_is_not_repeated(lost):
    """It may have happened: a second attempt would find the object of the first, and say that it is another's."""
    with scripted_s3(lost, error_reply(412, "PreconditionFailed")) as s3:
        async with store_at(s3.url, "executor", max_attempts=3) as store:
            with pytest.raises((Unreachable, UpstreamError, TimedOut)):
                await store.put("a", async_chunks(b"x"), CREATE)
    assert len(s3.requests) == 1


@pytest.mark.parametrize(
    ("write", "answer"),
    [(CREATE, reply(503)), (Write(), reply(500)), (Write(), with_ending(reply(200), Then.CLOSE, after=0))],
)
async def test_other_writes_are_tried_again(write, answer):
    """What S3 refused for now has not happened, and what has no condition may happen twice."""
    with scripted_s3(answer, reply(200, ETag='"e"')) as s3:
        async with store_at(s3.url, "executor", max_attempts=3) as store:
            assert (await store.put("a", async_chunks(b"x"), write)).etag == '"e"'


async def test_an_object_in_the_way_is_reported():
    """A first attempt that finds an object is somebody else's."""
    with scripted_s3(error_reply(412, "PreconditionFailed")) as s3:
        async with store_at(s3.url, "executor", max_attempts=3) as store:
            with pytest.raises(ObjectExists):
                await store.put("a", async_chunks(b"x"), CREATE)
