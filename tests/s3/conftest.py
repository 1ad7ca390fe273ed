"""Fixtures for tests of stores: running S3s, empty buckets, and every kind of store."""

import itertools
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import real_s3
from stores import BucketUnderTest, StoreUnderTest, in_memory, new_bucket

from tornado_proxy.config.model import ObjectCache
from tornado_proxy.s3.executor import Executor
from tornado_proxy.storage.cache import CacheCounts, CachingStore
from tornado_proxy.storage.store import Store
from tornado_proxy.telemetry.events import MeasuredStore


@pytest.fixture(scope="session")
def executor() -> Executor:
    """An executor for the parts of a store that need threads."""
    return Executor(8, queue=1000, timeout=60)


@pytest.fixture(scope="session")
def moto() -> Iterator[real_s3.Endpoint]:
    """A running S3 of moto."""
    with real_s3.moto() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def radosgw() -> Iterator[real_s3.Endpoint]:
    """A running S3 of Ceph."""
    with real_s3.radosgw() as endpoint:
        yield endpoint


@pytest.fixture(params=["loop", "executor"])
def reads(request: pytest.FixtureRequest) -> str:
    """Each way of reading objects."""
    return request.param


def _bucket_of(s3: str, reads: str):
    """A bucket for the whole session, because a store takes longer to make than most tests to run."""

    @pytest.fixture(scope="session")
    def made(request: pytest.FixtureRequest) -> Iterator[BucketUnderTest]:
        with new_bucket(request.getfixturevalue(s3), reads) as result:
            yield result

    return made


moto_bucket, moto_executor_bucket = (_bucket_of("moto", reads) for reads in ("loop", "executor"))
radosgw_bucket, radosgw_executor_bucket = (_bucket_of("radosgw", reads) for reads in ("loop", "executor"))


@pytest.fixture
def bucket(moto_bucket: BucketUnderTest) -> Iterator[BucketUnderTest]:
    """An empty bucket of moto."""
    yield moto_bucket
    moto_bucket.empty()


_MEMORY_STORES: dict[str, Callable[[Store], Store]] = {
    "memory": lambda store: store,
    "measured": lambda store: MeasuredStore(store, "site", lambda _: None),
    "cached": lambda store: CachingStore(store, ObjectCache(), CacheCounts()),
    # The clock moves by days at each reading, so that no object stays fresh.
    "revalidated": lambda store: CachingStore(store, ObjectCache(), CacheCounts(), itertools.count(0, 10**6).__next__),
}


_STORES = [*_MEMORY_STORES, "moto", pytest.param("radosgw", marks=pytest.mark.integration)]
_READ_BY_BOTO3 = ["moto_executor", pytest.param("radosgw_executor", marks=pytest.mark.integration)]


@pytest.fixture(params=[*_STORES, *_READ_BY_BOTO3])
def under_test(request: pytest.FixtureRequest) -> Iterator[StoreUnderTest]:
    """Each kind of store, empty."""
    yield from _store(request)


@pytest.fixture(params=_STORES)
def writable(request: pytest.FixtureRequest) -> Iterator[StoreUnderTest]:
    """Each kind of store with its own way to write, empty."""
    yield from _store(request)


@pytest.fixture(params=[*_STORES, *_READ_BY_BOTO3])
def closable(request: pytest.FixtureRequest) -> Iterator[StoreUnderTest]:
    """Each kind of store, empty; no other test uses it, so that a test may close it."""
    if request.param in _MEMORY_STORES:
        yield from _store(request)
        return
    endpoint, _, reads = request.param.partition("_")
    with new_bucket(request.getfixturevalue(endpoint), reads or "loop") as result:
        yield StoreUnderTest(endpoint, result.store, result.add)


def _store(request: pytest.FixtureRequest) -> Iterator[StoreUnderTest]:
    if request.param in _MEMORY_STORES:
        result = in_memory()
        yield replace(result, store=_MEMORY_STORES[request.param](result.store))
        return
    result = request.getfixturevalue(f"{request.param}_bucket")
    yield StoreUnderTest(request.param.removesuffix("_executor"), result.store, result.add)
    result.empty()


@pytest.fixture
def live_bytes():
    """A context that measures the memory in use; it yields a function that returns the peak, in bytes, after the context."""

    @contextmanager
    def measured():
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        try:
            yield lambda: peak
        finally:
            peak = tracemalloc.get_traced_memory()[1] - before
            tracemalloc.stop()

    return measured
