"""A stream of chunks, cut into the parts of an upload."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from tornado_proxy.storage.errors import TooLarge

MOST_PARTS = 10_000
"""As many as S3 takes for one object (S3 API, "Multipart upload limits")."""

_LARGEST_PART = 5 * 1024**3
_PARTS_OF_ONE_SIZE = 1_000


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an object, numbered from 1; `is_last` where nothing follows. Whoever has sent it clears its body."""

    number: int
    body: bytearray
    is_last: bool


def part_size(number: int, smallest: int) -> int:
    """The size of a part: doubled with every thousand, so that an object of unknown length may grow to 5 TiB.

    Parts of the first eight gigabytes are of one size (for a smallest of 8 MiB), as some S3s want them all to be.
    """
    return min(smallest << (number - 1) // _PARTS_OF_ONE_SIZE, _LARGEST_PART)


async def cut(chunks: AsyncIterator[bytes], smallest: int, max_size: int | None) -> AsyncGenerator[Part, None]:
    """The parts of a stream, each complete but the last; there is one even of an empty stream.

    Raises `TooLarge` for more bytes than `max_size`, and for more parts than S3 takes.
    """
    number, body, total = 1, bytearray(), 0
    async for chunk in chunks:
        total += len(chunk)
        if max_size is not None and total > max_size:
            raise TooLarge(f"an upload has more than {max_size} bytes")
        rest = memoryview(chunk)
        while len(body) + len(rest) > (size := part_size(number, smallest)):
            taken = size - len(body)
            body += rest[:taken]
            if number == MOST_PARTS:
                raise TooLarge(f"an upload has more than {MOST_PARTS} parts")
            yield Part(number, body, is_last=False)
            number, body, rest = number + 1, bytearray(), rest[taken:]
        body += rest
    yield Part(number, body, is_last=True)
