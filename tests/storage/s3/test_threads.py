from __future__ import annotations

import asyncio
import threading

import pytest

from tornado_proxy.storage.errors import Unreachable
from tornado_proxy.storage.s3.threads import Threads


@pytest.fixture
def two_threads():
    """Two threads, ended with the test."""
    made = Threads(2)
    yield made
    made.close()


async def test_a_call_is_made_in_a_thread(two_threads):
    """A call's result comes from another thread than the loop's."""
    assert await two_threads.run(threading.get_ident) != threading.get_ident()


async def test_what_a_call_raises_is_raised(two_threads):
    """An exception comes through as it is."""
    with pytest.raises(ZeroDivisionError):
        await two_threads.run(lambda: 1 // 0)


async def test_as_many_calls_run_as_there_are_threads(two_threads):
    """Two calls that wait for each other both end."""
    meeting = threading.Barrier(two_threads.count)
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
    """A call that comes to nothing after its caller was cancelled leaves nothing to undo."""
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
    two_threads.close()
    assert made == []


async def test_calls_after_the_end_are_errors_of_ours(two_threads):
    """Threads that have ended make S3 unreachable."""
    two_threads.close()
    with pytest.raises(Unreachable):
        await two_threads.run(threading.get_ident)


async def test_threads_that_nobody_holds_end():
    """A store that was closed leaves none behind, once nothing is read any more."""
    made = Threads(2)
    thread = await made.run(threading.current_thread)
    del made
    await asyncio.to_thread(thread.join, 10)
    assert not thread.is_alive()


async def test_threads_that_have_ended_make_no_call():
    """Whoever asks is told that the bucket cannot be reached."""
    with pytest.raises(Unreachable):
        await Threads.ended().run(lambda: None)
