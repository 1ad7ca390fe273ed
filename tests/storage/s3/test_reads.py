from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from tornado_proxy.semantics.conditions import ByteRange, Conditions, ContentRange
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
from tornado_proxy.storage.s3.answers import ListAnswer
from tornado_proxy.storage.s3.boto3_reads import list_answer
from tornado_proxy.storage.s3.reads import Deadlines, Reader, page
from tornado_proxy.storage.store import Entry, ObjectInfo, Page, from_token

NOW = datetime(2026, 5, 1, tzinfo=UTC)
THERE = ObjectInfo(10, '"1"', NOW)
PART = ByteRange(2, 5)


@dataclass
class Object:
    """An object opened, whose body is not read."""

    info: ObjectInfo = THERE
    content_range: ContentRange | None = None
    is_closed: bool = False

    async def close(self) -> None:
        """Note it."""
        self.is_closed = True


OPENED = Object()


@dataclass
class Calls:
    """Calls that are written down, and answer what they are given in turn."""

    answers: list[object]
    made: list[tuple] = field(default_factory=list)

    async def _answer(self, *call):
        self.made.append(call)
        answer = self.answers.pop(0)
        if isinstance(answer, StorageError):
            raise answer
        return answer

    async def get(self, key, part, if_match):
        """The next answer."""
        return await self._answer("get", part, if_match)

    async def head(self, key):
        """The next answer."""
        return await self._answer("head")

    async def list(self, prefix, after, limit, continuation=None):
        """The next answer."""
        return await self._answer("list", after, limit, *([continuation] if continuation else []))

    async def close(self) -> None:
        """Note it."""
        self.made.append(("close",))


@pytest.mark.parametrize(
    ("conditions", "part", "expected"),
    [
        (Conditions(), None, ("get", None, None)),
        (Conditions(), PART, ("get", PART, None)),
        (Conditions(if_match=("*",)), None, ("get", None, None)),
        (Conditions(if_match=('"1"',)), None, ("get", None, '"1"')),
        (Conditions(if_range='"1"'), PART, ("get", PART, '"1"')),
        (Conditions(if_range='W/"1"'), PART, ("get", None, None)),
        (Conditions(if_range='"1"'), None, ("get", None, None)),
    ],
)
async def test_what_s3_decides_is_one_call(conditions, part, expected):
    """An If-Match of one strong ETag is left to S3."""
    calls = Calls([OPENED])
    assert await Reader(calls).open("a", conditions, part) == OPENED
    assert calls.made == [expected]


@pytest.mark.parametrize(
    ("conditions", "part", "expected"),
    [
        (Conditions(if_none_match=('"2"',)), None, ("get", None, '"1"')),
        (Conditions(if_match=('"1"', '"2"')), PART, ("get", PART, '"1"')),
        (Conditions(if_modified_since=datetime(2020, 1, 1, tzinfo=UTC)), None, ("get", None, '"1"')),
        (Conditions(if_range=datetime(2020, 1, 1, tzinfo=UTC)), PART, ("get", None, '"1"')),
    ],
)
async def test_other_conditions_are_decided_after_a_look(conditions, part, expected):
    """A HEAD decides, and the GET is pinned to what it found."""
    calls = Calls([THERE, OPENED])
    assert await Reader(calls).open("a", conditions, part) == OPENED
    assert calls.made == [("head",), expected]


@pytest.mark.parametrize(
    ("conditions", "part", "error"),
    [
        (Conditions(if_none_match=('"1"',)), None, NotModified),
        (Conditions(if_match=('"2"', '"3"')), None, PreconditionFailed),
        (Conditions(), ByteRange(None, 0), RangeUnsatisfiable),
    ],
)
async def test_what_a_look_decides_against_costs_one_call(conditions, part, error):
    """A 304, 412 or 416 needs no GET."""
    calls = Calls([THERE])
    with pytest.raises(error):
        await Reader(calls).open("a", conditions, part)
    assert calls.made == [("head",)]


async def test_an_if_range_that_does_not_hold_is_the_whole_object():
    """A GET that is refused for its If-Range is sent again without it."""
    calls = Calls([PreconditionFailed("changed"), OPENED])
    assert await Reader(calls).open("a", Conditions(if_range='"1"'), PART) == OPENED
    assert calls.made[1] == ("get", None, None)


