"""What S3 is asked and sent for the conditions of a write; `test_store_contract` tests the results."""

import asyncio
from datetime import UTC, datetime

import pytest
from scripted_s3 import STORED, Reply, Then, object_reply, reply, scripted_s3
from stores import async_chunks, store_at

from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.storage.errors import UpstreamError
from tornado_proxy.storage.store import Write

NOW = datetime(2026, 6, 1, tzinfo=UTC)
FOUND, MISSING, LISTED = object_reply(b"", Content_Length="3"), reply(404), reply(200, b"<ListBucketResult/>")
NONE, FIRST = "If-None-Match: *", 'If-Match: "1"'


@pytest.mark.parametrize(
    ("write", "condition"),
    [
        (Write(), ""),
        (Write(conditions=Conditions(if_modified_since=NOW)), ""),
        (Write(replace=False), NONE),
        (Write(conditions=Conditions(if_none_match=("*",))), NONE),
        (Write(replace=False, conditions=Conditions(if_none_match=("*",))), NONE),
        (Write(conditions=Conditions(if_match=('"1"',))), FIRST),
    ],
)
async def test_s3_decides_a_condition_alone(write, condition):
    """A condition that every S3 decides needs no HEAD."""
    with scripted_s3(STORED) as s3:
        async with store_at(s3.url) as store:
            await store.put("a", async_chunks(b"x"), write)
    assert s3.request_lines() == ["PUT /bucket/a"]
    assert [line for line in s3.requests[0].splitlines() if line.startswith("If-")] == (
        [condition] if condition else []
    )


@pytest.mark.parametrize(
    ("write", "found", "condition"),
    [
        (Write(conditions=Conditions(if_match=("*",))), FOUND, FIRST),
        (Write(conditions=Conditions(if_match=('"1"', '"2"'))), FOUND, FIRST),
        (Write(conditions=Conditions(if_match=('"1"',), if_none_match=('"2"',))), FOUND, FIRST),
        (Write(conditions=Conditions(if_none_match=('"2"',))), FOUND, FIRST),
        (Write(conditions=Conditions(if_none_match=('"2"',))), MISSING, NONE),
        (Write(conditions=Conditions(if_unmodified_since=NOW)), FOUND, FIRST),
        (Write(conditions=Conditions(if_none_match=("*",), if_unmodified_since=NOW)), MISSING, NONE),
        (Write(replace=False, conditions=Conditions(if_none_match=('"2"',))), MISSING, NONE),
    ],
)
async def test_another_condition_is_decided_about_the_object_of_a_head(write, found, condition):
    """S3 does not decide it as HTTP demands; it makes sure that the object has not changed since."""
    with scripted_s3(found, *([LISTED] if found is MISSING else []), STORED) as s3:
        async with store_at(s3.url) as store:
            await store.put("a", async_chunks(b"x"), write)
    assert (s3.request_lines()[0], s3.request_lines()[-1]) == ("HEAD /bucket/a", "PUT /bucket/a")
    assert condition in s3.requests[-1].splitlines()


async def test_an_upload_does_not_wait_for_the_end_of_a_trial(monkeypatch):
    """An upload whose trial fails is answered, though S3 does not answer to the removal of its object."""
    monkeypatch.setattr("tornado_proxy.s3.conditional_writes.ABORT_WITHIN", 0.05)
    with scripted_s3(reply(500), Reply(b"", Then.SILENCE)) as s3:
        async with store_at(s3.url, conditional_writes="tried", max_attempts=1) as store, asyncio.timeout(5):
            with pytest.raises(UpstreamError, match="500"):
                await store.put("a", async_chunks(b"x"), Write(replace=False))
