"""Stores that fail, wait or never end, for what no good store does."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from memory_store import MemoryStore

from tornado_proxy.storage.store import ObjectInfo


class Failing(MemoryStore):
    """A memory store in which some operations raise: `Failing(open=Busy("…"))`."""

    def __init__(self, **errors: Exception) -> None:
        super().__init__()
        self.errors = errors

    def _check(self, operation: str) -> None:
        if operation in self.errors:
            raise self.errors[operation]

    async def open(self, *arguments: Any):
        """The object, or the error."""
        self._check("open")
        return await super().open(*arguments)

    async def head(self, *arguments: Any):
        """The info, or the error."""
        self._check("head")
        return await super().head(*arguments)

    async def list(self, *arguments: Any):
        """The page, or the error."""
        self._check("list")
        return await super().list(*arguments)

    async def put(self, *arguments: Any):
        """Store, or raise before anything is read."""
        self._check("put")
        return await super().put(*arguments)

    async def remove(self, *arguments: Any):
        """Remove, or raise."""
        self._check("remove")
        return await super().remove(*arguments)


@dataclass
class ScriptedBody:
    """An opened object whose chunks are given, an exception among them being raised; counts what was taken."""

    script: list[bytes | Exception]
    size: int
    taken: int = 0
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    content_range: None = None

    @property
    def info(self) -> ObjectInfo:
        """The announced size."""
        return ObjectInfo(size=self.size, etag='"e"', content_type="text/plain")

    async def chunks(self):
        """The script."""
        for step in self.script:
            if isinstance(step, Exception):
                raise step
            self.taken += len(step)
            yield step

    async def close(self) -> None:
        """Note it."""
        self.closed.set()


class Endless(ScriptedBody):
    """An opened object of any size, made of one chunk over and over."""

    def __init__(self, size: int) -> None:
        super().__init__([], size)
        self._chunk = bytes(256 * 1024)

    async def chunks(self):
        """Zeros until the size is reached."""
        while self.taken < self.size:
            piece = self._chunk[: self.size - self.taken]
            self.taken += len(piece)
            yield piece


class OneObject(MemoryStore):
    """A store that opens one given body, whatever is asked for."""

    def __init__(self, body: ScriptedBody) -> None:
        super().__init__()
        self.body = body

    async def open(self, *arguments: Any):
        """The body."""
        return self.body


class Counting(MemoryStore):
    """A store that takes uploads in without keeping them: it counts bytes and tells how each ended.

    `pause` holds the store back from taking the next chunk while it is cleared.
    """

    def __init__(self) -> None:
        super().__init__()
        self.taken = 0
        self.ended: list[str] = []
        self.arrived = asyncio.Event()
        self.over = asyncio.Event()
        self.pause = asyncio.Event()
        self.pause.set()

    async def put(self, key, chunks, write):
        """Count the chunks."""
        try:
            async for chunk in chunks:
                self.taken += len(chunk)
                self.arrived.set()
                await self.pause.wait()
        except BaseException as error:
            self.ended.append(type(error).__name__)
            raise
        finally:
            self.over.set()
        self.ended.append("stored")
        return await super().put(key, _nothing(), write)


async def _nothing():
    for chunk in ():
        yield chunk
