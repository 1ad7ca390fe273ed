"""Caches drop objects: after a purge, and after a write."""

from __future__ import annotations

import asyncio

import pytest
from stores import body_of, in_memory

from tornado_proxy.config.model import Bucket, ObjectCache, Settings, Target
from tornado_proxy.gateway.generation import Parts, Shared
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.service.generations import forget_written, purge
from tornado_proxy.storage.cache import CacheCounts, CachingStore
from tornado_proxy.telemetry.events import ObjectWritten

# Two targets of one bucket, one of a bucket of the same name elsewhere, and one without a cache.
TARGETS = (
    Target("public", bucket=Bucket("files"), cache=ObjectCache()),
    Target("private", bucket=Bucket("files", prefix="p/"), cache=ObjectCache()),
    Target("elsewhere", bucket=Bucket("files", s3_endpoint="http://minio"), cache=ObjectCache()),
    Target("bare", bucket=Bucket("files")),
)


@pytest.fixture
def parts():
    """A generation of these targets, in each of whose caches are the objects `a` and `p/a`."""
    stores = {target.name: in_memory() for target in TARGETS}
    for world in stores.values():
        world.add("a", b"x")
        world.add("p/a", b"x")
    cached = {
        target.name: CachingStore(stores[target.name].store, target.cache, CacheCounts())
        if target.cache
        else stores[target.name].store
        for target in TARGETS
    }
    made = Parts(
        Settings(targets=TARGETS), Mounts(()), Pages(), {name: Shared(store) for name, store in cached.items()}
    )
    asyncio.run(_read(made))
    return made


async def _read(parts):
    for shared in parts.stores.values():
        for key in ("a", "p/a"):
            await body_of(shared.store, key)


def _left(parts):
    """Purges all caches; returns the number of objects by target."""
    return {name: shared.store.purge("") for name, shared in parts.stores.items() if name != "bare"}


@pytest.mark.parametrize(
    ("order", "number", "left"),
    [
        ((None, ""), 6, (0, 0, 0)),
        (("public", ""), 2, (0, 2, 2)),
        ((None, "p/"), 3, (1, 1, 1)),
        (("public", "p/"), 1, (1, 2, 2)),
        (("bare", ""), 0, (2, 2, 2)),
    ],
)
def test_a_purge_reaches_the_caches_that_it_names(parts, order, number, left):
    """A target and a prefix of object keys; without them, all."""
    assert purge(parts, *order) == number
    assert tuple(_left(parts).values()) == left


@pytest.mark.parametrize("target", ["public", "private", "bare"])
def test_a_write_reaches_all_caches_of_its_bucket(parts, target):
    """All targets of the bucket drop the object, even if a target without a cache wrote it."""
    assert forget_written(parts, ObjectWritten(target, "a"))
    assert _left(parts) == {"public": 1, "private": 1, "elsewhere": 2}


def test_a_bucket_elsewhere_is_another(parts):
    """A bucket of the same name at another endpoint keeps its objects."""
    assert forget_written(parts, ObjectWritten("elsewhere", "a"))
    assert _left(parts) == {"public": 2, "private": 2, "elsewhere": 1}


def test_a_target_that_is_gone_has_no_caches(parts):
    """A write of a request that an earlier generation answers reaches nothing here, and breaks nothing."""
    assert not forget_written(parts, ObjectWritten("removed", "a"))
