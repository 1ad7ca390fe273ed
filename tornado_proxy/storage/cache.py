"""A cache of small objects in memory, in front of a store."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from math import inf
from sys import getsizeof
from typing import TypeVar

import msgspec
from msgspec.structs import astuple, replace

from tornado_proxy.config.model import ObjectCache
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.semantics.conditions import (
    UNCONDITIONAL,
    ByteRange,
    Conditions,
    ContentRange,
    freshness,
    strong_match,
)
from tornado_proxy.storage import errors
from tornado_proxy.storage.limits import CACHE_OVERHEAD, CACHED_CHUNK
from tornado_proxy.storage.store import WRITES, CacheResult, ForwardingStore, ObjectInfo, OpenedObject, Store

T = TypeVar("T")

_HIT: CacheResult = "hit"
_MISS: CacheResult = "miss"


class MemoryObject(msgspec.Struct):
    """An open object in memory."""

    info: ObjectInfo
    content_range: ContentRange | None
    body: bytes

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yields the body in chunks."""
        for start in range(0, len(self.body), CACHED_CHUNK):
            yield self.body[start : start + CACHED_CHUNK]

    async def close(self) -> None:
        """Does nothing."""


def open_in_memory(
    key: ObjectKey, info: ObjectInfo, body: bytes, conditions: Conditions, part: ByteRange | None
) -> MemoryObject:
    """Opens an object in memory or a part of it; raises the errors of conditions and range."""
    if conditions is not UNCONDITIONAL:
        errors.check_conditions(key, info, conditions)
    found = part.resolve(info.size) if part and conditions.range_holds(info.etag, info.last_modified) else None
    match found:
        case None:
            return MemoryObject(info, None, body)
        case ContentRange(first=int(first), last=int(last)):
            return MemoryObject(info, found, body[first : last + 1])
        case _:
            raise errors.RangeUnsatisfiable(f"`{key}` has no byte of the range", info.size)


class CacheCounts(msgspec.Struct):
    """The counters and the size of the caches of a target in this process."""

    hit: int = 0
    miss: int = 0
    revalidated: int = 0
    evictions: int = 0
    bytes: int = 0


class _CachedObject(msgspec.Struct):
    """An entry of the cache; without `info` if the object must not be cached."""

    info: ObjectInfo | None
    body: bytes | None  # if it is cached
    since: float
    until: float
    is_shared: bool  # false for a response that only one request may use
    weight: int = 0  # bytes, once it is kept


_Call = asyncio.Future[_CachedObject | None]


