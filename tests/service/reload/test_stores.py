"""Caches drop objects after a purge and after a write."""

from __future__ import annotations

import asyncio

import pytest
from stores import in_memory, read_object

from tornado_proxy.config.model import Bucket, ObjectCache, Settings, Target
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.service.reload.stores import forget_written, purge
from tornado_proxy.storage.cache import CacheCounts, CachingStore
from tornado_proxy.telemetry.events import ObjectWritten
from tornado_proxy.web.generation import Parts, Shared

# Two targets of one bucket, one of a bucket of the same name at another endpoint, and one without a cache.
TARGETS = (
    Target("public", bucket=Bucket("files"), cache=ObjectCache()),
    Target("private", bucket=Bucket("files", prefix="p/"), cache=ObjectCache()),
    Target("elsewhere", bucket=Bucket("files", s3_endpoint="http://minio"), cache=ObjectCache()),
    Target("bare", bucket=Bucket("files")),
)


@pytest.fixture
def parts():
    """The parts of a generation with `TARGETS`, and with the objects `a` and `p/a` in each cache."""
    stores = {target.name: in_memory() for target in TARGETS}
    for bucket in stores.values():
        bucket.add("a", b"x")
        bucket.add("p/a", b"x")
    cached = {
        target.name: CachingStore(stores[target.name].store, target.cache, CacheCounts())
        if target.cache
        else stores[target.name].store
        for target in TARGETS
    }
    result = Parts(
        Settings(targets=TARGETS), Mounts(()), Pages(), {name: Shared(store) for name, store in cached.items()}
    )
    asyncio.run(_fill_caches(result))
    return result


async def _fill_caches(parts):
    for shared in parts.stores.values():
        for key in ("a", "p/a"):
            await read_object(shared.store, key)


def _remaining(parts):
    """Purge all caches and return the number of objects that each contained."""
    return {name: shared.store.purge("") for name, shared in parts.stores.items() if name != "bare"}


@pytest.mark.parametrize(
    ("filters", "number", "remaining"),
    [
        ((None, ""), 6, (0, 0, 0)),
        (("public", ""), 2, (0, 2, 2)),
        ((None, "p/"), 3, (1, 1, 1)),
        (("public", "p/"), 1, (1, 2, 2)),
        (("bare", ""), 0, (2, 2, 2)),
    ],
)
def test_a_purge_can_name_target_and_prefix(parts, filters, number, remaining):
    """A target and a prefix restrict a purge; without them, all objects are dropped."""
    assert purge(parts, *filters) == number
    assert tuple(_remaining(parts).values()) == remaining


@pytest.mark.parametrize("target", ["public", "private", "bare"])
def test_a_write_drops_the_object_from_all_caches(parts, target):
    """All targets of the bucket drop the object, even if a target without a cache wrote it."""
    assert forget_written(parts, ObjectWritten(target, "a"))
    assert _remaining(parts) == {"public": 1, "private": 1, "elsewhere": 2}


def test_a_write_is_for_one_endpoint(parts):
    """A bucket of the same name at another endpoint keeps its cached objects."""
    assert forget_written(parts, ObjectWritten("elsewhere", "a"))
    assert _remaining(parts) == {"public": 2, "private": 2, "elsewhere": 1}


def test_a_write_to_a_removed_target_is_ignored(parts):
    """A write by a request of an earlier generation drops nothing if its target no longer exists."""
    assert not forget_written(parts, ObjectWritten("removed", "a"))
