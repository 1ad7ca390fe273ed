"""What a cache keeps, for how long, and how much of it; that it answers as its store does is in the contract."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from memory_store import MemoryStore
from stores import async_chunks, read_object

from tornado_proxy.config.model import ObjectCache
from tornado_proxy.semantics.conditions import UNCONDITIONAL, ByteRange, Conditions, ContentRange
from tornado_proxy.storage.cache import CacheCounts, CachingStore
from tornado_proxy.storage.errors import Busy, NotModified, ObjectMissing, PreconditionFailed, UpstreamError
from tornado_proxy.storage.store import ObjectInfo, Write

KIB = 1024


class Noting(MemoryStore):
    """A store that notes its calls; they wait while `gate` is cleared, and raise `error` if there is one."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: Exception | None = None

    async def _note(self, call: str) -> None:
        self.calls.append(call)
        await asyncio.sleep(0)  # S3 never answers in the same turn
        await self.gate.wait()
        if self.error is not None:
            raise self.error

    async def open(self, key, conditions, part=None):
        """The object, noted."""
        await self._note("GET")
        return await super().open(key, conditions, part)

    async def head(self, key, conditions):
        """The info, noted."""
        await self._note("HEAD")
        return await super().head(key, conditions)


@dataclass
class Cached:
    """A cache over a store, at a time that the test sets."""

    limits: ObjectCache = field(default_factory=ObjectCache)
    now: float = 1000.0

    def __post_init__(self) -> None:
        self.below = Noting()
        self.counts = CacheCounts()
        self.store = CachingStore(self.below, self.limits, self.counts, lambda: self.now)

    def add(self, key: str, body: bytes, **info: str) -> None:
        """Put an object behind the cache's back."""
        self.below.add(key, body, ObjectInfo(len(body), **info))

    async def get(self, key: str = "a") -> tuple[bytes, str | None]:
        """The body of an object, and what the cache knew of it."""
        opened = await self.store.open(key, UNCONDITIONAL)
        body = b"".join([chunk async for chunk in opened.chunks()])
        await opened.close()
        return body, opened.info.cache

    async def head(self, key: str = "a") -> str | None:
        """What the cache knew of an object that is looked at."""
        return (await self.store.head(key, UNCONDITIONAL)).cache


@pytest.fixture
def cached():
    """A cache over a store with one object."""
    made = Cached()
    made.add("a", b"0123456789", cache_control="max-age=60", content_type="text/plain")
    return made


# Fresh


async def test_a_second_get_makes_no_call(cached):
    """An object is asked for once, and then answered from memory."""
    assert [await cached.get(), await cached.get()] == [(b"0123456789", "miss"), (b"0123456789", "hit")]
    assert cached.below.calls == ["GET"]


async def test_a_head_is_answered_by_what_a_get_left(cached):
    """A HEAD of an object that is kept makes no call."""
    await cached.get()
    assert await cached.head() == "hit"
    assert cached.below.calls == ["GET"]


async def test_a_second_head_makes_no_call(cached):
    """What a HEAD says is kept too; a GET still has to fetch the body."""
    assert [await cached.head(), await cached.head(), (await cached.get())[1]] == ["miss", "hit", "miss"]
    assert cached.below.calls == ["HEAD", "GET"]


async def test_a_range_is_cut_out_of_what_is_kept(cached):
    """A part of an object that is kept makes no call."""
    await cached.get()
    opened = await cached.store.open("a", UNCONDITIONAL, ByteRange(2, 4))
    assert [chunk async for chunk in opened.chunks()] == [b"234"]
    assert opened.content_range == ContentRange(2, 4, 10)
    assert cached.below.calls == ["GET"]


async def test_a_range_of_what_is_not_kept_is_passed_on(cached):
    """A part is asked for as a part, and not kept."""
    opened = await cached.store.open("a", UNCONDITIONAL, ByteRange(2, 4))
    assert ([chunk async for chunk in opened.chunks()], opened.info.cache) == ([b"234"], "miss")
    assert (await cached.get())[1] == "miss"


@pytest.mark.parametrize("seen", ["get", "head"])
async def test_conditions_are_decided_by_what_is_kept(cached, seen):
    """A 304 and a 412 make no call, whether a GET or a HEAD came before."""
    await getattr(cached, seen)()
    before = [*cached.below.calls]
    etag = (await cached.store.head("a", UNCONDITIONAL)).etag
    with pytest.raises(NotModified) as unchanged:
        await cached.store.open("a", Conditions(if_none_match=(etag,)))
    with pytest.raises(PreconditionFailed):
        await cached.store.open("a", Conditions(if_match=('"other"',)))
    assert (unchanged.value.info.cache, unchanged.value.info.cache_control) == ("hit", "max-age=60")
    assert cached.below.calls == before


