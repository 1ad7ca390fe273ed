from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from tornado_proxy.s3.answers import ListAnswer, ObjectHead
from tornado_proxy.s3.reads import Deadlines, Reader, page
from tornado_proxy.s3.resumable import ReadLimits, read_memory
from tornado_proxy.semantics.conditions import ByteRange, Conditions
from tornado_proxy.storage.errors import (
    AccessDenied,
    BucketMissing,
    Busy,
    NotModified,
    ObjectMissing,
    PreconditionFailed,
    RangeUnsatisfiable,
    StorageError,
    TimedOut,
    UpstreamError,
)
from tornado_proxy.storage.store import Entry, ObjectInfo

NOW = datetime(2026, 5, 1, tzinfo=UTC)
INFO = ObjectInfo(10, '"1"', NOW)
PART = ByteRange(2, 5)
MIB = 1024**2
HEAD = ObjectHead(INFO, None, None)


@dataclass
class OpenedObject:
    """An opened object without a body."""

    head: ObjectHead = HEAD
    is_closed: bool = False
    ended: bool = True

    async def read(self) -> bytes:
        """Returns nothing."""
        return b""

    def close(self) -> None:
        """Sets `is_closed`."""
        self.is_closed = True


LIMITS = ReadLimits("bucket", read_memory(MIB), tries=8, seconds=60.0, pause=2.0)


def reader_of(calls: RecordedCalls) -> Reader:
    return Reader(calls, 60.0, LIMITS)


OPENED = OpenedObject()
EARLIER = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass
class RecordedCalls:
    """Calls of S3 that record their arguments and return or raise the given answers in turn."""

    answers: list[object]
    recorded: list[tuple] = field(default_factory=list)

    async def _answer(self, *call):
        self.recorded.append(call)
        answer = self.answers.pop(0)
        if isinstance(answer, StorageError):
            raise answer
        return answer

    async def get(self, request):
        """Records a GET and returns the next answer."""
        return await self._answer("get", request.part, request.if_match)

    async def head(self, key):
        """Records a HEAD and returns the next answer."""
        return await self._answer("head")

    async def list(self, prefix, after, limit, continuation=None):
        """Records a listing and returns the next answer."""
        return await self._answer("list", after, limit, *([continuation] if continuation else []))

    async def close(self) -> None:
        """Records that it was called."""
        self.recorded.append(("close",))


@pytest.mark.parametrize(
    ("conditions", "part", "expected"),
    [
        (Conditions(), None, [("get", None, None)]),
        (Conditions(), PART, [("get", PART, None)]),
        (Conditions(if_match=("*",)), None, [("get", None, None)]),
        (Conditions(if_match=('"1"',)), None, [("get", None, '"1"')]),
        (Conditions(if_range='"1"'), PART, [("get", PART, '"1"')]),
        (Conditions(if_range='W/"1"'), PART, [("get", None, None)]),
        (Conditions(if_range='"1"'), None, [("get", None, None)]),
        (Conditions(if_none_match=('"2"',)), PART, [("head",), ("get", PART, '"1"')]),
        (Conditions(if_modified_since=EARLIER), None, [("head",), ("get", None, '"1"')]),
        (Conditions(if_none_match=('"2"', '"3"')), None, [("head",), ("get", None, '"1"')]),
        (Conditions(if_none_match=("2",)), None, [("head",), ("get", None, '"1"')]),
        (Conditions(if_none_match=('W/"\xa0"',)), None, [("head",), ("get", None, '"1"')]),
        (Conditions(if_match=('"1"', '"2"')), PART, [("head",), ("get", PART, '"1"')]),
        (Conditions(if_match=('"1"',), if_modified_since=EARLIER), None, [("head",), ("get", None, '"1"')]),
        (Conditions(if_range=EARLIER), PART, [("head",), ("get", None, '"1"')]),
    ],
)
async def test_conditions_are_those_of_s3_or_decided_after_a_head(conditions, part, expected):
    """One strong ETag in If-Match or If-Range is a condition of the GET; others need a HEAD, whose ETag the GET has."""
    calls = RecordedCalls([INFO, OPENED][-len(expected) :])
    assert (await reader_of(calls).open("a", conditions, part)).info is INFO
    assert calls.recorded == expected


@pytest.mark.parametrize(
    ("conditions", "part", "error"),
    [
        (Conditions(if_none_match=('"1"', '"2"')), None, NotModified),
        (Conditions(if_none_match=('W/"1"',)), None, NotModified),
        (Conditions(if_modified_since=NOW), None, NotModified),
        (Conditions(if_match=('"2"', '"3"')), None, PreconditionFailed),
        (Conditions(if_match=('"\x85"',)), None, PreconditionFailed),
        (Conditions(), ByteRange(None, 0), RangeUnsatisfiable),
        (Conditions(if_match=('"1"',)), ByteRange(None, 0), RangeUnsatisfiable),
        (Conditions(if_range='"1"'), ByteRange(None, 0), RangeUnsatisfiable),
    ],
)
async def test_a_request_that_fails_after_the_head_makes_one_call(conditions, part, error):
    """A 304, 412 or 416 needs a HEAD and no GET."""
    calls = RecordedCalls([INFO])
    with pytest.raises(error):
        await reader_of(calls).open("a", conditions, part)
    assert calls.recorded == [("head",)]


