"""Stores at an S3 server that fails in every way: each failure is an error in time, and the store stays usable."""

import asyncio
import random
import time
from contextlib import suppress

import pytest
from administering import eventually
from faulty_s3 import BODY, FAULTS, reply_to
from scripted_s3 import scripted_s3
from stores import async_chunks, read_object, store_at

from tornado_proxy.semantics.conditions import ByteRange, Conditions
from tornado_proxy.storage.errors import StorageError, TimedOut
from tornado_proxy.storage.store import Write

ANY = Conditions()
IMPATIENT = {"read_timeout": 1, "timeout": 1.5, "max_attempts": 2}


async def read_healthy_body(store) -> bytes:
    """Reads the healthy key; the stores here are impatient, so a busy machine may need more than one attempt."""
    for _ in range(9):
        with suppress(TimedOut):
            return await read_object(store, "healthy")
    return await read_object(store, "healthy")


OPERATIONS = {
    "get": read_object,
    "part": lambda store, key: read_object(store, key, part=ByteRange(2, 5)),
    "head": lambda store, key: store.head(key, ANY),
    "list": lambda store, key: store.list(f"{key}/"),
    "put": lambda store, key: store.put(key, async_chunks(b"x" * 1000), Write()),
    "create": lambda store, key: store.put(key, async_chunks(b"x" * 1000), Write(replace=False)),
    "remove": lambda store, key: store.remove(key),
}

# Faults in a part of the answer that the operation doesn't read.
_DATES, _BODIES = {"word-date", "number-date"}, {"drip-body", "stalled-body", "reset-in-body", "short-body"}
_OF_WRITES = {"two-lengths", "no-length", "word-length", "negative-length", *_DATES}
_HARMLESS = {
    **dict.fromkeys(("get", "part"), _DATES),
    "head": {"two-lengths", "no-length", *_BODIES, *_DATES},
    **dict.fromkeys(("put", "create", "remove"), _OF_WRITES),
}


async def attempt(store, operation: str, fault: str) -> None:
    """Runs an operation on a fault's key; only a harmless fault may succeed, any other raises a StorageError."""
    try:
        await OPERATIONS[operation](store, fault)
    except StorageError:
        return
    assert fault in _HARMLESS.get(operation, ()), f"{operation} of {fault} succeeded"


# Few faults at once, so that no call waits for a thread.
_GROUPS = [tuple(FAULTS)[start : start + 4] for start in range(0, len(FAULTS), 4)]


@pytest.mark.parametrize("reads", ["loop", "executor"])
@pytest.mark.parametrize("faults", _GROUPS, ids=" ".join)
async def test_every_fault_is_an_error_in_time(faults, reads):
    """A fault leads to a StorageError instead of a hang or an answer, and the next request is served."""
    with scripted_s3(answer=reply_to) as s3:
        async with store_at(s3.url, reads, threads=32, **IMPATIENT) as store:
            start = time.monotonic()
            await asyncio.gather(*[attempt(store, operation, fault) for operation in OPERATIONS for fault in faults])
            assert await read_healthy_body(store) == BODY
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("reads", ["loop", "executor"])
async def test_a_healthy_key_is_served_after_a_thousand_cancelled_reads(reads):
    """Cancelled reads hold neither a thread nor a connection."""
    with scripted_s3(answer=reply_to) as s3:
        async with store_at(s3.url, reads, read_timeout=30, timeout=30, max_attempts=3) as store:
            tasks = [asyncio.ensure_future(store.open("silent", ANY)) for _ in range(1000)]
            await asyncio.sleep(0.3)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            start = time.monotonic()
            assert await read_object(store, "healthy") == BODY
            assert time.monotonic() - start < 10
            # On a busy machine the server notices later.
            await asyncio.to_thread(eventually, lambda: len(s3.open_connections) <= 2)


@pytest.mark.integration
@pytest.mark.parametrize("reads", ["loop", "executor"])
async def test_three_hundred_faults_leave_nothing_behind(reads):
    """Three hundred faults in random order are errors in time, and keep no connection open."""
    generator = random.Random(20260501)
    with scripted_s3(answer=reply_to) as s3:
        async with store_at(s3.url, reads, threads=8, **IMPATIENT) as store:
            for _ in range(30):
                pairs = [(generator.choice(list(OPERATIONS)), generator.choice(list(FAULTS))) for _ in range(10)]
                await asyncio.gather(*[attempt(store, *pair) for pair in pairs])
                assert await read_healthy_body(store) == BODY
            await asyncio.to_thread(eventually, lambda: len(s3.open_connections) <= 8)
