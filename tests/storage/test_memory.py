from __future__ import annotations

from datetime import UTC, datetime

import pytest
from memory_store import MemoryStore
from stores import read_object

from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.semantics.fields import Checksum
from tornado_proxy.storage.errors import ObjectExists
from tornado_proxy.storage.store import ObjectInfo, Write


async def test_an_object_is_added_with_its_info():
    """`add` keeps the declared info, sets the size, and fills in a missing ETag and date."""
    store = MemoryStore(lambda: datetime(2026, 5, 1, 10, 0, 0, 5, tzinfo=UTC))
    declared = ObjectInfo(0, cache_control="no-cache", checksums=(Checksum("CRC32", "NSRBwg=="),))
    info = store.add("a", b"abc", declared)
    assert await store.head("a", Conditions()) == info
    assert (info.size, info.cache_control, info.checksums) == (3, "no-cache", declared.checksums)
    assert (info.etag, info.last_modified) == (
        '"900150983cd24fb0d6963f7d28e17f72"',
        datetime(2026, 5, 1, 10, tzinfo=UTC),
    )


async def test_an_opened_object_does_not_change():
    """An opened object yields its old body after it was replaced."""
    store = MemoryStore()
    store.add("a", b"old")
    opened = await store.open("a", Conditions())
    store.add("a", b"new")
    assert [chunk async for chunk in opened.chunks()] == [b"old"]
    await opened.close()


async def test_a_write_notices_an_object_that_was_stored_during_the_upload():
    """The conditions of a write are checked again when the object is stored."""
    store = MemoryStore()

    async def chunks():
        yield b"mine"
        store.add("a", b"theirs")

    with pytest.raises(ObjectExists):
        await store.put("a", chunks(), Write(replace=False))
    assert await read_object(store, "a") == b"theirs"
