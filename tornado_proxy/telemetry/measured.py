"""A store that tells how each call to its bucket went."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from tornado_proxy.routing.keys import ObjectKey
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.semantics.ranges import ByteRange
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.store import ObjectInfo, Opened, Page, Store, Stored, Write
from tornado_proxy.telemetry.events import Event, S3Called

Result = TypeVar("Result")


class MeasuredStore:
    """Passes every call on to a store, and tells of it."""

    def __init__(self, store: Store, target: str, tell: Callable[[Event], None]) -> None:
        self._store = store
        self._target = target
        self._tell = tell

    def __repr__(self) -> str:
        return f"<MeasuredStore {self._store!r}>"

    async def open(self, key: ObjectKey, conditions: Conditions, part: ByteRange | None = None) -> Opened:
        """The object's info and body, or the part of it that was asked for."""
        return await self._timed("open", self._store.open(key, conditions, part))

    async def head(self, key: ObjectKey, conditions: Conditions) -> ObjectInfo:
        """The object's info."""
        return await self._timed("head", self._store.head(key, conditions))

    async def list(self, prefix: ObjectKey, token: str | None = None, limit: int = 1000) -> Page:
        """A page of what lies directly below a prefix."""
        return await self._timed("list", self._store.list(prefix, token, limit))

    async def put(self, key: ObjectKey, chunks: AsyncIterator[bytes], write: Write) -> Stored:
        """Store the chunks as an object."""
        return await self._timed("put", self._store.put(key, chunks, write))

    async def remove(self, key: ObjectKey) -> None:
        """Remove an object."""
        await self._timed("remove", self._store.remove(key))

    async def sign(self, key: ObjectKey, expires: int) -> str:
        """A URL that fetches the object; no call to the bucket, so nothing to tell."""
        return await self._store.sign(key, expires)

    async def close(self) -> None:
        """Let go of connections."""
        await self._store.close()

    async def _timed(self, call: str, awaited: Awaitable[Result]) -> Result:
        began, outcome = time.perf_counter(), "cancelled"
        try:
            result = await awaited
        except StorageError as error:
            outcome = type(error).__name__
            raise
        else:
            outcome = "ok"
            return result
        finally:
            self._tell(S3Called(self._target, call, outcome, time.perf_counter() - began))
