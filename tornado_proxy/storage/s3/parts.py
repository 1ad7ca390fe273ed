"""A stream of chunks, cut into the parts of an upload, whose memory all uploads of the process share."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from mmap import mmap

from tornado_proxy.storage.errors import TooLarge

MOST_PARTS = 10_000
"""As many as S3 takes for one object (S3 API, "Multipart upload limits")."""

_LARGEST_PART = 5 * 1024**3
_PARTS_OF_ONE_SIZE = 1_000

# The bytes of an upload that take nothing of the shared memory: a small file never waits for large ones.
_FREE = 64 * 1024

# The most bytes that are copied out of a part at once: small enough to come from memory that is used again.
_READ = 64 * 1024


class UploadMemory:
    """The bytes that the parts of all uploads may take together; those that find too few left wait in order.

    Waiting is back-pressure: nothing is read from the client meanwhile. It belongs to one event loop.
    """

    def __init__(self, size: int) -> None:
        self.free = size
        self._size = size
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, wanted: int) -> int:
        """Take a number of bytes, or all there are where that is less, once they are free; returns what was taken."""
        wanted = min(wanted, self._size)
        if not self._waiting and wanted <= self.free:
            self.free -= wanted
            return wanted
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((wanted, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._waiting.remove((wanted, turn))
                self.give_back(0)
            else:
                self.give_back(wanted)
            raise
        return wanted

    def give_back(self, count: int) -> None:
        """Give bytes back to those that wait."""
        self.free += count
        while self._waiting and self._waiting[0][0] <= self.free:
            wanted, turn = self._waiting.popleft()
            if turn.cancelled():  # its task takes itself off the queue, and finds nothing there
                continue
            self.free -= wanted
            turn.set_result(None)


class PartBody:
    """The bytes of a part, as a file that boto3 reads, once for the signature and once for each attempt to send it.

    They lie in memory that is mapped for them alone: closing gives it back to the system at once, whatever still refers
    to the body (the tracebacks of boto3's exceptions do).
    """

    def __init__(self, memory: UploadMemory) -> None:
        self._memory = memory
        self._taken = 0
        self._bytes: bytearray | mmap = bytearray()
        self._length = 0
        self._position = 0

    def __len__(self) -> int:
        return self._length

    async def append(self, data: memoryview, capacity: int) -> None:
        """Append bytes, after waiting for memory for a whole part where they are more than a few."""
        end = self._length + len(data)
        if isinstance(self._bytes, bytearray):
            if end <= min(_FREE, capacity):
                self._bytes += data
                self._length = end
                return
            self._taken = await self._memory.take(capacity)
            mapped = mmap(-1, capacity)
            mapped[: self._length] = bytes(self._bytes)
            self._bytes = mapped
        self._bytes[self._length : end] = data
        self._length = end

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes, and no more than a block."""
        most = self._length - self._position
        count = min(most, _READ) if size < 0 else min(size, most, _READ)
        data = self._bytes[self._position : self._position + count]
        self._position += count
        return bytes(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._length}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        """The place."""
        return self._position

    def close(self) -> None:
        """Give the memory back; a thread that still reads gets an error. Closing again does nothing."""
        taken, self._taken = self._taken, 0
        if isinstance(self._bytes, mmap):
            self._bytes.close()
        else:
            self._bytes = bytearray()
        self._memory.give_back(taken)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an object, numbered from 1; `is_last` where nothing follows. Its reader closes the body."""

    number: int
    body: PartBody
    is_last: bool


def part_size(number: int, smallest: int) -> int:
    """The size of a part: doubled with every thousand, so that an object of unknown length may grow to 5 TiB.

    Parts of the first eight gigabytes are of one size (for a smallest of 8 MiB), as some S3s want them all to be.
    """
    return min(smallest << (number - 1) // _PARTS_OF_ONE_SIZE, _LARGEST_PART)


async def cut(
    chunks: AsyncIterator[bytes], smallest: int, max_size: int | None, memory: UploadMemory
) -> AsyncGenerator[Part, None]:
    """The parts of a stream, each complete but the last; there is one even of an empty stream.

    Raises `TooLarge` for more bytes than `max_size`, and for more parts than S3 takes.
    """
    number, body, total = 1, PartBody(memory), 0
    try:
        async for chunk in chunks:
            total += len(chunk)
            if max_size is not None and total > max_size:
                raise TooLarge(f"an upload has more than {max_size} bytes")
            rest = memoryview(chunk)
            while len(body) + len(rest) > (size := part_size(number, smallest)):
                if number == MOST_PARTS:
                    raise TooLarge(f"an upload has more than {MOST_PARTS} parts")
                taken = size - len(body)
                await body.append(rest[:taken], size)
                full, body = body, PartBody(memory)
                yield Part(number, full, is_last=False)
                number, rest = number + 1, rest[taken:]
            await body.append(rest, size)
        full, body = body, PartBody(memory)
        yield Part(number, full, is_last=True)
    finally:
        body.close()
