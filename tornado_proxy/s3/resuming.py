"""How a read goes on where it stopped: what to ask S3 for next, and whether an answer continues the first one.

Nothing here reads or waits; `resumable` does. Bytes of two versions of an object are never joined: a continuation must
carry the ETag, the size and exactly the bytes that were asked for.
"""

from __future__ import annotations

from typing import Literal, Self

import msgspec

from tornado_proxy.s3.answers import ObjectHead
from tornado_proxy.s3.limits import (
    LONGEST_RESUME_PAUSE,
    PROGRESS,
    QUICK_PIECES,
    QUICK_WITHIN,
    RESUME_PAUSE,
)
from tornado_proxy.semantics.conditions import ByteRange, ContentRange, strong_match

Cause = Literal["broken", "stalled", "slow"]
"""Why a read is resumed: the connection broke, S3 fell silent, or a slow client let the connection go."""


class FirstAnswer(msgspec.Struct, frozen=True):
    """What the first answer said: the size and the validator of the object, and the positions of the bytes it sends."""

    size: int
    first: int
    last: int
    etag: str
    version: str | None = None

    @classmethod
    def of(cls, head: ObjectHead) -> Self | None:
        """Returns what an answer said; None if nothing tells its object from another one: it has no strong ETag."""
        info, part, version = head
        if info.etag is None or not strong_match(info.etag, info.etag):
            return None
        if part is None:
            return cls(info.size, 0, info.size - 1, info.etag, version)
        assert part.first is not None
        assert part.last is not None
        return cls(info.size, part.first, part.last, info.etag, version)

    def rest(self, received: int, most: int | None = None) -> ByteRange:
        """Returns what is missing after a number of bytes of the body, or only the next `most` bytes of it."""
        start = self.first + received
        return ByteRange(start, self.last if most is None else min(self.last, start + most - 1))

    def is_continued_by(self, asked: ByteRange, head: ObjectHead) -> bool:
        """Whether an answer has the bytes that were asked for, of the same object."""
        return strong_match(self.etag, head.info.etag or "") and head.content_range == ContentRange(
            asked.first, asked.last, self.size
        )


class Tries(msgspec.Struct, frozen=True):
    """The tries to resume a read since it last got on; `reached` is how many bytes it had then."""

    count: int = 0
    reached: int = 0

    def after_failure(self, received: int) -> Tries:
        """Returns the tries with one more, or with the first one if the read got on before it failed."""
        return Tries(1, received) if received - self.reached >= PROGRESS else Tries(self.count + 1, self.reached)

    @property
    def longest_pause(self) -> float:
        """The longest pause before the next try, in seconds; a random part of it keeps readers from coming together."""
        return min(RESUME_PAUSE * 2.0 ** (self.count - 1), LONGEST_RESUME_PAUSE)


def quick_pieces(before: int, seconds: float) -> int | None:
    """Returns how many pieces in a row a client took at once, after one that it took in some seconds.

    None means that it is not slow any more, and can be sent all the rest. Fewer do not tell: a slow client that was
    kept waiting has empty sockets, which take them.
    """
    if seconds > QUICK_WITHIN:
        return 0
    return before + 1 if before + 1 < QUICK_PIECES else None
