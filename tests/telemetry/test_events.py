"""Tests of events and of the bus."""

import asyncio

import pytest
from memory_store import MemoryStore
from stores import async_chunks

from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.storage.errors import ObjectMissing
from tornado_proxy.storage.store import Write
from tornado_proxy.telemetry.events import (
    Bus,
    MeasuredStore,
    ObjectWritten,
    RequestRecord,
    Retired,
    S3Called,
    Served,
    SignInTried,
)


def _fail(event):
    message = "the listener is broken"
    raise RuntimeError(message)


def test_listeners_are_called_in_order():
    received = []
    bus = Bus()
    bus.add(lambda event: received.append(("first", event)), Retired)
    bus.add(lambda event: received.append(("other", event)), SignInTried)
    bus.add(lambda event: received.append(("second", event)), Retired, SignInTried)
    bus.emit(Retired(3))
    assert received == [("first", Retired(3)), ("second", Retired(3))]


def test_a_failing_listener_does_not_stop_the_next(caplog):
    received = []
    bus = Bus()
    bus.add(_fail, Retired)
    bus.add(received.append, Retired)
    bus.emit(Retired(3))
    assert received == [Retired(3)]
    assert "a listener failed on `Retired`" in caplog.text


SERVED = [Served(RequestRecord(f"r{number}", 0.0, "::1", "GET", "h", "/a", 1), 200, 3, 0, 0.1) for number in range(3)]


async def test_the_requests_of_a_turn_are_passed_on_together():
    """Each listener gets all of them in order, then the next listener does."""
    received = []
    bus = Bus()
    bus.add(lambda event: received.append(("first", event)), Served)
    bus.add(lambda event: received.append(("second", event)), Served)
    for each in SERVED:
        bus.emit_soon(each)
    assert received == []
    await asyncio.sleep(0)
    assert received == [(listener, each) for listener in ("first", "second") for each in SERVED]


async def test_what_waits_comes_before_any_other_event():
    """A generation has retired after its last request."""
    received = []
    bus = Bus()
    bus.add(received.append, Served, Retired)
    bus.emit_soon(SERVED[0])
    bus.emit_soon(Retired(3))
    assert received == [SERVED[0], Retired(3)]
    bus.emit_soon(SERVED[1])
    bus.flush()
    await asyncio.sleep(0)
    assert received == [SERVED[0], Retired(3), SERVED[1]]


async def test_a_listener_that_fails_gets_the_other_requests_of_the_turn():
    """Nothing is lost with the event that it fails on."""
    received = []
    bus = Bus()
    bus.add(lambda event: _fail(event) if event == SERVED[0] else received.append(event), Served)
    for each in SERVED:
        bus.emit_soon(each)
    await asyncio.sleep(0)
    assert received == SERVED[1:]


async def _use(store: MeasuredStore) -> bytes:
    await store.put("a", async_chunks(b"content"), Write())
    await store.head("a", Conditions())
    await store.list("")
    opened = await store.open("a", Conditions())
    content = b"".join([chunk async for chunk in opened.chunks()])
    await opened.close()
    assert await store.presign("a", 60)
    assert await store.presign_upload("a", Write(max_size=1), 60)
    await store.remove("a")
    await store.close()
    return content


def test_calls_are_reported():
    """Each call to the bucket is an event with target and outcome; signing a URL is not a call."""
    events = []
    assert asyncio.run(_use(MeasuredStore(MemoryStore(), "site", events.append))) == b"content"
    calls = [event for event in events if isinstance(event, S3Called)]
    assert [(event.target, event.call, event.outcome) for event in calls] == [
        ("site", call, "ok") for call in ("put", "head", "list", "open", "remove")
    ]
    assert [event for event in events if event not in calls] == [ObjectWritten("site", "a")] * 2


def test_a_failure_is_reported_and_raised():
    events = []
    store = MeasuredStore(MemoryStore(), "site", events.append)
    with pytest.raises(ObjectMissing):
        asyncio.run(store.head("missing", Conditions()))
    assert (events[0].outcome, events[0].by_client) == ("ObjectMissing", True)


class _StuckStore(MemoryStore):
    """A store whose `head` never returns."""

    async def head(self, key, conditions):
        await asyncio.Event().wait()


async def test_a_cancelled_call_is_reported():
    """A cancelled call is neither a success nor an error of the bucket."""
    events = []
    store = MeasuredStore(_StuckStore(), "site", events.append)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await store.head("a", Conditions())
    assert events[0].outcome == "cancelled"
