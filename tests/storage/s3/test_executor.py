from __future__ import annotations

import asyncio
import threading
import time

import pytest

from tornado_proxy.storage.errors import Busy, TimedOut, Unreachable
from tornado_proxy.storage.s3.executor import CallAbandoned, Executor, current_call


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
    other = asyncio.ensure_future(two_threads.run(connection.wait))
    await until(lambda: connection.call is not None)
    await asyncio.sleep(0.05)
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
    """A store that was closed leaves no thread behind, once nothing is read any more."""
    executor = Executor(2)
    thread = await executor.run(threading.current_thread)
    del executor
    await asyncio.to_thread(thread.join, 10)
    assert not thread.is_alive()
