"""A store that reports its calls as events."""

from __future__ import annotations

import asyncio

import pytest
from memory_store import MemoryStore

from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.storage.errors import ObjectMissing
from tornado_proxy.storage.store import Write
from tornado_proxy.telemetry.events import ObjectWritten, S3Called
from tornado_proxy.telemetry.measured_store import MeasuredStore


async def _chunks():
    yield b"content"


async def _use(store: MeasuredStore) -> bytes:
    await store.put("a", _chunks(), Write())
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
    """The outcome is the name of the error, which is raised unchanged, and the event says that the client caused it."""
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
