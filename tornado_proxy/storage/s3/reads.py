"""Reads of a bucket: what S3 cannot be left to decide is decided here, over three calls that send requests."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Protocol, TypeVar

from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.semantics.conditions import ANY, UNCONDITIONAL, ByteRange, Conditions, is_etag, is_weak
from tornado_proxy.storage.errors import (
    BucketMissing,
    Busy,
    ObjectMissing,
    PreconditionFailed,
    RangeUnsatisfiable,
    StorageError,
    TimedOut,
    UpstreamError,
)
from tornado_proxy.storage.s3.answers import ListAnswer
from tornado_proxy.storage.store import ObjectInfo, Opened, Page, check_conditions, from_token, start_after, to_token

T = TypeVar("T")

_LONGEST_PAGE = 1000
_MOST_LOOKS = 2
_MOST_ANSWERS = 10
_BUCKET_SEEN_FOR = 60.0  # seconds
_LOOKS_IN_TIME = 8  # at the clock; no call is late by more than one


class Deadlines:
    """Bounds the time of calls by one timer for all of them; a timer for each would cost as much as its signature."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends: dict[asyncio.Task[object], float] = {}  # of the calls under way, the first to end first
        self._expired: dict[asyncio.Task[object], int] = {}  # and how often each had been cancelled before
        self._timer: asyncio.TimerHandle | None = None

    async def bound(self, call: Awaitable[T]) -> T:
        """What a call returns; `TimedOut` if S3 does not answer in time, however much it sends meanwhile."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None, "only a task can be cancelled"
        self._ends[task] = loop.time() + self._seconds
        if self._timer is None:
            self._look_later(loop)
        try:
            return await call
        except asyncio.CancelledError as error:
            if task in self._expired and task.uncancel() <= self._expired[task]:
                raise TimedOut(f"S3 did not answer within {self._seconds:g} s") from error
            raise
        finally:
            self._ends.pop(task, None)
            self._expired.pop(task, None)

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(min(self._seconds / _LOOKS_IN_TIME, 1.0), self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for task in list(takewhile(lambda task: self._ends[task] <= now, self._ends)):
            del self._ends[task]
            self._expired[task] = task.cancelling()
            task.cancel()
        self._timer = None
        if self._ends:
            self._look_later(loop)


class ReadCalls(Protocol):
    """The calls that reads are made of: each sends one request (and retries it), and raises `StorageError`.

    Keys are never empty.
    """

    async def get(self, key: str, part: ByteRange | None, if_match: str | None) -> Opened:
        """Sends a GetObject, with `Range` and `If-Match` where they are given, and opens its answer."""
        ...

    async def head(self, key: str) -> ObjectInfo:
        """Sends a HeadObject."""
        ...

    async def list(self, prefix: str, after: str | None, limit: int, continuation: str | None = None) -> ListAnswer:
        """Sends a ListObjectsV2 with the delimiter `/`, `MaxKeys` of `limit`, and the others where they are given."""
        ...

    async def close(self) -> None:
        """Lets go of what the calls hold; an object that is still open may be read to its end."""
        ...


class Reader:
    """Opens, looks at and lists the objects of a bucket.

    S3 itself decides what it decides everywhere alike: an If-Match of one strong ETag. All other conditions of a GET
    are decided here, after a HEAD, and the GET is pinned to the ETag that was decided on. A 304 then costs one call,
    and has all the headers that RFC 9110 15.4.5 asks for, which the answers of S3 have not.
    """

    def __init__(self, calls: ReadCalls, timeout: float = 60.0) -> None:
        self._calls = calls
        self._within = Deadlines(timeout).bound
        self._bucket_seen = -math.inf

    async def open(self, key: ObjectKey, conditions: Conditions, part: ByteRange | None = None) -> Opened:
        """The object's info and body, or the part of it that was asked for."""
        _check(key)
        conditions, part = _effective(conditions, part)
        if not _s3_decides(conditions, part):
            return await self._open_after_a_look(key, conditions, part)
        if_match = conditions.if_match[0] if conditions.if_match else conditions.if_range
        try:
            return await self._get(key, part, if_match if isinstance(if_match, str) else None)
        except PreconditionFailed:
            if conditions.if_range is None:
                raise
            # If-Range does not hold: the whole representation, whatever it is by now (RFC 9110 13.1.5).
            return await self._get(key, None, None)
        except RangeUnsatisfiable:
            # Not every S3 says how many bytes there are, nor takes the suffix of an empty object for the whole of it.
            return await self._open_after_a_look(key, conditions, part)

    async def head(self, key: ObjectKey, conditions: Conditions) -> ObjectInfo:
        """The object's info."""
        _check(key)
        try:
            info = await self._within(self._calls.head(key))
        except ObjectMissing:
            await self._check_bucket()
            raise
        if conditions is not UNCONDITIONAL:
            check_conditions(key, info, conditions)
        return info

    async def list(self, prefix: ObjectKey, token: str | None = None, limit: int = _LONGEST_PAGE) -> Page:
        """A page of what lies directly below a prefix, which is empty or ends in `/`; the marker itself is left out."""
        after = from_token(token)
        start = start_after(prefix, after) if after else None
        # One more than is shown, for the marker.
        most = min(limit + 1, _LONGEST_PAGE)
        answers = [await self._within(self._calls.list(prefix, start, most))]
        found = page(answers, prefix, after, limit)
        while answers[-1].truncated and not found.entries:
            # An answer may be empty, or hold only what was shown before, and the listing goes on all the same.
            if len(answers) == _MOST_ANSWERS or answers[-1].continuation is None:
                raise UpstreamError(f"S3 lists `{prefix}` in {len(answers)} truncated answers without an entry")
            answers.append(await self._within(self._calls.list(prefix, start, most, answers[-1].continuation)))
            found = page(answers, prefix, after, limit)
        return found if found.entries or not after else await self.list(prefix, None, limit)

    async def close(self) -> None:
        """Lets go of what the calls hold; an object that is still open may be read to its end."""
        await self._calls.close()

    async def _check_bucket(self) -> None:
        """Raises `BucketMissing` if the bucket is missing too, which the 404 of a HEAD does not show.

        A listing says it; one a minute is enough.
        """
        if time.monotonic() - self._bucket_seen < _BUCKET_SEEN_FOR:
            return
        try:
            await self._within(self._calls.list("", None, 1))
        except BucketMissing:
            raise
        except StorageError:
            return
        self._bucket_seen = time.monotonic()

    async def _get(self, key: str, part: ByteRange | None, if_match: str | None) -> Opened:
        """Opens an object; raises `UpstreamError` where S3 sends another part than was asked for."""
        found = await self._within(self._calls.get(key, part, if_match))
        sent = found.content_range
        if sent is not None and (part is None or part.resolve(found.info.size) != sent):
            await found.close()
            raise UpstreamError(f"S3 sends `{sent.to_header()}` of `{key}`, which was not asked for")
        return found

    async def _open_after_a_look(self, key: ObjectKey, conditions: Conditions, part: ByteRange | None) -> Opened:
        """Decides by a HEAD, and opens that very representation; once more if it has changed in between."""
        for _ in range(_MOST_LOOKS):
            info = await self.head(key, conditions)
            part = part if part and conditions.range_holds(info.etag, info.last_modified) else None
            wanted = part and part.resolve(info.size)
            if wanted is not None and wanted.first is None:
                raise RangeUnsatisfiable(f"`{key}` has no byte of the range", info.size)
            pin = info.etag if info.etag and is_strong(info.etag) else None
            try:
                return await self._get(key, part if wanted else None, pin)
            except PreconditionFailed:
                continue
        raise Busy(f"`{key}` changes faster than it can be opened")


