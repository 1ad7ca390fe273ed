"""What S3 is asked and sent for writes with conditions, and for uploads whose parts clients send, and its failures.

`test_store_contract` tests the results.
"""

import asyncio
import threading
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from scripted_s3 import ABORTED, BEGUN, COMPLETED, STORED, Reply, Then, error_reply, object_reply, reply, scripted_s3
from stores import async_chunks, scripted_store, store_at

from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.storage.errors import AccessDenied, UploadMissing, UpstreamError
from tornado_proxy.storage.store import IncomingPart, UploadedPart, Write

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
    async with scripted_store(STORED) as (s3, store):
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
    async with scripted_store(found, *([LISTED] if found is MISSING else []), STORED) as (s3, store):
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


# Uploads whose parts clients send


PARTS = (UploadedPart(1, 5, '"1"'),)


def part_list(*numbers: int, marker: int | None = None):
    """A page of the list of parts; it is truncated if it has a marker of the next page."""
    truncation = (
        ""
        if marker is None
        else f"<IsTruncated>true</IsTruncated><NextPartNumberMarker>{marker}</NextPartNumberMarker>"
    )
    parts = "".join(f"<Part><PartNumber>{n}</PartNumber><ETag>e{n}</ETag><Size>5</Size></Part>" for n in numbers)
    return reply(200, f"<ListPartsResult>{truncation}{parts}</ListPartsResult>".encode())


async def test_an_upload_is_aborted_if_its_parts_cannot_be_listed():
    """`begin_upload` lists the parts, and aborts the upload if that is denied, because it could not be completed."""
    async with scripted_store(BEGUN, part_list(), BEGUN, error_reply(403, "AccessDenied"), ABORTED) as (s3, store):
        assert await store.begin_upload("a", Write("text/x")) == "u"
        with pytest.raises(AccessDenied):
            await store.begin_upload("a", Write())
    assert s3.header(0, "Content-Type") == "text/x"
    assert s3.request_lines()[1:] == [
        "GET /bucket/a?uploadId=u",
        "POST /bucket/a?uploads",
        "GET /bucket/a?uploadId=u",
        "DELETE /bucket/a?uploadId=u",
    ]


async def test_all_pages_of_parts_are_read():
    """`list_parts` reads all pages, and stops at a page whose marker leads back to itself."""
    pages = part_list(1, 2, marker=2), part_list(3, marker=3), part_list(4, marker=3)
    async with scripted_store(*pages) as (s3, store):
        parts = await store.list_parts("a", "u")
    assert [(part.number, part.size, part.etag) for part in parts] == [(n, 5, f"e{n}") for n in (1, 2, 3, 4)]
    assert s3.request_lines()[1:] == [f"GET /bucket/a?uploadId=u&part-number-marker={n}" for n in (2, 3)]


async def test_a_part_is_signed_over_its_content():
    """The signature of a part covers the digest of its content, so that S3 verifies it."""
    async with scripted_store(STORED) as (s3, store):
        await store.put_part("a", "u", IncomingPart(7, 200_000, async_chunks(bytes(100_000), bytes(100_000))))
    assert s3.request_lines() == ["PUT /bucket/a?uploadId=u&partNumber=7"]
    assert (s3.header(0, "Content-Length"), len(s3.header(0, "x-amz-content-sha256"))) == ("200000", 64)


async def test_an_upload_is_completed_once_at_a_time():
    """Completions of one upload are sent one after the other, since some S3s fail if they meet."""
    gate = threading.Event()
    async with scripted_store(replace(COMPLETED, gate=gate), error_reply(404, "NoSuchUpload")) as (s3, store):
        first, second = [asyncio.ensure_future(store.complete_upload("a", "u", PARTS, Write())) for _ in range(2)]
        await s3.wait_for_requests(1)
        await asyncio.sleep(0.1)
        before = len(s3.requests)
        gate.set()
        assert (await first).etag == '"e"'
        with pytest.raises(UploadMissing):
            await second
    assert (before, len(s3.requests)) == (1, 2)
