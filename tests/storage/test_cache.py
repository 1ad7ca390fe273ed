"""What a cache keeps, for how long, and how much; `test_store_contract` tests that it answers as its store does."""

import asyncio
from dataclasses import dataclass, field

import pytest
from memory_store import MemoryStore
from stores import async_chunks

from tornado_proxy.config.model import ObjectCache
from tornado_proxy.semantics.conditions import UNCONDITIONAL, ByteRange, Conditions, ContentRange
from tornado_proxy.storage.cache import CacheCounts, CachingStore
from tornado_proxy.storage.errors import Busy, NotModified, ObjectMissing, PreconditionFailed, UpstreamError
from tornado_proxy.storage.store import ObjectInfo, Write

KIB = 1024


class RecordingStore(MemoryStore):
    """A store that records its calls; they wait until `gate` is set, and raise `error` if it is not None."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: Exception | None = None

    async def _record(self, call: str) -> None:
        self.calls.append(call)
        await asyncio.sleep(0)  # S3 never answers in the same turn of the loop
        await self.gate.wait()
        if self.error is not None:
            raise self.error

    async def open(self, key, conditions, part=None):
        """Records and opens."""
        await self._record("GET")
        return await super().open(key, conditions, part)

    async def head(self, key, conditions):
        """Records and returns the info."""
        await self._record("HEAD")
        return await super().head(key, conditions)


@dataclass
class CacheUnderTest:
    """A cache in front of a store, with a clock that the test sets."""

    limits: ObjectCache = field(default_factory=ObjectCache)
    now: float = 1000.0

    def __post_init__(self) -> None:
        self.behind = RecordingStore()
        self.counts = CacheCounts()
        self.store = CachingStore(self.behind, self.limits, self.counts, lambda: self.now)

    def add(self, key: str, body: bytes, **info: str) -> None:
        """Adds an object to the store without the cache."""
        self.behind.add(key, body, ObjectInfo(len(body), **info))

    async def get(self, key: str = "a") -> tuple[bytes, str | None]:
        """Reads an object, and returns its body and the result of the cache."""
        opened = await self.store.open(key, UNCONDITIONAL)
        body = b"".join([chunk async for chunk in opened.chunks()])
        await opened.close()
        return body, opened.info.cache

    async def head(self, key: str = "a") -> str | None:
        """Requests the info of an object, and returns the result of the cache."""
        return (await self.store.head(key, UNCONDITIONAL)).cache


@pytest.fixture
def cache():
    """A cache in front of a store with one object."""
    cache = CacheUnderTest()
    cache.add("a", b"0123456789", cache_control="max-age=60", content_type="text/plain")
    return cache


# Fresh


async def test_a_range_of_a_cached_object_makes_no_call(cache):
    """A range is read from the cached body."""
    await cache.get()
    opened = await cache.store.open("a", UNCONDITIONAL, ByteRange(2, 4))
    assert [chunk async for chunk in opened.chunks()] == [b"234"]
    assert opened.content_range == ContentRange(2, 4, 10)
    assert cache.behind.calls == ["GET"]


@pytest.mark.parametrize("earlier", ["get", "head"])
async def test_conditions_on_a_cached_object_make_no_call(cache, earlier):
    """A 304 and a 412 are answered from memory, after a GET or a HEAD."""
    await getattr(cache, earlier)()
    before = [*cache.behind.calls]
    etag = (await cache.store.head("a", UNCONDITIONAL)).etag
    with pytest.raises(NotModified) as unchanged:
        await cache.store.open("a", Conditions(if_none_match=(etag,)))
    with pytest.raises(PreconditionFailed):
        await cache.store.open("a", Conditions(if_match=('"other"',)))
    assert (unchanged.value.info.cache, unchanged.value.info.cache_control) == ("hit", "max-age=60")
    assert cache.behind.calls == before


async def test_a_condition_on_another_object_makes_one_head(cache):
    """A 304 for an object that is not cached needs a HEAD, but no GET."""
    etag = (await cache.behind.head("a", UNCONDITIONAL)).etag
    cache.behind.calls.clear()
    for _ in range(2):
        with pytest.raises(NotModified):
            await cache.store.open("a", Conditions(if_none_match=(etag,)))
    assert cache.behind.calls == ["HEAD"]


async def test_a_missing_object_is_not_cached(cache):
    """An object that is stored after a 404 is found at once."""
    with pytest.raises(ObjectMissing):
        await cache.get("b")
    cache.add("b", b"new")
    assert await cache.get("b") == (b"new", "miss")


# Stale


async def test_an_unchanged_object_is_revalidated(cache):
    """A stale object needs a HEAD, and is then fresh again."""
    await cache.get()
    cache.now += 10
    assert [await cache.get(), await cache.get()] == [(b"0123456789", "revalidated"), (b"0123456789", "hit")]
    assert cache.behind.calls == ["GET", "HEAD"]


async def test_changed_headers_with_the_same_etag_are_noticed(cache):
    """The info of a revalidated object has the new headers."""
    await cache.get()
    cache.add("a", b"0123456789", content_type="text/html")
    cache.now += 10
    info = await cache.store.head("a", UNCONDITIONAL)
    assert (info.content_type, info.cache) == ("text/html", "revalidated")


async def test_a_changed_object_is_fetched(cache):
    """A stale object with another ETag is fetched again."""
    await cache.get()
    cache.add("a", b"new")
    assert await cache.get() == (b"0123456789", "hit")
    cache.now += 10
    assert await cache.get() == (b"new", "miss")


async def test_an_object_with_a_weak_etag_is_fetched(cache):
    """A stale object with a weak ETag is fetched again, because its bytes may have changed."""
    cache.add("a", b"0123456789", etag='W/"a"')
    await cache.get()
    cache.now += 10
    assert (await cache.get())[1] == "miss"


async def test_a_removed_object_is_forgotten(cache):
    """A stale object that was removed without the cache is missing, and takes no memory."""
    await cache.get()
    await cache.behind.remove("a")
    cache.now += 10
    with pytest.raises(ObjectMissing):
        await cache.get()
    assert cache.counts.bytes == 0


@pytest.mark.parametrize(
    ("cache_control", "seconds"), [("max-age=3", 3), ("s-maxage=3, max-age=60", 3), ("max-age=60", 10), (None, 10)]
)
async def test_an_object_can_shorten_its_time(cache, cache_control, seconds):
    """An object is fresh for the time of the configuration, or of its `Cache-Control` if that is shorter."""
    cache.add("a", b"x", cache_control=cache_control)
    await cache.get()
    cache.now += seconds - 0.1
    assert (await cache.get())[1] == "hit"
    cache.now += 0.2
    assert (await cache.get())[1] == "revalidated"


async def test_no_cache_is_revalidated_each_time(cache):
    """An object with `no-cache` is cached, and used only after a HEAD."""
    cache.add("a", b"x", cache_control="no-cache")
    assert [(await cache.get())[1] for _ in range(3)] == ["miss", "revalidated", "revalidated"]


@pytest.mark.parametrize("cache_control", ["no-store", "private, max-age=60"])
async def test_a_private_object_is_not_cached(cache, cache_control):
    """An object with `no-store` or `private` is not cached, nor is its info."""
    cache.add("a", b"secret", cache_control=cache_control)
    assert [(await cache.get())[1] for _ in range(2)] == ["miss", "miss"]
    assert [await cache.head() for _ in range(2)] == ["miss", "miss"]
    assert cache.behind.calls == ["GET", "GET", "HEAD", "HEAD"]


# Concurrent requests


async def _waiting(cache, count, request):
    """Starts concurrent requests, for which S3 does not answer until the gate is set."""
    cache.behind.gate.clear()
    requests = [asyncio.ensure_future(request()) for _ in range(count)]
    for _ in range(5):
        await asyncio.sleep(0)
    return requests


@pytest.mark.parametrize(("method", "call"), [("get", "GET"), ("head", "HEAD")])
async def test_concurrent_requests_share_one_call(cache, method, call):
    """A hundred concurrent requests make one call."""
    requests = await _waiting(cache, 100, getattr(cache, method))
    cache.behind.gate.set()
    answers = await asyncio.gather(*requests)
    results = [answer[1] if method == "get" else answer for answer in answers]
    assert (cache.behind.calls, sorted(results)) == ([call], ["hit"] * 99 + ["miss"])


async def test_concurrent_requests_share_a_failure(cache):
    """A failed call fails all requests that wait for it; the next request makes a new call."""
    requests = await _waiting(cache, 3, cache.get)
    cache.behind.error = Busy("slow down")
    cache.behind.gate.set()
    answers = await asyncio.gather(*requests, return_exceptions=True)
    assert ([type(answer) for answer in answers], cache.behind.calls) == ([Busy] * 3, ["GET"])
    cache.behind.error = None
    assert (await cache.get())[1] == "miss"


async def test_requests_continue_if_one_is_cancelled(cache):
    """If the request that makes the call is cancelled, another one makes the call for all that wait."""
    first, *other_requests = await _waiting(cache, 5, cache.get)
    first.cancel()
    cache.behind.gate.set()
    assert [answer[0] for answer in await asyncio.gather(*other_requests)] == [b"0123456789"] * 4
    assert cache.behind.calls == ["GET", "GET"]


async def test_a_private_object_is_not_shared(cache):
    """Each request makes its own call once the object is known to be private, and later requests do not wait at all."""
    cache.add("a", b"secret", cache_control="private")
    requests = await _waiting(cache, 3, cache.get)
    cache.behind.gate.set()
    assert [await request for request in requests] == [(b"secret", "miss")] * 3
    assert cache.behind.calls == ["GET"] * 3
    await asyncio.gather(*await _waiting(cache, 3, cache.get), _answer_three_calls(cache))
    assert cache.behind.calls == ["GET"] * 6


async def _answer_three_calls(cache):
    """Checks that three more requests have made a call each, and lets S3 answer."""
    assert cache.behind.calls == ["GET"] * 6
    cache.behind.gate.set()


async def test_a_body_that_is_too_short_is_not_cached():
    """A body that is shorter than announced raises an error and is not cached."""

    class ShortBody(RecordingStore):
        async def open(self, key, conditions, part=None):
            opened = await super().open(key, conditions, part)
            return type(opened)(ObjectInfo(11, etag='"a"'), None, b"0123456789")

    store = CachingStore(ShortBody(), ObjectCache(), counts := CacheCounts())
    store.behind.add("a", b"0123456789")
    with pytest.raises(UpstreamError, match="10 bytes of `a` instead of 11"):
        await store.open("a", UNCONDITIONAL)
    assert counts.bytes == 0


# Writing


async def test_a_write_is_visible_at_once(cache):
    """The cache forgets an object before a write or removal of it returns."""
    await cache.get()
    await cache.store.put("a", async_chunks(b"new"), Write())
    assert await cache.get() == (b"new", "miss")
    await cache.store.remove("a")
    with pytest.raises(ObjectMissing):
        await cache.get()


async def test_a_failed_write_forgets_the_object(cache):
    """The cache also forgets an object after a failed write, because the object may have been stored."""
    await cache.get()
    with pytest.raises(PreconditionFailed):
        await cache.store.put("a", async_chunks(b"new"), Write(conditions=Conditions(if_match=('"other"',))))
    with pytest.raises(PreconditionFailed):
        await cache.store.remove("a", Conditions(if_match=('"other"',)))
    assert (await cache.get())[1] == "miss"


@pytest.mark.parametrize(("method", "change"), [("get", "forget"), ("head", "forget"), ("get", "purge")])
async def test_a_read_during_a_change_is_not_cached(cache, method, change):
    """The result of a call that began before a write or a purge answers only the requests that wait for it."""
    (request,) = await _waiting(cache, 1, getattr(cache, method))
    getattr(cache.store, change)("a")
    cache.behind.gate.set()
    await request
    assert cache.counts.bytes == 0
    assert await cache.head() == "miss"


@pytest.mark.parametrize(("prefix", "purged"), [("", 3), ("d/", 2), ("d/a", 1), ("x", 0)])
async def test_a_purge_forgets_all_objects_below_a_prefix(cache, prefix, purged):
    """A purge forgets all objects whose keys begin with a prefix, and returns their number."""
    for key in ("a", "d/a", "d/b"):
        cache.add(key, b"x")
        await cache.get(key)
    assert cache.store.purge(prefix) == purged
    results = {key: (await cache.get(key))[1] for key in ("a", "d/a", "d/b")}
    assert results == {key: "miss" if key.startswith(prefix) else "hit" for key in results}


# Memory


@pytest.mark.parametrize(("size", "result"), [(KIB, "hit"), (KIB + 1, "miss")])
async def test_a_large_object_is_not_cached(size, result):
    """An object is cached up to `maxObjectSize`; of a larger object, only the info is."""
    cache = CacheUnderTest(ObjectCache(max_object_size=KIB))
    cache.add("a", bytes(size))
    await cache.get()
    assert await cache.get() == (bytes(size), result)
    assert await cache.head() == "hit"


async def test_requests_for_a_large_object_do_not_wait_for_each_other():
    """Once an object is known to be too large, each request makes a call at once."""
    cache = CacheUnderTest(ObjectCache(max_object_size=KIB))
    cache.add("a", bytes(2 * KIB))
    await cache.get()
    requests = await _waiting(cache, 3, cache.get)
    assert cache.behind.calls == ["GET"] * 4
    cache.behind.gate.set()
    await asyncio.gather(*requests)


async def test_the_least_recently_used_object_is_evicted():
    """The cache never takes more than `maxSize`; it evicts the object whose last use is oldest."""
    cache = CacheUnderTest(ObjectCache(max_size=100 * KIB))
    for number in range(50):
        cache.add(f"{number}", bytes(10 * KIB))
        await cache.get(f"{number}")
        await cache.get("0")
        assert cache.counts.bytes <= 100 * KIB
    assert (await cache.get("0"))[1] == "hit"
    assert (await cache.get("1"))[1] == "miss"
    assert cache.counts.evictions == 50 - 8 + 1


async def test_bodies_that_are_being_read_count():
    """Bodies that are being read count towards `maxSize`; one that does not fit is passed on."""
    cache = CacheUnderTest(ObjectCache(max_size=25 * KIB))
    for key in "abc":
        cache.add(key, bytes(10 * KIB))
    bodies = [await cache.store.open(key, UNCONDITIONAL) for key in "abc"]
    assert [opened.info.cache for opened in bodies] == ["miss"] * 3
    assert cache.counts.bytes <= 25 * KIB


async def test_no_memory_is_in_use_after_a_purge(cache):
    """After all objects were forgotten, the count of bytes is 0."""
    for key in ("a", "b", "c"):
        cache.add(key, bytes(KIB), cache_control="no-store" if key == "c" else "max-age=1")
        await cache.get(key)
        cache.now += 2
        await cache.head(key)
        await cache.get(key)
    assert cache.store.purge("") == 3
    assert cache.counts.bytes == 0


async def test_results_are_counted(cache):
    """Each GET and HEAD of an object is counted once, under its result."""
    await cache.get()
    await cache.get()
    cache.now += 10
    await cache.head()
    assert (cache.counts.miss, cache.counts.hit, cache.counts.revalidated) == (1, 1, 1)