def _check(key: str) -> None:
    if not key:
        raise ObjectMissing("the empty key names no object")


def _effective(conditions: Conditions, part: ByteRange | None) -> tuple[Conditions, ByteRange | None]:
    """What is left to decide of an object that exists: `If-Match: *` holds, a weak If-Range voids a Range."""
    if conditions.if_match == (ANY,):
        conditions = replace(conditions, if_match=())
    if isinstance(conditions.if_range, str) and not is_strong(conditions.if_range):
        part = None
    if part is None and conditions.if_range is not None:
        conditions = replace(conditions, if_range=None)
    return conditions, part


def _s3_decides(conditions: Conditions, part: ByteRange | None) -> bool:
    """Whether S3 can be left to decide a GET, without a look at the object.

    The last 0 bytes of an object are no range that can be satisfied, but some S3s send the whole object.
    """
    match conditions:
        case Conditions((), (), None, None, None):
            return part != ByteRange(None, 0)
        case Conditions((etag,), (), None, None, None) | Conditions((), (), None, None, str(etag)):
            return is_strong(etag)
    return False


def is_strong(etag: str) -> bool:
    """Whether a member of If-Match is one that S3 compares as RFC 9110 8.8.3.2 asks."""
    return is_etag(etag) and not is_weak(etag)


def page(answers: Sequence[ListAnswer], prefix: str, after: str, limit: int) -> Page:
    """A page of at most `limit` entries after a name, from answers that follow each other.

    An S3 may list the directory of that name once more. Raises `UpstreamError` for an entry outside the prefix.
    """
    listed = [entry for answer in answers for entry in answer.entries]
    stray = next((entry.name for entry in listed if not entry.name.startswith(prefix)), None)
    if stray is not None:
        raise UpstreamError(f"S3 lists `{stray}`, which is not below `{prefix}`")
    below = (replace(entry, name=entry.name.removeprefix(prefix)) for entry in listed)
    # A name that is empty is the marker's; names are compared as S3 does, by their code points (and so by their bytes).
    entries = sorted((entry for entry in below if entry.name > after), key=lambda entry: entry.name)
    shown = tuple(entries[:limit])
    more = answers[-1].truncated or len(entries) > limit
    return Page(shown, to_token(shown[-1].name) if more and shown else None, exists=bool(listed))