async def test_a_refused_range_is_looked_at():
    """A range that S3 refuses gets the size from a HEAD."""
    calls = Calls([RangeUnsatisfiable("no"), THERE])
    with pytest.raises(RangeUnsatisfiable) as caught:
        await Reader(calls).open("a", Conditions(), ByteRange(10, None))
    assert caught.value.size == 10


async def test_an_object_that_changes_all_the_time_is_busy():
    """Two looks are enough."""
    calls = Calls([THERE, PreconditionFailed("changed")] * 2)
    with pytest.raises(Busy):
        await Reader(calls).open("a", Conditions(if_none_match=('"0"',)))


@pytest.mark.parametrize("method", ["open", "head"])
async def test_the_empty_key_names_no_object(method):
    """Nothing is sent for the empty key, which S3 would take for the bucket."""
    calls = Calls([])
    with pytest.raises(ObjectMissing):
        await getattr(Reader(calls), method)("", Conditions())
    assert calls.made == []


async def test_a_listing_goes_on_after_a_name():
    """The token of a page names the entry after which the next page starts."""
    calls = Calls([ListAnswer((Entry("d/a"), Entry("d/b/")), truncated=True), ListAnswer((Entry("d/c"),))])
    reader = Reader(calls)
    page = await reader.list("d/", None, 2)
    assert [entry.name for entry in (await reader.list("d/", page.next_token, 2)).entries] == ["c"]
    assert calls.made == [("list", None, 3), ("list", "d/b/\U0010ffff", 3)]


async def test_a_token_after_which_nothing_lies_leads_to_the_first_page():
    """What was removed since is not an empty page."""
    calls = Calls([ListAnswer((Entry("d/a"),), truncated=True), ListAnswer(()), ListAnswer((Entry("d/a"),))])
    reader = Reader(calls)
    token = (await reader.list("d/", None, 1)).next_token
    assert [entry.name for entry in (await reader.list("d/", token, 1)).entries] == ["a"]


async def test_a_truncated_answer_without_entries_is_followed():
    """A listing goes on where S3 says, though an answer holds only the marker or nothing."""
    calls = Calls(
        [
            ListAnswer((Entry("d/"),), truncated=True, continuation="1"),
            ListAnswer((), truncated=True, continuation="2"),
            ListAnswer((Entry("d/a"),)),
        ]
    )
    page = await Reader(calls).list("d/", None, 5)
    assert ([entry.name for entry in page.entries], page.next_token) == (["a"], None)
    assert calls.made == [("list", None, 6), ("list", None, 6, "1"), ("list", None, 6, "2")]


@pytest.mark.parametrize("continuation", ["again", None])
async def test_truncated_answers_without_entries_end(continuation):
    """An S3 that goes on with nothing for ever, or does not say where, is an error and no endless loop."""
    calls = Calls([ListAnswer((), truncated=True, continuation=continuation) for _ in range(20)])
    with pytest.raises(UpstreamError, match="truncated answers without an entry"):
        await Reader(calls).list("d/", None, 5)
    assert len(calls.made) == (10 if continuation else 1)


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        (None, ContentRange(0, 3, 10)),
        (PART, ContentRange(0, 3, 10)),
        (PART, ContentRange(2, 4, 10)),
        (ByteRange(8, 20), ContentRange(8, 8, 10)),
    ],
)
async def test_a_part_that_was_not_asked_for_is_an_error(asked, sent):
    """A 206 with other bytes than the client wants is closed and never passed on."""
    other = Object(content_range=sent)
    with pytest.raises(UpstreamError, match="was not requested"):
        await Reader(Calls([other])).open("a", Conditions(), asked)
    assert other.is_closed


async def test_the_part_that_was_asked_for_is_opened():
    """A range that reaches past the end is the part up to it."""
    part = Object(content_range=ContentRange(8, 9, 10))
    assert await Reader(Calls([part])).open("a", Conditions(), ByteRange(8, 20)) is part


async def test_a_head_of_a_missing_bucket_is_not_a_missing_object():
    """A HEAD's 404 has no code: a listing says whether it is the bucket."""
    calls = Calls([ObjectMissing("404"), BucketMissing("NoSuchBucket")])
    with pytest.raises(BucketMissing):
        await Reader(calls).head("a", Conditions())


