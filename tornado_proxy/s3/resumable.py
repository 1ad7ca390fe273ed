"""An object that is read to its end although S3 or its connection fails on the way, or its client is slow.

Bytes of two versions of an object are never joined: a continuation must carry the ETag, the size and exactly the bytes
that were asked for.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Literal, NamedTuple, Protocol

from tornado_proxy.s3 import limits
from tornado_proxy.s3.answers import ObjectHead
from tornado_proxy.semantics.conditions import ByteRange, ContentRange, strong_match
from tornado_proxy.storage import errors
from tornado_proxy.storage.store import note_wait
from tornado_proxy.wire.shares import Place, Shares

Cause = Literal["broken", "stalled", "slow"]
"""Why a read is resumed: the connection broke, S3 fell silent, or a slow client let the connection go."""


def rest_of(first: ObjectHead, received: int, most: int | None = None) -> ByteRange | None:
    """Returns what is missing after some bytes of a body, or only the next `most` bytes of it, by the head that it has.

    None if it cannot be asked for: without a strong ETag or a size.
    """
    info, part, _ = first
    if info.size is None or not strong_match(info.etag or "", info.etag or ""):
        return None
    part = part or ContentRange(0, info.size - 1, info.size)
    assert part.first is not None
    assert part.last is not None
    start = part.first + received
    return ByteRange(start, part.last if most is None else min(part.last, start + most - 1))


def continues(first: ObjectHead, asked: ByteRange, head: ObjectHead) -> bool:
    """Whether an answer has the bytes that were asked for, of the same object."""
    is_same = strong_match(first.info.etag or "", head.info.etag or "")
    return is_same and head.content_range == ContentRange(asked.first, asked.last, first.info.size)


def longest_pause(tries: int) -> float:
    """Returns the longest pause before a try, in seconds; a random part of it keeps readers from coming together."""
    return min(limits.RESUME_PAUSE * 2.0 ** (tries - 1), limits.LONGEST_RESUME_PAUSE)


def quick_pieces(before: int, seconds: float) -> int | None:
    """Returns how many pieces in a row a client took at once, after one that it took in some seconds.

    None means that it is not slow any more, and can be sent all the rest. Fewer do not tell: a slow client that was
    kept waiting has empty sockets, which take them.
    """
    if seconds > limits.QUICK_WITHIN:
        return 0
    return before + 1 if before + 1 < limits.QUICK_PIECES else None


class Released(errors.Unreachable):
    """A connection was let go because its reader was slow; the read can be resumed."""


class ObjectResponse(Protocol):
    """The answer to one GetObject, whose body is being read; must be closed."""

    head: ObjectHead

    @property
    def ended(self) -> bool:
        """Whether the whole body is in memory, so that it holds no connection."""

    async def read(self) -> bytes:
        """Returns the next chunk, empty at the end; raises `StorageError` if the body is truncated, and `Released`."""

    def let_go(self, seconds: float) -> None:
        """Allows that the connection is let go once its reader has paused for some seconds."""

    def close(self) -> None:
        """Returns the connection to the pool, or drops it if the body was not read to its end."""


class ObjectRequest(NamedTuple):
    """The parameters of a GetObject: a key, which is never empty, and what is asked for of its object.

    A request that continues a read gets a connection after the requests that begin one.
    """

    key: str
    part: ByteRange | None = None
    if_match: str | None = None
    version: str | None = None
    continues: bool = False


def read_memory(size: int) -> Shares:
    """Returns the places for bodies in a number of bytes of memory."""
    return Shares(
        "memory for a body", max(1, size // limits.HELD_FOR_SLOW), limits.MOST_WAITING_FOR_MEMORY, errors.Busy
    )


class ReadLimits(NamedTuple):
    """When a read of a bucket is resumed: at most `tries` times in a row, and until it has not got on for some seconds.

    A client is slow that lets a full buffer wait for `pause` seconds. `memory` are the places for bodies.
    """

    bucket: str
    memory: Shares
    tries: int
    seconds: float
    pause: float


class ResumedRead(NamedTuple):
    """A read of a key was resumed after some bytes: why, and whether an answer continued it (`ok`), or why none did."""

    cause: Cause
    outcome: str
    key: str
    received: int


Reopen = Callable[[ObjectRequest], Awaitable[ObjectResponse]]


class ResumableObject:
    """An object that S3 is sending; must be closed.

    `reopen` sends the call that continues it, and `notice` is told of each. It holds a place of the memory for bodies
    until it is closed, unless its body was in memory from the start.
    """

    def __init__(
        self, key: str, part: ObjectResponse, reopen: Reopen, allowed: ReadLimits, notice: Callable[[ResumedRead], None]
    ) -> None:
        self._key = key
        self.info = part.head.info
        self.content_range = part.head.content_range
        self._part = part
        self._reopen = reopen
        self._limits = allowed
        self._notice = notice
        self._place: Place | None = None
        self._received = 0  # bytes
        self._quick: int | None = None  # pieces that a slow client took at once; None if the client is not slow
        self._tries = 0  # since it last got on, when it had `_reached` bytes
        self._reached = 0
        self._first = None if part.ended or rest_of(part.head, 0) is None else part.head  # None if it cannot be resumed
        sent = self.info.size if self.content_range is None else self.content_range.length
        self._size = math.inf if sent is None else sent  # bytes

    async def hold(self) -> None:
        """Takes a place of the memory for bodies; raises `Busy` if there is none in time."""
        if not self._part.ended:
            if self._first is not None:
                self._part.let_go(self._limits.pause)
            self._place = await self._limits.memory.take(self._limits.bucket)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yields the body; raises `StorageError` if it is truncated and cannot be continued."""
        opened_at = got_on_at = time.monotonic()
        begun = 0  # bytes, when the last answer began
        while True:
            try:
                chunk = await self._part.read()
            except (errors.Unreachable, errors.TimedOut) as error:
                if self._first is None:
                    raise
                if isinstance(error, Released):
                    self._quick = 0
                await self._resume(error, got_on_at + self._limits.seconds)
                opened_at, begun = time.monotonic(), self._received
                continue
            if chunk:
                self._received += len(chunk)
                if self._received > self._size:
                    raise errors.UpstreamError(f"S3 sends more than the {self._size} bytes that it announced")
                note_wait(time.monotonic() - got_on_at)
                yield chunk
                got_on_at = time.monotonic()
            elif self._first is None or self._received == self._size:
                return
            else:
                early = None
                if self._quick is None or self._received == begun:
                    early = errors.Unreachable("a body ended before its part did")
                else:
                    self._quick = quick_pieces(self._quick, time.monotonic() - opened_at)
                await self._resume(early, time.monotonic() + self._limits.seconds)
                opened_at, begun = time.monotonic(), self._received

    async def close(self) -> None:
        """Returns the connection to the pool, or drops it if the body was not read to its end."""
        place, self._place = self._place, None
        if place is not None:
            self._limits.memory.give_back(place)
        self._part.close()

    async def _resume(self, error: errors.StorageError | None, until: float) -> None:
        """Continues the read with another answer; raises the error that ended the last one if none can."""
        cause: Cause = "slow" if error is None or isinstance(error, Released) else "broken"
        if isinstance(error, errors.TimedOut):
            cause = "stalled"
        version, reason = None, None if isinstance(error, Released) else error
        while True:
            if error is not None and not isinstance(error, Released):
                got_on = self._received - self._reached >= limits.PROGRESS
                self._tries, self._reached = (1, self._received) if got_on else (self._tries + 1, self._reached)
                await self._wait(reason or error, until)
            try:
                await self._continue(version)
            except (errors.PreconditionFailed, errors.ObjectMissing) as changed:
                # The version that was begun can still be read if S3 keeps it.
                version = self._first.version if self._first and version is None else None
                error = None
                if version is None:
                    self._note(cause, "changed")
                    raise errors.UpstreamError(f"an object changed while it was read: {changed}") from changed
            except (errors.Unreachable, errors.TimedOut, errors.Busy) as again:
                self._note(cause, "failed")
                error = again
            except errors.StorageError as final:
                self._note(cause, "refused")
                raise errors.UpstreamError(f"a read cannot be resumed: {final}") from final
            else:
                self._note(cause, "ok")
                return

    def _note(self, cause: Cause, outcome: str) -> None:
        self._notice(ResumedRead(cause, outcome, self._key, self._received))

    async def _wait(self, error: errors.StorageError, until: float) -> None:
        """Pauses before the next try; raises the error if there is none."""
        pause = random.uniform(0, longest_pause(self._tries))  # noqa: S311 - no secret
        if self._tries > self._limits.tries or time.monotonic() + pause > until:
            raise error
        await asyncio.sleep(pause)

    async def _continue(self, version: str | None) -> None:
        """Opens the rest of the body, or a piece of it for a slow client; raises `UpstreamError` if it is another's."""
        first = self._first
        assert first is not None
        asked = rest_of(first, self._received, None if self._quick is None else limits.PIECE_FOR_SLOW)
        assert asked is not None
        self._part.close()
        part = await self._reopen(ObjectRequest(self._key, asked, first.info.etag, version, continues=True))
        if not continues(first, asked, part.head):
            part.close()
            raise errors.UpstreamError("S3 continues a body with another one")
        self._part = part
        if not part.ended:
            part.let_go(self._limits.pause)
