"""Reads of a bucket: decisions that S3 does not make reliably are made here, on top of three calls."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.s3 import limits
from tornado_proxy.s3.answers import ListAnswer
from tornado_proxy.s3.resumable import ObjectRequest, ObjectResponse, ReadLimits, ResumableObject, ResumedRead
from tornado_proxy.semantics.conditions import ANY, UNCONDITIONAL, ByteRange, Conditions, is_etag
from tornado_proxy.storage import errors
from tornado_proxy.storage.store import Entry, ObjectInfo, OpenedObject, Page, start_after

if TYPE_CHECKING:
    from tornado_proxy.s3.boto3_reads import Boto3Reads
    from tornado_proxy.s3.loop_reads import LoopReads

T = TypeVar("T")


class Deadlines:
    """Limits the time of calls by one timer for all: time-outs of asyncio, one for each, take longer than signing."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends: dict[asyncio.Task[object], float] = {}  # of the running calls, the earliest first
        self._expired: dict[asyncio.Task[object], int] = {}  # with the number of their earlier cancellations
        self._timer: asyncio.TimerHandle | None = None

    async def bound(self, call: Awaitable[T]) -> T:
        """Returns the result of a call; raises `TimedOut` if it takes too long, even if S3 keeps sending."""
        task = asyncio.current_task()
        assert task is not None, "only a task can be cancelled"
        self._ends[task] = time.monotonic() + self._seconds
        if self._timer is None:
            self._look_later()
        try:
            return await call
        except asyncio.CancelledError as error:
            if task in self._expired and task.uncancel() <= self._expired[task]:
                raise errors.TimedOut(f"S3 did not answer within {self._seconds:g} s") from error
            raise
        finally:
            self._ends.pop(task, None)
            self._expired.pop(task, None)

    def _look_later(self) -> None:
        seconds = min(self._seconds * limits.LATE_BY, 1.0)
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        for task in [task for task, end in self._ends.items() if end <= time.monotonic()]:
            del self._ends[task]
            self._expired[task] = task.cancelling()
            task.cancel()
        if self._ends:
            self._look_later()