@pytest.mark.parametrize(("answer", "lists"), [(ListAnswer(()), 1), (AccessDenied("no"), 2)])
async def test_a_bucket_that_was_seen_is_not_looked_for_again(answer, lists):
    """A missing object costs a listing once a minute; one that is not allowed says nothing."""
    calls = Calls([ObjectMissing("404"), answer, ObjectMissing("404"), answer])
    reader = Reader(calls)
    for _ in range(2):
        with pytest.raises(ObjectMissing):
            await reader.head("a", Conditions())
    assert [call[0] for call in calls.made].count("list") == lists


async def test_closing_closes_the_calls():
    """The reader holds nothing else."""
    calls = Calls([])
    await Reader(calls).close()
    assert calls.made == [("close",)]


# Time


async def _slow(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "answered"


async def test_a_call_that_takes_too_long_ends():
    """A call of S3 that does not end in time is cancelled, and the error says how long that was."""
    with pytest.raises(TimedOut, match=r"S3 did not answer within 0\.05 s"):
        await Deadlines(0.05).bound(_slow(60))


async def test_calls_have_deadlines_of_their_own():
    """Of calls that run at once, those that are in time return."""
    deadlines = Deadlines(1)
    late = asyncio.ensure_future(deadlines.bound(_slow(60)))
    await asyncio.sleep(0.95)
    assert await deadlines.bound(_slow(0.1)) == "answered"
    with pytest.raises(TimedOut):
        await late


async def test_a_request_that_is_cancelled_is_not_late():
    """A client that leaves cancels its call; that is not S3's time-out."""
    call = asyncio.ensure_future(Deadlines(60).bound(_slow(60)))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_a_late_request_can_be_cancelled_too():
    """A client that leaves in the very turn in which its call is late cancels the request."""
    deadlines = Deadlines(0.02)
    call = asyncio.ensure_future(deadlines.bound(_slow(60)))
    await asyncio.sleep(0)
    deadlines._ends[call] = 0.0
    deadlines._expire(asyncio.get_running_loop())
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_a_task_goes_on_after_a_late_call():
    """After a time-out the same request may ask S3 again."""
    deadlines = Deadlines(0.05)

    async def twice() -> str:
        with pytest.raises(TimedOut):
            await deadlines.bound(_slow(60))
        return await deadlines.bound(_slow(0))

    assert await asyncio.ensure_future(twice()) == "answered"


def listing(*keys: str, directories: tuple[str, ...] = (), truncated: bool = False) -> dict:
    contents = [{"Key": key, "Size": 1, "ETag": '"1"'} for key in keys]
    return {
        "Contents": contents,
        "CommonPrefixes": [{"Prefix": each} for each in directories],
        "IsTruncated": truncated,
    }


@pytest.mark.parametrize(
    ("answer", "after", "limit", "names", "token", "exists"),
    [
        ({}, "", 5, [], None, False),
        (listing("d/b", directories=("d/a/",)), "", 5, ["a/", "b"], None, True),
        (listing("d/"), "", 5, [], None, True),
        (listing("d/", truncated=True), "", 5, [], None, True),
        (listing("d/", "d/a", "d/b"), "", 2, ["a", "b"], None, True),
        (listing("d/a", "d/b", "d/c"), "", 2, ["a", "b"], "b", True),
        (listing("d/a", "d/b", truncated=True), "", 5, ["a", "b"], "b", True),
        (listing("d/c", directories=("d/b/",)), "b/", 5, ["c"], None, True),
    ],
)
def test_an_answer_becomes_a_page(answer, after, limit, names, token, exists):
    """Files and directories are one list, without the marker and what was told before, and no longer than asked for."""
    found = page([list_answer(answer)], "d/", after, limit)
    assert ([entry.name for entry in found.entries], found.exists) == (names, exists)
    assert found.next_token is None if token is None else from_token(found.next_token) == token


def test_an_entry_has_what_s3_says_of_it():
    """A file has size, date and ETag; a directory has none of them."""
    answer = {"Contents": [{"Key": "d/a"}], "CommonPrefixes": [{"Prefix": "d/b/"}]}
    assert page([list_answer(answer)], "d/", "", 5) == Page((Entry("a"), Entry("b/")))


def test_an_entry_outside_the_prefix_is_an_error():
    """A key that was not asked for is never shown."""
    with pytest.raises(UpstreamError, match="`e/a`, which is not below `d/`"):
        page([list_answer(listing("e/a"))], "d/", "", 5)
