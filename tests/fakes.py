"""Stores that fail, block, or hold bodies of any size, a clock, and a sign-in that accepts every name."""

import asyncio
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from memory_store import MemoryStore

from tornado_proxy.auth.authenticator import SignIn
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.semantics.request import User
from tornado_proxy.storage.store import ObjectInfo


class Staff:
    """An authenticator that accepts every name."""

    async def authenticate(self, facts: Any, _guard: Any) -> SignIn | Refuse:
        """Signs in whoever the header Authorization names."""
        name = dict(facts.headers).get("Authorization")
        return SignIn(User(name)) if name else Refuse(401, "nobody is signed in", challenge='Basic realm="Files"')


class Answering:
    """An authenticator that gives these answers in turn, the last one again and again; it raises an exception."""

    def __init__(self, *answers: SignIn | Refuse | Exception) -> None:
        self.answers = [*answers]

    async def authenticate(self, _facts: Any, _guard: Any) -> SignIn | Refuse:
        """The next answer."""
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """The time, in seconds."""
        return self.now


class FailingStore(MemoryStore):
    """A memory store in which some operations raise: `FailingStore(open=Busy("…"))`; `opened` are the keys asked for."""

    def __init__(self, **errors: Exception) -> None:
        super().__init__()
        self.errors = errors
        self.opened: list[str] = []

    def _check(self, operation: str) -> None:
        if operation in self.errors:
            raise copy(self.errors[operation])  # what was raised keeps the frames that it passed, and so a request

    async def open(self, key: str, *arguments: Any):
        """Opens the object, or raises."""
        self.opened.append(key)
        self._check("open")
        return await super().open(key, *arguments)

    async def head(self, *arguments: Any):
        """Returns the object's info, or raises."""
        self._check("head")
        return await super().head(*arguments)

    async def list(self, *arguments: Any):
        """Returns a page of the listing, or raises."""
        self._check("list")
        return await super().list(*arguments)

    async def put(self, *arguments: Any):
        """Stores an object, or raises before it reads a chunk."""
        self._check("put")
        return await super().put(*arguments)

    async def remove(self, *arguments: Any):
        """Removes an object, or raises."""
        self._check("remove")
        return await super().remove(*arguments)


@dataclass
class ScriptedBody:
    """An opened object that yields the chunks of a script and raises its exceptions; `bytes_read` counts what was yielded."""

    script: list[bytes | Exception]
    size: int
    bytes_read: int = 0
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    content_range: None = None

    @property
    def info(self) -> ObjectInfo:
        """The announced size, and fixed properties."""
        return ObjectInfo(size=self.size, etag='"e"', content_type="text/plain")

    async def chunks(self):
        """Yields or raises the steps of the script."""
        for step in self.script:
            if isinstance(step, Exception):
                raise step
            self.bytes_read += len(step)
            yield step

    async def close(self) -> None:
        """Sets `closed`."""
        self.closed.set()


class EndlessBody(ScriptedBody):
    """An opened object of any size, made of zeros."""

    def __init__(self, size: int) -> None:
        super().__init__([], size)
        self._chunk = bytes(256 * 1024)

    async def chunks(self):
        """Yields zeros until the size is reached."""
        while self.bytes_read < self.size:
            piece = self._chunk[: self.size - self.bytes_read]
            self.bytes_read += len(piece)
            yield piece


class PausedBody(ScriptedBody):
    """An opened object of two chunks. The second one comes when `go_on` is set."""

    def __init__(self, first: bytes = b"hello", second: bytes = b"world") -> None:
        super().__init__([first, second], len(first + second))
        self.go_on = asyncio.Event()

    async def chunks(self):
        """Yields the first chunk, waits, and yields the second."""
        first, second = self.script
        yield first
        await self.go_on.wait()
        yield second


class OneObjectStore(MemoryStore):
    """A store that opens the same body for every key."""

    def __init__(self, body: ScriptedBody) -> None:
        super().__init__()
        self.body = body

    async def open(self, *arguments: Any):
        """The body, for every key."""
        return self.body


class NotingStore(MemoryStore):
    """A memory store that notes in the context of a request what it opens; `found` is what each request found noted."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, ...]] = []
        self._notes: ContextVar[tuple[str, ...]] = ContextVar("notes", default=())

    async def open(self, key: Any, *arguments: Any):
        """Opens the object."""
        self.found.append(self._notes.get())
        self._notes.set((*self._notes.get(), key))
        return await super().open(key, *arguments)


class CountingStore(MemoryStore):
    """A store that counts the bytes of uploads and discards them, and records the outcome of each.

    After each chunk it waits until `may_continue` is set.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bytes_received = 0
        self.outcomes: list[str] = []
        self.first_chunk_arrived = asyncio.Event()
        self.finished = asyncio.Event()
        self.may_continue = asyncio.Event()
        self.may_continue.set()

    async def put(self, key, chunks, write):
        """Counts the bytes of the chunks and stores an empty object."""
        try:
            async for chunk in chunks:
                self.bytes_received += len(chunk)
                self.first_chunk_arrived.set()
                await self.may_continue.wait()
        except BaseException as error:
            self.outcomes.append(type(error).__name__)
            raise
        finally:
            self.finished.set()
        self.outcomes.append("stored")
        return await super().put(key, _no_chunks(), write)


async def _no_chunks():
    for chunk in ():
        yield chunk
