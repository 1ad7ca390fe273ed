from __future__ import annotations

import asyncio
import random
import time

import pytest
from administering import eventually
from faulty_s3 import BODY, FAULTS, faulty_s3
from stores import body_of, pieces, store_at

from tornado_proxy.semantics.conditions import ByteRange, Conditions
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.store import Write

ANY = Conditions()
IMPATIENT = {"read_timeout": 1, "timeout": 1.5, "max_attempts": 2}


async def whole(store, key, part=None) -> bytes:
    opened = await store.open(key, ANY, part)
    try:
        return b"".join([chunk async for chunk in opened.chunks()])
    finally:
        await opened.close()


OPERATIONS = {
    "get": whole,
    "part": lambda store, key: whole(store, key, ByteRange(2, 5)),
    "head": lambda store, key: store.head(key, ANY),
    "list": lambda store, key: store.list(f"{key}/"),
    "put": lambda store, key: store.put(key, pieces(b"x" * 1000), Write()),
    "create": lambda store, key: store.put(key, pieces(b"x" * 1000), Write(replace=False)),
    "remove": lambda store, key: store.remove(key),
}

# Faults that are in what an operation does not read.
_HARMLESS = {
    "get": {"word-date", "number-date"},
    "part": {"word-date", "number-date"},
    "head": {
        "drip-body",
        "stalled-body",
        "reset-in-body",
        "short-body",
        "two-lengths",
        "no-length",
        "word-date",
        "number-date",
    },
    "put": {"two-lengths", "no-length", "word-length", "negative-length", "word-date", "number-date"},
    "remove": {"two-lengths", "no-length", "word-length", "negative-length", "word-date", "number-date"},
}
_HARMLESS["create"] = _HARMLESS["put"]


async def meet(store, operation: str, fault: str) -> None:
    """Ask for what fails: an error of a store is fine, an answer only where the fault does not touch it."""
    try:
        await OPERATIONS[operation](store, fault)
    except StorageError:
        return
    assert fault in _HARMLESS.get(operation, ()), f"{operation} of {fault} succeeded"


# A few faults at a time, so that no call waits for a thread.
_GROUPS = [tuple(FAULTS)[start : start + 4] for start in range(0, len(FAULTS), 4)]


@pytest.mark.parametrize("reads", ["loop", "executor"])
@pytest.mark.parametrize("faults", _GROUPS, ids=" ".join)
async def test_every_fault_is_an_error_in_time(faults, reads):
    """No fault hangs, raises anything but a store's error, or passes for an answer; the next request is served."""
    with faulty_s3() as s3:
        async with store_at(s3.url, reads, threads=32, **IMPATIENT) as store:
            begun = time.monotonic()
            await asyncio.gather(*[meet(store, operation, fault) for operation in OPERATIONS for fault in faults])
            assert await body_of(store, "healthy") == BODY
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("reads", ["loop", "executor"])
async def test_a_healthy_key_is_served_after_a_thousand_clients_left(reads):
    """Calls that hang when their clients leave hold no thread any more, and leave no connection open."""
    with faulty_s3() as s3:
        async with store_at(s3.url, reads, read_timeout=30, timeout=30, max_attempts=3) as store:
            asked = [asyncio.ensure_future(store.open("silent", ANY)) for _ in range(1000)]
            await asyncio.sleep(0.3)
            for each in asked:
                each.cancel()
            await asyncio.wait(asked)
            begun = time.monotonic()
            assert await body_of(store, "healthy") == BODY
            assert time.monotonic() - begun < 10
            # On a busy machine the other side notices later.
            await asyncio.to_thread(eventually, lambda: len(s3.connections) <= 2)


@pytest.mark.integration
@pytest.mark.parametrize("reads", ["loop", "executor"])
async def test_three_hundred_faults_leave_nothing_behind(reads):
    """Faults in any order and number at once: each is answered, none holds a connection."""
    chosen = random.Random(20260501)
    with faulty_s3() as s3:
        async with store_at(s3.url, reads, threads=8, **IMPATIENT) as store:
            for _ in range(30):
                pairs = [(chosen.choice(list(OPERATIONS)), chosen.choice(list(FAULTS))) for _ in range(10)]
                await asyncio.gather(*[meet(store, *pair) for pair in pairs])
                assert await body_of(store, "healthy") == BODY
            await asyncio.sleep(1)
            assert len(s3.connections) <= 8