class CachingStore(ForwardingStore):
    """Caches the results of GET and HEAD by object key, and passes on all other calls.

    Conditions and ranges of cached objects are evaluated here. An object is fresh for `maxAge`, or less if its headers
    say so. After that a HEAD shows whether its ETag is the same. A 304 of S3 would omit most headers, which can change
    without the ETag. Concurrent requests for an object share one call. Missing objects are not cached. Beyond `maxSize`
    bytes the least recently used objects are dropped.
    """

    def __init__(
        self, store: Store, limits: ObjectCache, counts: CacheCounts, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(store)
        self._limits = limits
        self.counts = counts
        self._clock = clock
        self._entries: OrderedDict[str, _CachedObject] = OrderedDict()
        self._used = 0  # bytes of entries, and of bodies that are being read
        self._heads: dict[str, _Call] = {}
        self._gets: dict[str, _Call] = {}

    async def open(self, key: ObjectKey, conditions: Conditions, part: ByteRange | None = None) -> OpenedObject:
        """Opens an object or a part of it."""
        entry, result = self._fresh(key), _HIT
        if entry is None and (key in self._entries or conditions != UNCONDITIONAL):
            entry, result = await self._revalidate(key)
        known = entry.info if entry else None
        is_refused = known and conditions.decide(known.etag, known.last_modified) != "proceed"
        if entry is not None and (entry.body is not None or is_refused):
            # Without a body, the conditions raise an error.
            return open_in_memory(key, self._counted_info(entry, result), entry.body or b"", conditions, part)
        if part is None and (entry is None or self._is_small(entry.info)):
            found, result = await self._joined(self._gets, key, self._fetch)
            if isinstance(found, _CachedObject):
                return open_in_memory(key, self._counted_info(found, result), found.body or b"", conditions, part)
            if found is not None and conditions == UNCONDITIONAL:
                return self._uncached(found)
            if found is not None:
                await found.close()
        return self._uncached(await self.behind.open(key, conditions, part))

    async def head(self, key: ObjectKey, conditions: Conditions) -> ObjectInfo:
        """Returns the headers of an object."""
        entry, result = self._fresh(key), _HIT
        if entry is None:
            entry, result = await self._revalidate(key)
        if entry is None or entry.info is None:
            self.counts.miss += 1
            return replace(await self.behind.head(key, conditions), cache=_MISS)
        info = self._counted_info(entry, result)
        errors.check_conditions(key, info, conditions)
        return info

    async def close(self) -> None:
        """Drops all entries and closes the store."""
        self.purge("")
        await super().close()

    def forget(self, key: str) -> None:
        """Drops an entry, and does not cache the result of a running read."""
        self._drop(key)
        self._heads.pop(key, None)
        self._gets.pop(key, None)

    async def _forward(self, call: str, key: ObjectKey, result: Awaitable[T]) -> T:
        try:
            return await result
        finally:
            if call in WRITES:
                self.forget(key)

    def purge(self, prefix: str) -> int:
        """Drops the entries whose keys begin with a prefix; returns their number."""
        found = [key for key in self._entries if key.startswith(prefix)]
        for key in [*found, *self._heads, *self._gets]:
            if key.startswith(prefix):
                self.forget(key)
        return len(found)

    # Calls of the store

    async def _joined(
        self, calls: dict[str, _Call], key: ObjectKey, ask: Callable[[ObjectKey, _Call], Awaitable[T]]
    ) -> tuple[T | _CachedObject | None, CacheResult]:
        """Returns the result of `ask`, or of a running call; None if that result must not be shared."""
        while (call := calls.get(key)) is not None:
            await asyncio.wait((call,))
            if not call.cancelled():
                return call.result(), _HIT
        call = calls[key] = asyncio.get_running_loop().create_future()
        try:
            answer = await ask(key, call)
            call.set_result(answer if isinstance(answer, _CachedObject) and answer.is_shared else None)
        except errors.StorageError as error:
            if isinstance(error, errors.ObjectMissing):
                self._drop(key)
            call.set_exception(error)
            call.exception()  # retrieved, in case that nobody else waits for it
            raise
        finally:
            call.cancel()  # if this request was cancelled; one of those that wait calls again
            if calls.get(key) is call:
                del calls[key]
        return answer, _MISS

    async def _revalidate(self, key: ObjectKey) -> tuple[_CachedObject | None, CacheResult]:
        """Returns the entry of an object after a HEAD, with its body if that is unchanged."""
        entry, result = await self._joined(self._heads, key, self._ask)
        return entry, "revalidated" if result == _MISS and entry is not None and entry.body is not None else result

    async def _ask(self, key: ObjectKey, call: _Call) -> _CachedObject:
        info = await self.behind.head(key, UNCONDITIONAL)
        known = self._entries.get(key)
        before = known.info if known is not None else None
        # The bytes are unchanged if both ETags are strong and equal.
        is_same = before is not None and before.size == info.size and strong_match(before.etag or "", info.etag or "")
        entry = self._entry(info, known.body if known is not None and is_same else None)
        if self._heads.get(key) is call:
            self._keep(key, entry)
        return entry

    async def _fetch(self, key: ObjectKey, call: _Call) -> _CachedObject | OpenedObject:
        """Returns the object with its body if it is cached, or as the store opened it."""
        opened = await self.behind.open(key, UNCONDITIONAL)
        info, size = opened.info, opened.info.size
        entry = self._entry(info, None)
        if not entry.is_shared or size is None or not self._is_small(info) or not self._make_room(size):
            if self._gets.get(key) is call:
                self._keep(key, entry)
            return opened
        self._use(size)
        try:
            body = b"".join([chunk async for chunk in opened.chunks()])
        finally:
            self._use(-size)
            await opened.close()
        if len(body) != size:
            raise errors.UpstreamError(f"S3 sends {len(body)} bytes of `{key}` instead of {size}")
        entry = self._entry(info, body)
        if self._gets.get(key) is call:
            self._keep(key, entry)
        return entry

    def _uncached(self, opened: OpenedObject) -> OpenedObject:
        """Counts a miss, and passes an object on."""
        self.counts.miss += 1
        opened.info = replace(opened.info, cache=_MISS)
        return opened

    # Entries

    def _entry(self, info: ObjectInfo, body: bytes | None) -> _CachedObject:
        """Returns an entry for a response of S3."""
        now = self._clock()
        seconds = freshness(info.cache_control, info.expires, time.time())
        until = now + min(self._limits.max_age, inf if seconds is None else seconds)
        return _CachedObject(info, body, now, until, seconds is not None)

    def _keep(self, key: str, entry: _CachedObject) -> None:
        """Caches an entry, or the fact that the object must not be cached, so that later requests do not wait."""
        self._drop(key)
        kept = entry if entry.is_shared else replace(entry, info=None, body=None)
        texts = (key, kept.body, *(astuple(kept.info) if kept.info else ()))
        kept.weight = CACHE_OVERHEAD + sum(getsizeof(each) for each in texts if isinstance(each, str | bytes))
        if self._make_room(kept.weight):
            self._entries[key] = kept
            self._use(kept.weight)

    def _fresh(self, key: str) -> _CachedObject | None:
        """Returns the entry of an object if it is fresh."""
        entry = self._entries.get(key)
        if entry is None or entry.until <= self._clock():
            return None
        self._entries.move_to_end(key)
        return entry

    def _counted_info(self, entry: _CachedObject, result: CacheResult) -> ObjectInfo:
        """Counts the result; returns the info with it."""
        assert entry.info is not None
        setattr(self.counts, result, getattr(self.counts, result) + 1)
        age = int(self._clock() - entry.since)
        if entry.info.cache != result or entry.info.age != age:
            entry.info = replace(entry.info, cache=result, age=age)
        return entry.info

    def _is_small(self, info: ObjectInfo | None) -> bool:
        return info is not None and info.size is not None and info.size <= self._limits.max_object_size

    def _make_room(self, size: int) -> bool:
        """Drops the least recently used entries; returns whether a number of bytes fits."""
        most = self._limits.max_size - size
        while self._used > most >= 0 and self._entries:
            self._drop(next(iter(self._entries)))
            self.counts.evictions += 1
        return self._used <= most

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._use(-entry.weight)

    def _use(self, size: int) -> None:
        self._used += size
        self.counts.bytes += size
