"""Multipart uploads: cut from a stream, with two parts in memory, completed at the end or aborted.

All uploads of a process share the memory for their parts.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from concurrent.futures import wait
from contextlib import suppress
from functools import partial
from hashlib import md5
from io import BytesIO
from itertools import takewhile
from math import inf
from typing import TYPE_CHECKING, Any, Self

import msgspec

from tornado_proxy.routing.limits import MOST_PARTS
from tornado_proxy.s3 import limits
from tornado_proxy.s3.executor import BlockingCall, Executor, Parameters, ask
from tornado_proxy.s3.failures import translated
from tornado_proxy.storage.errors import Busy, ObjectMissing, StorageError, TooLarge, UploadMissing, UpstreamError
from tornado_proxy.storage.store import UploadedPart, Write
from tornado_proxy.wire.shares import CLIENT, Line

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_s3.type_defs import CompleteMultipartUploadOutputTypeDef


class UploadMemory:
    """The memory in bytes for the parts of all uploads, taken as their bytes arrive; an upload that finds none waits.

    Nothing is read from a waiting client. The parts for one bucket have seven eighths of the memory, those of a client
    half, and the oldest of these may exceed that. Only the oldest part of all may take more than there is. Younger
    parts leave some to older ones, so that those become full first. The memory belongs to one event loop.
    """

    def __init__(self, size: int) -> None:
        self.free = size
        self._size = size
        self._parts: dict[PartBody, None] = {}  # that have some, the oldest first
        # A part gives all back as it is closed.
        self._line: Line[tuple[PartBody, int]] = Line(self._give, lambda _: None)

    async def take(self, part: PartBody, count: int) -> None:
        """Takes a number of bytes for a part, which gives them back; raises `Busy` if none become free in time."""
        if self._give((part, count)):
            return
        try:
            await self._line.wait(part.bucket, part, (part, count), limits.MEMORY_WITHIN)
        except TimeoutError:
            raise Busy(f"no memory for an upload was free for {limits.MEMORY_WITHIN:g} seconds") from None

    def give_back(self, part: PartBody) -> None:
        """Gives the bytes of a part to waiting uploads."""
        if part in self._parts:
            del self._parts[part]
            self.free += part.taken
            self.serve()

    def serve(self) -> None:
        """Gives to those who wait what is free for them."""
        while self._line.serve():
            pass

    def _give(self, asked: tuple[PartBody, int]) -> bool:
        part, count = asked
        if not self._has_room(part, count):
            return False
        self._parts[part] = None
        self.free -= count
        part.taken += count
        return True

    def _has_room(self, part: PartBody, count: int) -> bool:
        older = list(takewhile(lambda each: each is not part, self._parts))
        before = [each for each in older if each.client == part.client]
        if before:
            most = self._size * limits.SHARE_OF_CLIENT if part.client else inf
            held = sum(each.taken for each in self._parts if each.client == part.client)
            wanted = before[0].capacity - before[0].taken + sum(each.wanted for each in before[1:])
            if held + count + min(wanted, self._size * limits.LEFT_IN_SHARE) > most:
                return False
        firsts = {each.client: each for each in reversed(older)}.values()  # of their clients
        if not firsts:
            return True
        held_for: Counter[str] = Counter()
        for each in self._parts:
            held_for[each.bucket] += each.taken
        most = self._size * limits.SHARE_OF_BUCKET
        # What is of no bucket has no limited share.
        rooms = {each.bucket: most - held_for[each.bucket] if each.bucket else inf for each in (*firsts, part)}
        # What the bucket of a part has no room for is left to nobody.
        left = sum(min(each.wanted, max(0.0, rooms[each.bucket])) for each in firsts)
        return count + min(left, self._size * limits.LEFT_TO_OLDER) <= min(self.free, rooms[part.bucket])


class PartBody(BytesIO):
    """The bytes of a part as a file for boto3, which reads it once for the signature and once for each attempt.

    `capacity` is the most bytes that it may have, and `taken` what it has of the shared memory; the buffer may have an
    eighth more, since it grows in steps. A thread that still reads it once it is closed gets an error.
    """

    def __init__(self, memory: UploadMemory, bucket: str = "") -> None:
        super().__init__()
        self.client = CLIENT.get()
        self.bucket = bucket
        self.capacity = 0
        self.taken = 0
        self._length = 0
        self._memory = memory

    def __len__(self) -> int:
        return self._length

    @property
    def wanted(self) -> int:
        """The bytes of the shared memory that other parts leave to it."""
        return min(limits.TRUST * self.taken, self.capacity - self.taken)

    async def append(self, data: memoryview, capacity: int) -> None:
        """Appends bytes; with more than 64 KiB, all of them are of the shared memory, which it may wait for."""
        end = self._length + len(data)
        if end > limits.UPLOAD_WITHOUT_MEMORY:
            self.capacity = capacity
            await self._memory.take(self, end - self.taken)
        self.seek(0, os.SEEK_END)
        self._length += self.write(data)
        self.seek(0)

    def end(self) -> None:
        """Notes that no more bytes come, so that nothing is left to it any more."""
        self.capacity = self.taken
        self._memory.serve()

    def etag(self) -> str:
        """Returns the ETag of an object of these bytes: their hash, unless S3 makes another one."""
        return f'"{md5(self.getbuffer(), usedforsecurity=False).hexdigest()}"'

    def close(self) -> None:
        """Releases the memory; closing again has no effect."""
        try:
            super().close()
        finally:  # a thread may have the buffer at this moment
            self._memory.give_back(self)


class Part(msgspec.Struct, frozen=True):
    """A part of an object, numbered from 1; its consumer closes the body."""

    number: int
    body: PartBody
    is_last: bool


def part_size(smallest: int, write: Write) -> int:
    """Returns the size of the parts of a file, which is that of all but the last, as some S3s require.

    It lets 10,000 parts hold the file, or one of unknown size that is as large as allowed. A file that is announced
    with at most 8 MiB is one part.
    """
    if write.announced is not None and write.announced <= limits.WHOLE_UPLOAD:
        return max(smallest, limits.WHOLE_UPLOAD)
    largest = write.max_size or 0 if write.announced is None else write.announced
    return max(smallest, min(-(-largest // (MOST_PARTS - 1)), limits.LARGEST_EVEN_PART))


async def cut(
    chunks: AsyncIterator[bytes], smallest: int, write: Write, memory: UploadMemory, bucket: str = ""
) -> AsyncGenerator[Part, None]:
    """Yields the parts of a stream; all but the last are full. An empty stream has one part.

    Raises `TooLarge` for more than `max_size` bytes, or more than the parts that S3 allows can hold.
    """
    number, body, total, size = 1, PartBody(memory, bucket), 0, part_size(smallest, write)
    too_large = f"the upload has more than {MOST_PARTS} parts of {size} bytes, which `bucket.partSize` can raise"
    if (write.announced or 0) > MOST_PARTS * size:
        raise TooLarge(too_large)
    try:
        async for chunk in chunks:
            total += len(chunk)
            if write.max_size is not None and total > write.max_size:
                raise TooLarge(f"the upload has more than {write.max_size} bytes")
            rest = memoryview(chunk)
            while len(body) + len(rest) > size:
                if number == MOST_PARTS:
                    raise TooLarge(too_large)
                taken = size - len(body)
                await body.append(rest[:taken], size)
                full, body = body, PartBody(memory, bucket)
                yield Part(number, full, is_last=False)
                number, rest = number + 1, rest[taken:]
            await body.append(rest, size)
        body.end()
        full, body = body, PartBody(memory, bucket)
        yield Part(number, full, is_last=True)
    finally:
        body.close()


_log = logging.getLogger(__name__)


class Upload:
    """A multipart upload in S3; complete it or abort it, as the context of the upload does if it fails."""

    def __init__(self, client: S3Client, executor: Executor, names: Parameters) -> None:
        self._client = client
        self._executor = executor
        self._names = names
        self._pending: deque[tuple[Part, BlockingCall[UploadedPart]]] = deque()
        self._sent: list[UploadedPart] = []
        self._completing: BlockingCall[CompleteMultipartUploadOutputTypeDef] | None = None

    @classmethod
    async def begin(cls, client: S3Client, executor: Executor, target: Parameters, described: Parameters) -> Upload:
        """Begins an upload to `target` (`Bucket` and `Key`); `described` are other parameters of the object."""

        def undo(answer: Parameters) -> None:
            if "UploadId" in answer:
                _abort(client, {**target, "UploadId": answer["UploadId"]}, (), 0)

        create = partial(ask, client.create_multipart_upload, **target, **described)
        with translated(f"beginning an upload of `{target['Key']}`"):
            answer = await executor.run(create, undo, is_upload=True)
        if "UploadId" not in answer:
            raise UpstreamError(f"S3 begins an upload of `{target['Key']}` without an UploadId")
        return cls(client, executor, {**target, "UploadId": answer["UploadId"]})

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        """Aborts an upload that fails, so that no part remains in S3."""
        if kind is not None:
            await self.abort()

    @property
    def id(self) -> str:
        """The ID of the upload in S3."""
        return str(self._names["UploadId"])

    async def send(self, part: Part) -> None:
        """Begins to send a part; returns when the next one may be filled. Raises the error of an earlier part."""
        call = self._executor.submit(partial(self._send, part), is_upload=True)
        self._pending.append((part, call))
        # Closed at once and not in order, because the upload itself may wait for this memory.
        loop = asyncio.get_running_loop()
        call.ended.add_done_callback(lambda _: _close(part, loop))
        while len(self._pending) >= limits.PARTS_IN_MEMORY:
            await self._await_oldest()

    async def finish(self) -> Sequence[UploadedPart]:
        """Returns the parts once S3 has stored all of them; raises the error of one that it has not."""
        while self._pending:
            await self._await_oldest()
        return self._sent

    async def complete(self, precondition: Parameters) -> Parameters:
        """Turns the parts into an object if the precondition is true; returns S3's answer."""
        named: Parameters = {**self._names, **precondition, "MultipartUpload": named_parts(self._sent)}
        self._completing = self._executor.submit(
            partial(ask, self._client.complete_multipart_upload, **named), is_upload=True
        )
        with translated(f"completing an upload of `{self._names['Key']}`"):
            return await self._completing.result(max(limits.COMPLETION_WITHIN, self._executor.timeout))

    async def abort(self) -> None:
        """Aborts the upload in a thread, which continues if the caller is cancelled, or S3 does not answer soon."""
        calls: list[BlockingCall[Any]] = [
            *(call for _, call in self._pending),
            *([self._completing] if self._completing else []),
        ]
        for call in calls:
            call.outcome.cancel()
        for part, _ in self._pending:
            part.body.close()
        abort = partial(_abort, self._client, self._names, calls, self._executor.timeout)
        await asyncio.wait([asyncio.wrap_future(self._executor.submit(abort).ended)], timeout=limits.ABORT_WITHIN)

    async def _await_oldest(self) -> None:
        part, call = self._pending[0]
        with translated(f"uploading a part of `{self._names['Key']}`"):
            self._sent.append(await call.result(self._executor.timeout))
        await asyncio.shield(asyncio.wrap_future(call.ended))
        part.body.close()  # its thread may not have run so far as to ask for it
        self._pending.popleft()

    def _send(self, part: Part) -> UploadedPart:
        """Sends a part; runs in a thread."""
        sent: Parameters = {"PartNumber": part.number, "Body": part.body}
        answer = ask(self._client.upload_part, **self._names, **sent)
        if "ETag" not in answer:
            raise UpstreamError(f"S3 accepts part {part.number} without an ETag")
        return UploadedPart(part.number, len(part.body), answer["ETag"], answer.get("ChecksumCRC32"))