async def test_a_condition_on_what_is_not_kept_costs_a_head(cached):
    """A client that has the object is answered without its body being fetched."""
    etag = (await cached.below.head("a", UNCONDITIONAL)).etag
    cached.below.calls.clear()
    for _ in range(2):
        with pytest.raises(NotModified):
            await cached.store.open("a", Conditions(if_none_match=(etag,)))
    assert cached.below.calls == ["HEAD"]


async def test_the_age_is_reported(cached):
    """The age is the whole seconds since S3 was asked (RFC 9111 5.1)."""
    await cached.get()
    cached.now += 3.7
    assert [(await cached.store.head("a", UNCONDITIONAL)).age for _ in range(2)] == [3, 3]


async def test_a_missing_object_is_not_remembered(cached):
    """An object that comes after it was missed is found at once."""
    with pytest.raises(ObjectMissing):
        await cached.get("b")
    cached.add("b", b"new")
    assert await cached.get("b") == (b"new", "miss")


# Stale


async def test_what_is_unchanged_is_looked_at_and_used_again(cached):
    """After its time an object costs a HEAD, and then nothing for as long again."""
    await cached.get()
    cached.now += 10
    assert [await cached.get(), await cached.get()] == [(b"0123456789", "revalidated"), (b"0123456789", "hit")]
    assert cached.below.calls == ["GET", "HEAD"]


async def test_headers_that_changed_without_the_etag_are_seen(cached):
    """An object whose metadata was replaced has its old body and its new headers."""
    await cached.get()
    cached.add("a", b"0123456789", content_type="text/html")
    cached.now += 10
    info = await cached.store.head("a", UNCONDITIONAL)
    assert (info.content_type, info.cache) == ("text/html", "revalidated")


async def test_what_has_changed_is_fetched(cached):
    """After its time an object with another ETag is fetched anew."""
    await cached.get()
    cached.add("a", b"new")
    assert await cached.get() == (b"0123456789", "hit")
    cached.now += 10
    assert await cached.get() == (b"new", "miss")


async def test_a_weak_etag_does_not_stand_for_the_bytes(cached):
    """An object with a weak ETag is fetched after its time, for its bytes may have changed."""
    cached.add("a", b"0123456789", etag='W/"a"')
    await cached.get()
    cached.now += 10
    assert (await cached.get())[1] == "miss"


async def test_what_is_gone_is_forgotten(cached):
    """An object that was removed behind the cache's back is missing after its time, and takes no memory."""
    await cached.get()
    await cached.below.remove("a")
    cached.now += 10
    with pytest.raises(ObjectMissing):
        await cached.get()
    assert cached.counts.bytes == 0


@pytest.mark.parametrize(
    ("cache_control", "seconds"), [("max-age=3", 3), ("s-maxage=3, max-age=60", 3), ("max-age=60", 10), (None, 10)]
)
async def test_an_object_may_ask_for_less_time(cached, cache_control, seconds):
    """The time is that of the configuration, or the object's own if that is shorter."""
    cached.add("a", b"x", cache_control=cache_control)
    await cached.get()
    cached.now += seconds - 0.1
    assert (await cached.get())[1] == "hit"
    cached.now += 0.2
    assert (await cached.get())[1] == "revalidated"


async def test_no_cache_is_looked_at_each_time(cached):
    """An object that says `no-cache` is kept, and used only after a HEAD."""
    cached.add("a", b"x", cache_control="no-cache")
    assert [(await cached.get())[1] for _ in range(3)] == ["miss", "revalidated", "revalidated"]


@pytest.mark.parametrize("cache_control", ["no-store", "private, max-age=60"])
async def test_what_may_not_be_kept_is_passed_on(cached, cache_control):
    """Nothing of an object that forbids it is kept, and nothing of it answers another request."""
    cached.add("a", b"secret", cache_control=cache_control)
    assert [(await cached.get())[1] for _ in range(2)] == ["miss", "miss"]
    assert [await cached.head() for _ in range(2)] == ["miss", "miss"]
    assert cached.below.calls == ["GET", "GET", "HEAD", "HEAD"]


# Together


