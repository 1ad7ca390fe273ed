"""Uploads whose parts clients send: what S3 is asked, and what is done where it fails; the contract suite has the rest."""

from __future__ import annotations

import asyncio
import threading

import pytest
from scripted_s3 import error_reply, reply, scripted_s3
from stores import async_chunks, store_at

from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.storage.errors import AccessDenied, ObjectExists, PreconditionFailed, UploadMissing
from tornado_proxy.storage.store import IncomingPart, UploadedPart, Write

BEGUN = reply(200, b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
COMPLETED = reply(200, b'<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>')
SENT, GONE = reply(200, ETag='"p"'), reply(204)
PARTS = (UploadedPart(1, 5, '"1"'),)


def listed(*numbers: int, following: int | None = None):
    """A page of the parts of an upload."""
    more = (
        ""
        if following is None
        else f"<IsTruncated>true</IsTruncated><NextPartNumberMarker>{following}</NextPartNumberMarker>"
    )
    parts = "".join(f"<Part><PartNumber>{n}</PartNumber><ETag>e{n}</ETag><Size>5</Size></Part>" for n in numbers)
    return reply(200, f"<ListPartsResult>{more}{parts}</ListPartsResult>".encode())


def lines(s3) -> list[str]:
    return [request.splitlines()[0].removesuffix(" HTTP/1.1") for request in s3.requests]


async def test_an_upload_begins_with_a_look_at_its_parts():
    """Without the permission to list them, the upload is taken back, since it could not be completed."""
    with scripted_s3(BEGUN, listed(), BEGUN, error_reply(403, "AccessDenied"), GONE) as s3:
        async with store_at(s3.url) as store:
            assert await store.begin_upload("a", Write("text/x")) == "u"
            with pytest.raises(AccessDenied):
                await store.begin_upload("a", Write())
    assert s3.header(0, "Content-Type") == "text/x"
    assert lines(s3)[1:] == [
        "GET /bucket/a?uploadId=u",
        "POST /bucket/a?uploads",
        "GET /bucket/a?uploadId=u",
        "DELETE /bucket/a?uploadId=u",
    ]


async def test_parts_are_listed_page_by_page():
    """S3 lists a thousand at once; a page that leads nowhere ends the list."""
    pages = listed(1, 2, following=2), listed(3, following=3), listed(4, following=3)
    with scripted_s3(*pages) as s3:
        async with store_at(s3.url) as store:
            parts = await store.list_parts("a", "u")
    assert [(each.number, each.size, each.etag) for each in parts] == [(n, 5, f"e{n}") for n in (1, 2, 3, 4)]
    assert lines(s3)[1:] == [f"GET /bucket/a?uploadId=u&part-number-marker={n}" for n in (2, 3)]


async def test_a_part_is_signed_over_its_content():
    """S3 checks that what it gets is what was read."""
    with scripted_s3(SENT) as s3:
        async with store_at(s3.url) as store:
            await store.put_part("a", "u", IncomingPart(7, 200_000, async_chunks(bytes(100_000), bytes(100_000))))
    assert lines(s3) == ["PUT /bucket/a?uploadId=u&partNumber=7"]
    assert (s3.header(0, "Content-Length"), len(s3.header(0, "x-amz-content-sha256"))) == ("200000", 64)


@pytest.mark.parametrize(
    ("write", "answer", "condition", "error"),
    [
        (Write(), COMPLETED, None, None),
        (Write(replace=False), error_reply(412, "PreconditionFailed"), "*", ObjectExists),
        (
            Write(conditions=Conditions(if_none_match=("*",))),
            error_reply(412, "PreconditionFailed"),
            "*",
            PreconditionFailed,
        ),
        (Write(), error_reply(404, "NoSuchUpload"), None, UploadMissing),
    ],
)
async def test_s3_checks_the_condition_as_it_completes(write, answer, condition, error):
    """No other write comes between the look and the end."""
    with scripted_s3(answer) as s3:
        async with store_at(s3.url) as store:
            if error is None:
                assert (await store.complete_upload("a", "u", PARTS, write)).etag == '"e"'
            else:
                with pytest.raises(error):
                    await store.complete_upload("a", "u", PARTS, write)
    assert (lines(s3), s3.header(0, "If-None-Match")) == (["POST /bucket/a?uploadId=u"], condition)


async def test_an_upload_that_nobody_waits_for_is_taken_back():
    """A client that leaves while its upload begins leaves nothing behind."""
    gate = threading.Event()
    with scripted_s3(type(BEGUN)(BEGUN.data, gate=gate), GONE) as s3:
        async with store_at(s3.url, read_timeout=20) as store:
            beginning = asyncio.ensure_future(store.begin_upload("a", Write()))
            await s3.wait_for_requests()
            beginning.cancel()
            await asyncio.wait([beginning])
            gate.set()
            await s3.wait_for_requests()
    assert lines(s3) == ["POST /bucket/a?uploads", "DELETE /bucket/a?uploadId=u"]