def named_parts(parts: Sequence[UploadedPart]) -> Parameters:
    """Returns the parts as a completion names them."""
    summed = [(each, {"ChecksumCRC32": each.crc32} if each.crc32 else {}) for each in parts]
    return {"Parts": [{"PartNumber": each.number, "ETag": each.etag, **crc32} for each, crc32 in summed]}


_MD5 = re.compile('"?([0-9a-f]{32})"?')


def whole_etag(parts: Sequence[UploadedPart]) -> str | None:
    """Returns the ETag of the object that parts make: a hash of their hashes; None if their ETags are no hashes.

    S3 API, "Checking object integrity in Amazon S3"; other S3s do the same. Where S3 makes another ETag, such as with a
    key of KMS, no object has this one.
    """
    found = [_MD5.fullmatch(each.etag) for each in parts]
    hashes = [bytes.fromhex(each[1]) for each in found if each]
    if len(hashes) < len(parts):
        return None
    return f'"{md5(b"".join(hashes), usedforsecurity=False).hexdigest()}-{len(parts)}"'


def _close(part: Part, loop: asyncio.AbstractEventLoop) -> None:
    """Closes the body of a part on its loop; may be called from any thread."""
    with suppress(RuntimeError):  # the loop has ended, so nobody waits for memory
        loop.call_soon_threadsafe(part.body.close)


def _abort(client: S3Client, names: Parameters, calls: Sequence[BlockingCall[Any]], timeout: float) -> None:
    """Aborts an upload, in a thread, when no part is in transit any more: a part that arrives later would remain."""
    wait([call.ended for call in calls], timeout)
    for call in calls:
        call.cut()
    try:
        # Ceph says of an unknown upload that its key does not exist.
        with suppress(ObjectMissing, UploadMissing), translated(f"aborting an upload of `{names['Key']}`"):
            client.abort_multipart_upload(**names)
    except StorageError as error:
        _log.warning("parts of an aborted upload may remain in S3: %s", error)
