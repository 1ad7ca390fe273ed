"""Tests of stores are coroutines where they ask one; S3s are started once for all of them."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import real_s3
from coroutines import pytest_pyfunc_call
from stores import BucketUnderTest, StoreUnderTest, in_memory, new_bucket

from tornado_proxy.config.model import ObjectCache
from tornado_proxy.service.generations import MeasuredStore
from tornado_proxy.storage.cache import CacheCounts, CachingStore
from tornado_proxy.storage.s3 import Executor
from tornado_proxy.storage.store import Store

__all__ = ["pytest_pyfunc_call"]


@pytest.fixture(scope="session")
def executor() -> Executor:
    """Threads for what a store is made of."""
    return Executor(8)


@pytest.fixture(scope="session")
def moto() -> Iterator[real_s3.Endpoint]:
    """S3 of moto."""
    with real_s3.moto() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def radosgw() -> Iterator[real_s3.Endpoint]:
    """Ceph's S3."""
    with real_s3.radosgw() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def moto_bucket(moto: real_s3.Endpoint) -> Iterator[BucketUnderTest]:
    """A bucket of moto's; a store takes longer to make than most tests to run."""
    with new_bucket(moto) as made:
        yield made


@pytest.fixture(scope="session")
def moto_executor_bucket(moto: real_s3.Endpoint) -> Iterator[BucketUnderTest]:
    """A bucket of moto's that is read through boto3."""
    with new_bucket(moto, "executor") as made:
        yield made


@pytest.fixture(scope="session")
def radosgw_bucket(radosgw: real_s3.Endpoint) -> Iterator[BucketUnderTest]:
    """A bucket of Ceph's."""
    with new_bucket(radosgw) as made:
        yield made


@pytest.fixture(scope="session")
def radosgw_executor_bucket(radosgw: real_s3.Endpoint) -> Iterator[BucketUnderTest]:
    """A bucket of Ceph's that is read through boto3."""
    with new_bucket(radosgw, "executor") as made:
        yield made


@pytest.fixture
def bucket(moto_bucket: BucketUnderTest) -> Iterator[BucketUnderTest]:
    """An empty bucket of moto's."""
    yield moto_bucket
    moto_bucket.empty()


_AROUND_MEMORY: dict[str, Callable[[Store], Store]] = {
    "memory": lambda store: store,
    "measured": lambda store: MeasuredStore(store, "site", lambda _: None),
    "cached": lambda store: CachingStore(store, ObjectCache(), CacheCounts()),
    # Days pass between any two looks at the clock.
    "revalidated": lambda store: CachingStore(store, ObjectCache(), CacheCounts(), itertools.count(0, 10**6).__next__),
}


_STORES = [*_AROUND_MEMORY, "moto", pytest.param("radosgw", marks=pytest.mark.integration)]
_READ_BY_BOTO3 = ["moto_executor", pytest.param("radosgw_executor", marks=pytest.mark.integration)]


@pytest.fixture(params=[*_STORES, *_READ_BY_BOTO3])
def world(request: pytest.FixtureRequest) -> Iterator[StoreUnderTest]:
    """Each store there is, empty."""
    yield from _world(request)


@pytest.fixture(params=_STORES)
def writable(request: pytest.FixtureRequest) -> Iterator[StoreUnderTest]:
    """Each store that writes in its own way, empty."""
    yield from _world(request)


@pytest.fixture(params=[*_STORES, *_READ_BY_BOTO3])
def closable(request: pytest.FixtureRequest) -> Iterator[StoreUnderTest]:
    """Each store there is, empty; no other test uses it."""
    if request.param in _AROUND_MEMORY:
        yield from _world(request)
        return
    endpoint, _, reads = request.param.partition("_")
    with new_bucket(request.getfixturevalue(endpoint), reads or "loop") as made:
        yield StoreUnderTest(endpoint, made.store, made.add)


def _world(request: pytest.FixtureRequest) -> Iterator[StoreUnderTest]:
    if request.param in _AROUND_MEMORY:
        made = in_memory()
        yield replace(made, store=_AROUND_MEMORY[request.param](made.store))
        return
    made = request.getfixturevalue(f"{request.param}_bucket")
    yield StoreUnderTest(request.param.removesuffix("_executor"), made.store, made.add)
    made.empty()


@pytest.fixture
def live_bytes():
    """A context that counts the memory that Python has in use; it gives a function that says the most there was."""

    @contextmanager
    def counting():
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        try:
            yield lambda: most
        finally:
            most = tracemalloc.get_traced_memory()[1] - before
            tracemalloc.stop()

    return counting