class Reader:
    """Opens, examines and lists the objects of a bucket.

    S3 evaluates only what all S3s evaluate alike: an If-Match with one strong ETag. All other conditions of a GET are
    evaluated here, after a HEAD, and the GET is pinned to the ETag that the HEAD returned. Clients mostly have what is
    there, so that an If-None-Match or If-Modified-Since needs the HEAD alone; a 304 of S3 would leave out headers that
    RFC 9110 15.4.5 requires.

    `notice` is told of each resumed read.
    """

    def __init__(
        self,
        calls: LoopReads | Boto3Reads,
        timeout: float,
        allowed: ReadLimits,
        notice: Callable[[ResumedRead], None] = lambda _: None,
    ) -> None:
        self._calls = calls
        self._limits = allowed
        self._notice = notice
        self._within = Deadlines(timeout).bound
        self._bucket_seen = -math.inf

    async def open(self, key: ObjectKey, conditions: Conditions, part: ByteRange | None = None) -> OpenedObject:
        """Opens an object or a part of it."""
        _check(key)
        if conditions is UNCONDITIONAL and part is None:
            return await self._get(ObjectRequest(key))
        # An existing object decides some conditions: `If-Match: *` is true; a weak If-Range voids a Range.
        if conditions.if_match == (ANY,):
            conditions = replace(conditions, if_match=())
        if isinstance(conditions.if_range, str) and not is_strong(conditions.if_range):
            part = None
        if part is None and conditions.if_range is not None:
            conditions = replace(conditions, if_range=None)
        if not _s3_decides(conditions, part):
            return await self._open_after_head(key, conditions, part)
        expected = conditions.if_match[0] if conditions.if_match else conditions.if_range
        if_match = expected if isinstance(expected, str) else None
        try:
            opened = await self._get(ObjectRequest(key, part, if_match))
        except errors.PreconditionFailed:
            if conditions.if_range is None:
                # Not every S3 writes its ETags as its clients know them.
                return await self._open_after_head(key, conditions, part)
            # If-Range is false: send the whole current object (RFC 9110 13.1.5).
            return await self._get(ObjectRequest(key))
        except errors.RangeUnsatisfiable:
            # Not every S3 sends the size here, or treats a suffix of an empty object as the whole object.
            return await self._open_after_head(key, conditions, part)
        try:
            errors.check_conditions(key, opened.info, conditions)  # which not every S3 does
        except errors.StorageError:
            await opened.close()
            raise
        return opened

    async def head(self, key: ObjectKey, conditions: Conditions) -> ObjectInfo:
        """Returns the headers of an object."""
        _check(key)
        try:
            info = await self._within(self._calls.head(key))
        except errors.ObjectMissing:
            await self._check_bucket()
            raise
        errors.check_conditions(key, info, conditions)
        return info

    async def list(self, prefix: ObjectKey, after: str | None = None, limit: int = limits.LONGEST_PAGE) -> Page:
        """Returns a page of the entries directly below a prefix, without its own marker object."""
        start = start_after(prefix, after) if after else None
        # One more than shown, for the marker.
        most = min(limit + 1, limits.LONGEST_PAGE)
        answers = [await self._within(self._calls.list(prefix, start, most))]
        found = page(answers, prefix, after or "", limit)
        while answers[-1].truncated and not found.entries:
            # A truncated answer may be empty, or repeat only what the last page showed.
            if len(answers) == limits.MOST_LIST_ANSWERS or answers[-1].continuation is None:
                raise errors.UpstreamError(f"S3 lists `{prefix}` in {len(answers)} truncated answers without an entry")
            answers.append(await self._within(self._calls.list(prefix, start, most, answers[-1].continuation)))
            found = page(answers, prefix, after or "", limit)
        return found

    async def close(self) -> None:
        """Closes the calls; open objects can be read to their end."""
        await self._calls.close()

    async def _check_bucket(self) -> None:
        """Raises `BucketMissing` if the bucket is missing, which the 404 of a HEAD does not show.

        It lists the bucket, at most once a minute.
        """
        if time.monotonic() - self._bucket_seen < limits.BUCKET_SEEN_FOR:
            return
        try:
            await self._within(self._calls.list("", None, 1))
        except errors.BucketMissing:
            raise
        except errors.StorageError:
            return
        self._bucket_seen = time.monotonic()

    async def _get(self, request: ObjectRequest) -> OpenedObject:
        """Opens an object; raises `UpstreamError` if S3 sends another part than requested."""
        answer = await self._answer(request)
        key, part, sent = request.key, request.part, answer.head.content_range
        if sent is not None and (part is None or part.resolve(answer.head.info.size) != sent):
            answer.close()
            raise errors.UpstreamError(f"S3 sends `{sent.to_header()}` of `{key}`, which was not requested")
        opened = ResumableObject(key, answer, self._open_part, self._limits, self._notice)
        if not answer.ended:
            try:
                await opened.hold()
            except BaseException:
                await opened.close()
                raise
        return opened

    async def _answer(self, request: ObjectRequest) -> ObjectResponse:
        """Sends a GET; one without a condition again if S3 refuses it because the object is being replaced."""
        for _ in range(limits.MOST_READ_TRIES):
            try:
                return await self._open_part(request)
            except errors.PreconditionFailed:
                if request.if_match is not None:
                    raise
        raise errors.Busy(f"`{request.key}` changes faster than it can be opened")

    async def _open_part(self, request: ObjectRequest) -> ObjectResponse:
        return await self._within(self._calls.get(request))

    async def _open_after_head(self, key: ObjectKey, conditions: Conditions, part: ByteRange | None) -> OpenedObject:
        """Evaluates the conditions after a HEAD and opens the same version, or tries again if it has changed."""
        for _ in range(limits.MOST_READ_TRIES):
            info = await self.head(key, conditions)
            part = part if part and conditions.range_holds(info.etag, info.last_modified) else None
            wanted = part and part.resolve(info.size)
            if wanted is not None and wanted.first is None:
                raise errors.RangeUnsatisfiable(f"`{key}` has no byte of the range", info.size)
            pin = info.etag if info.etag and is_strong(info.etag) else None
            try:
                return await self._get(ObjectRequest(key, part if wanted else None, pin))
            except errors.PreconditionFailed:
                continue
        raise errors.Busy(f"`{key}` changes faster than it can be opened")


def _check(key: str) -> None:
    if not key:
        raise errors.ObjectMissing("the empty key names no object")


def _s3_decides(conditions: Conditions, part: ByteRange | None) -> bool:
    """Whether S3 can evaluate the conditions of a GET without a HEAD before.

    A range of the last 0 bytes cannot be satisfied, but some S3s send the whole object.
    """
    if conditions.if_none_match or part == ByteRange(None, 0):
        return False
    match conditions:
        case Conditions((), (), None, None, None):
            return True
        case Conditions((etag,), (), None, None, None) | Conditions((), (), None, None, str(etag)):
            return is_strong(etag)
    return False


def is_strong(etag: str) -> bool:
    """Whether an ETag is valid and strong, so that S3 compares it as RFC 9110 8.8.3.2 requires.

    S3 makes ETags of ASCII only. boto3 would sign some other characters in another form than it sends.
    """
    return etag.startswith('"') and etag.isascii() and is_etag(etag)


def page(answers: Sequence[ListAnswer], prefix: str, after: str, limit: int) -> Page:
    """Returns a page of at most `limit` entries after a name, from consecutive answers.

    Some S3s list the directory of that name again. Raises `UpstreamError` for an entry outside the prefix.
    """
    listed = [entry for answer in answers for entry in answer.entries]
    stray = next((entry.name for entry in listed if not entry.name.startswith(prefix)), None)
    if stray is not None:
        raise errors.UpstreamError(f"S3 lists `{stray}`, which is not below `{prefix}`")
    # The empty name is the marker.
    below = [
        Entry(name, entry.size, entry.last_modified, entry.etag)
        for entry in listed
        if (name := entry.name.removeprefix(prefix)) > after
    ]
    # S3 sorts by bytes of UTF-8, which is the order of code points.
    entries = sorted(below, key=lambda entry: entry.name)
    shown = tuple(entries[:limit])
    more = answers[-1].truncated or len(entries) > limit
    is_marked = any(entry.name == prefix for entry in listed)
    return Page(shown, shown[-1].name if more and shown else None, is_marked)