async def _waiting(cached, number, ask):
    """Some who ask at the same time for what S3 takes its time to answer."""
    cached.below.gate.clear()
    asking = [asyncio.ensure_future(ask()) for _ in range(number)]
    for _ in range(5):
        await asyncio.sleep(0)
    return asking


@pytest.mark.parametrize(("ask", "call"), [("get", "GET"), ("head", "HEAD")])
async def test_those_who_ask_together_wait_for_one_call(cached, ask, call):
    """A hundred requests at the same time make one call."""
    asking = await _waiting(cached, 100, getattr(cached, ask))
    cached.below.gate.set()
    answers = await asyncio.gather(*asking)
    results = [answer[1] if ask == "get" else answer for answer in answers]
    assert (cached.below.calls, sorted(results)) == ([call], ["hit"] * 99 + ["miss"])


async def test_those_who_wait_share_a_failure(cached):
    """An S3 that is busy is asked once for all who wait, and again for the next."""
    asking = await _waiting(cached, 3, cached.get)
    cached.below.error = Busy("slow down")
    cached.below.gate.set()
    answers = await asyncio.gather(*asking, return_exceptions=True)
    assert ([type(answer) for answer in answers], cached.below.calls) == ([Busy] * 3, ["GET"])
    cached.below.error = None
    assert (await cached.get())[1] == "miss"


async def test_the_others_go_on_when_one_leaves(cached):
    """If the client whose request makes the call leaves, another makes it; the others still wait for one."""
    first, *others = await _waiting(cached, 5, cached.get)
    first.cancel()
    cached.below.gate.set()
    assert [answer[0] for answer in await asyncio.gather(*others)] == [b"0123456789"] * 4
    assert cached.below.calls == ["GET", "GET"]


async def test_what_may_not_be_shared_is_asked_for_by_each(cached):
    """Those who waited for an object that is private ask for it themselves, and only wait once."""
    cached.add("a", b"secret", cache_control="private")
    asking = await _waiting(cached, 3, cached.get)
    cached.below.gate.set()
    assert [await each for each in asking] == [(b"secret", "miss")] * 3
    assert cached.below.calls == ["GET"] * 3
    await asyncio.gather(*await _waiting(cached, 3, cached.get), _opened(cached))
    assert cached.below.calls == ["GET"] * 6


async def _opened(cached):
    """Let S3 answer once three have asked it, none of them waiting for another."""
    assert cached.below.calls == ["GET"] * 6
    cached.below.gate.set()


async def test_a_body_that_is_too_short_is_not_kept(cached):
    """An object that is shorter than announced is an error of S3, for all who wait."""

    class Short(Noting):
        async def open(self, key, conditions, part=None):
            opened = await super().open(key, conditions, part)
            return type(opened)(ObjectInfo(11, etag='"a"'), None, b"0123456789")

    store = CachingStore(Short(), ObjectCache(), counts := CacheCounts())
    store.behind.add("a", b"0123456789")
    with pytest.raises(UpstreamError, match="10 bytes of `a` instead of 11"):
        await store.open("a", UNCONDITIONAL)
    assert counts.bytes == 0


# Writing


async def test_a_write_is_seen_at_once(cached):
    """What is stored or removed through the cache is forgotten before the write is answered."""
    await cached.get()
    await cached.store.put("a", async_chunks(b"new"), Write())
    assert await cached.get() == (b"new", "miss")
    await cached.store.remove("a")
    with pytest.raises(ObjectMissing):
        await cached.get()


async def test_a_write_that_fails_may_have_been_stored(cached):
    """A write whose outcome is unknown makes the cache forget as well."""
    await cached.get()
    with pytest.raises(PreconditionFailed):
        await cached.store.put("a", async_chunks(b"new"), Write(conditions=Conditions(if_match=('"other"',))))
    with pytest.raises(PreconditionFailed):
        await cached.store.remove("a", Conditions(if_match=('"other"',)))
    assert (await cached.get())[1] == "miss"


@pytest.mark.parametrize("ask", ["get", "head"])
async def test_what_was_being_read_during_a_write_is_not_kept(cached, ask):
    """A call that began before a write answers those who wait for it, and nobody after the write."""
    (asking,) = await _waiting(cached, 1, getattr(cached, ask))
    cached.store.forget("a")
    cached.below.gate.set()
    await asking
    assert cached.counts.bytes == 0
    assert await cached.head() == "miss"


