from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.semantics.ranges import ByteRange
from tornado_proxy.storage.errors import (
    Busy,
    NotModified,
    ObjectMissing,
    PreconditionFailed,
    RangeUnsatisfiable,
    StorageError,
)
from tornado_proxy.storage.s3.info import ListAnswer
from tornado_proxy.storage.s3.reads import Reader
from tornado_proxy.storage.store import Entry, ObjectInfo

NOW = datetime(2026, 5, 1, tzinfo=UTC)
THERE = ObjectInfo(10, '"1"', NOW)
PART = ByteRange(2, 5)


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

    async def list(self, prefix, after, limit):
        """The next answer."""
        return await self._answer("list", after, limit)

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
    calls = Calls(["opened"])
    assert await Reader(calls).open("a", conditions, part) == "opened"
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
    calls = Calls([THERE, "opened"])
    assert await Reader(calls).open("a", conditions, part) == "opened"
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
    calls = Calls([PreconditionFailed("changed"), "opened"])
    assert await Reader(calls).open("a", Conditions(if_range='"1"'), PART) == "opened"
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


async def test_closing_closes_the_calls():
    """The reader holds nothing else."""
    calls = Calls([])
    await Reader(calls).close()
    assert calls.made == [("close",)]