async def test_an_object_that_is_being_replaced_is_opened_again():
    """Ceph fails a GET without a condition for an object that changes meanwhile; the next one finds the new object."""
    calls = RecordedCalls([PreconditionFailed("409 ConcurrentModification"), OPENED])
    assert (await reader_of(calls).open("a", Conditions(), PART)).info is INFO
    assert calls.recorded == [("get", PART, None)] * 2


async def test_an_object_that_is_always_being_replaced_is_busy():
    """No condition is false that the client did not set."""
    calls = RecordedCalls([PreconditionFailed("409 ConcurrentModification")] * 2)
    with pytest.raises(Busy, match="changes faster than it can be opened"):
        await reader_of(calls).open("a", Conditions())
    assert calls.answers == []


async def test_a_condition_that_s3_ignores_is_evaluated_here():
    """An object that S3 sends although it is another one is closed, and the answer is a 412."""
    opened = OpenedObject()
    with pytest.raises(PreconditionFailed):
        await reader_of(RecordedCalls([opened])).open("a", Conditions(if_match=('"2"',)))
    assert opened.is_closed


async def test_an_object_that_changes_again_is_busy():
    """`open` raises `Busy` if the object changes between HEAD and GET twice."""
    calls = RecordedCalls([INFO, PreconditionFailed("changed")] * 2)
    with pytest.raises(Busy):
        await reader_of(calls).open("a", Conditions(if_none_match=('"0"', '"2"')))


async def test_a_truncated_answer_without_entries_is_followed():
    """A listing continues at S3's continuation token if an answer has only the marker, or no entry."""
    calls = RecordedCalls(
        [
            ListAnswer((Entry("d/"),), truncated=True, continuation="1"),
            ListAnswer((), truncated=True, continuation="2"),
            ListAnswer((Entry("d/a"),)),
        ]
    )
    page = await reader_of(calls).list("d/", None, 5)
    assert ([entry.name for entry in page.entries], page.next_after) == (["a"], None)
    assert calls.recorded == [("list", None, 6), ("list", None, 6, "1"), ("list", None, 6, "2")]


@pytest.mark.parametrize("continuation", ["again", None])
async def test_truncated_answers_without_entries_end(continuation):
    """Truncated answers without entries raise an error after ten calls, or at once without a continuation token."""
    calls = RecordedCalls([ListAnswer((), truncated=True, continuation=continuation) for _ in range(20)])
    with pytest.raises(UpstreamError, match="truncated answers without an entry"):
        await reader_of(calls).list("d/", None, 5)
    assert len(calls.recorded) == (10 if continuation else 1)


async def test_a_head_of_a_missing_bucket_is_not_a_missing_object():
    """After a 404 of a HEAD, which has no error code, a listing shows whether the bucket is missing."""
    calls = RecordedCalls([ObjectMissing("404"), BucketMissing("NoSuchBucket")])
    with pytest.raises(BucketMissing):
        await reader_of(calls).head("a", Conditions())


@pytest.mark.parametrize(("answer", "lists"), [(ListAnswer(()), 1), (AccessDenied("no"), 2)])
async def test_an_existing_bucket_is_not_checked_again(answer, lists):
    """Missing objects cause one listing a minute, unless the listing is denied and so does not prove that the bucket exists."""
    calls = RecordedCalls([ObjectMissing("404"), answer, ObjectMissing("404"), answer])
    reader = reader_of(calls)
    for _ in range(2):
        with pytest.raises(ObjectMissing):
            await reader.head("a", Conditions())
    assert [call[0] for call in calls.recorded].count("list") == lists


# Time


async def _slow(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "answered"


async def test_a_call_that_takes_too_long_ends():
    """A call that exceeds its time is cancelled, the error has the limit, and its task can make another call."""
    reader = Reader(RecordedCalls([INFO]), 0.05, LIMITS)
    with pytest.raises(TimedOut, match=r"S3 did not answer within 0\.05 s"):
        await reader._within(_slow(60))
    assert await reader.head("a", Conditions()) == INFO


async def test_each_call_has_its_own_time():
    """A call that keeps its time returns, even if another exceeds its own; one that is cancelled is not late."""
    deadlines = Deadlines(0.4)
    late, cancelled = (asyncio.ensure_future(deadlines.bound(_slow(60))) for _ in range(2))
    await asyncio.sleep(0.3)
    cancelled.cancel()
    assert await deadlines.bound(_slow(0.3)) == "answered"
    with pytest.raises(TimedOut):
        await late
    with pytest.raises(asyncio.CancelledError):
        await cancelled


async def test_a_call_can_be_cancelled_as_it_times_out():
    """A call that is cancelled while its time ends raises `CancelledError`."""

    async def cancelled() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            call.cancel()

    call = asyncio.ensure_future(Deadlines(0.05).bound(cancelled()))
    with pytest.raises(asyncio.CancelledError):
        await call


def test_an_entry_outside_the_prefix_is_an_error():
    """A key that is not below the requested prefix raises an error."""
    with pytest.raises(UpstreamError, match="`e/a`, which is not below `d/`"):
        page([ListAnswer((Entry("e/a", 1),))], "d/", "", 5)