@pytest.mark.parametrize(("prefix", "purged"), [("", 3), ("d/", 2), ("d/a", 1), ("x", 0)])
async def test_a_purge_forgets_what_begins_with_a_prefix(cached, prefix, purged):
    """All objects, a directory, or one; the number is that of the objects."""
    for key in ("a", "d/a", "d/b"):
        cached.add(key, b"x")
        await cached.get(key)
    assert cached.store.purge(prefix) == purged
    results = {key: (await cached.get(key))[1] for key in ("a", "d/a", "d/b")}
    assert results == {key: "miss" if key.startswith(prefix) else "hit" for key in results}


async def test_a_purge_reaches_what_is_being_read(cached):
    """What S3 was asked for before a purge is not kept after it."""
    (asking,) = await _waiting(cached, 1, cached.get)
    cached.store.purge("a")
    cached.below.gate.set()
    await asking
    assert cached.counts.bytes == 0


async def test_a_cache_that_is_closed_takes_no_memory(cached):
    """What is kept goes with the store."""
    await cached.get()
    await cached.store.close()
    assert cached.counts.bytes == 0


# Memory


@pytest.mark.parametrize(("size", "result"), [(KIB, "hit"), (KIB + 1, "miss")])
async def test_a_large_object_is_passed_on(size, result):
    """An object is kept up to `maxObjectSize`; of a larger one only the headers are."""
    cached = Cached(ObjectCache(max_object_size=KIB))
    cached.add("a", bytes(size))
    await cached.get()
    assert await cached.get() == (bytes(size), result)
    assert await cached.head() == "hit"


async def test_those_who_ask_for_a_large_object_do_not_wait_for_each_other():
    """Once an object is known to be too large, each request has a call of its own at once."""
    cached = Cached(ObjectCache(max_object_size=KIB))
    cached.add("a", bytes(2 * KIB))
    await cached.get()
    asking = await _waiting(cached, 3, cached.get)
    assert cached.below.calls == ["GET"] * 4
    cached.below.gate.set()
    await asyncio.gather(*asking)


async def test_what_was_not_used_for_the_longest_time_makes_way():
    """The memory is never more than `maxSize`; the object that was used last stays."""
    cached = Cached(ObjectCache(max_size=100 * KIB))
    for number in range(50):
        cached.add(f"{number}", bytes(10 * KIB))
        await cached.get(f"{number}")
        await cached.get("0")
        assert cached.counts.bytes <= 100 * KIB
    assert (await cached.get("0"))[1] == "hit"
    assert (await cached.get("1"))[1] == "miss"
    assert cached.counts.evictions == 50 - 8 + 1


async def test_bodies_that_are_being_read_count(cached):
    """Objects that come at the same time share the memory too; one for which there is no room is passed on."""
    cached = Cached(ObjectCache(max_size=25 * KIB))
    for key in "abc":
        cached.add(key, bytes(10 * KIB))
    bodies = [await cached.store.open(key, UNCONDITIONAL) for key in "abc"]
    assert [opened.info.cache for opened in bodies] == ["miss"] * 3
    assert cached.counts.bytes <= 25 * KIB


async def test_every_byte_is_accounted_for(cached):
    """After everything was forgotten, nothing is in use."""
    for key in ("a", "b", "c"):
        cached.add(key, bytes(KIB), cache_control="no-store" if key == "c" else "max-age=1")
        await cached.get(key)
        cached.now += 2
        await cached.head(key)
        await cached.get(key)
    assert cached.store.purge("") == 3
    assert cached.counts.bytes == 0


async def test_results_are_counted(cached):
    """Each GET and HEAD of an object counts once, by what the cache knew."""
    await cached.get()
    await cached.get()
    cached.now += 10
    await cached.head()
    assert (cached.counts.miss, cached.counts.hit, cached.counts.revalidated) == (1, 1, 1)


async def test_a_condition_that_holds_no_more_after_a_look_is_decided_again(cached):
    """An object that changes between the HEAD and the GET is answered as what it then is."""

    class Changing(Noting):
        async def head(self, key, conditions):
            info = await super().head(key, conditions)
            self.add(key, b"new")
            return info

    store = CachingStore(Changing(), ObjectCache(), CacheCounts())
    old, new = (store.behind.add("a", body).etag for body in (b"old", b"new"))
    store.behind.add("a", b"old")
    with pytest.raises(NotModified):
        await store.open("a", Conditions(if_none_match=(new,)))
    assert await read_object(store, "a", Conditions(if_none_match=(old,))) == b"new"
