"""Writes to S3s that differ from Amazon's, by the name of the difference."""

from __future__ import annotations

import pytest
from quirky_s3 import quirky_s3
from stores import async_chunks, store_at

from tornado_proxy.storage.errors import UpstreamError
from tornado_proxy.storage.store import IncomingPart, Write

MIB = 1024**2
SMALL, LARGE = b"x", b"x" * 6 * MIB


async def upload_in_steps(store, key: str, write: Write) -> None:
    """Uploads a file as a client does that sends its parts itself."""
    upload = await store.begin_upload(key, write)
    await store.put_part(key, upload, IncomingPart(1, len(LARGE), async_chunks(LARGE)))
    await store.put_part(key, upload, IncomingPart(2, len(SMALL), async_chunks(SMALL)))
    await store.complete_upload(key, upload, await store.list_parts(key, upload), write)


WAYS = {
    "small": lambda store, key, write: store.put(key, async_chunks(SMALL), write),
    "empty": lambda store, key, write: store.put(key, async_chunks(b""), write),
    "large": lambda store, key, write: store.put(key, async_chunks(LARGE), write),
    "in steps": upload_in_steps,
}
"""The ways to write an object."""

WRITE = Write("text/plain")


@pytest.mark.parametrize(
    ("quirk", "checksums", "header"),
    [
        ("checksum-needed", "when_required", "content-md5"),
        ("crc32-needed", "when_required", "x-amz-checksum-crc32"),
        ("checksum-needed", "when_supported", "x-amz-checksum-crc32"),
        ("checksums-unknown", "md5", "content-md5"),
    ],
)
async def test_a_checksum_is_sent_as_s3_wants_it(quirk, checksums, header):
    """Each PUT has a header, and no trailer; one that was refused without is the last to be."""
    async with quirky_s3(quirk) as s3, store_at(s3.url, checksums=checksums) as store:
        await store.put("first", async_chunks(SMALL), WRITE)
        s3.requests.clear()
        for way, write in WAYS.items():
            await write(store, way, WRITE)
    assert s3.objects.keys() == {"first", *WAYS}
    puts = [each for each in s3.requests if each.method == "PUT"]
    assert len(puts) == 1 + 1 + 2 + 2
    assert all(header in each.headers and "x-amz-trailer" not in each.headers for each in puts)


@pytest.mark.parametrize("way", ["large", "in steps"])
async def test_a_part_that_is_refused_without_a_checksum_is_sent_again(way):
    """The process may learn by a part of an upload that has begun."""
    async with quirky_s3("checksum-needed") as s3, store_at(s3.url) as store:
        await WAYS[way](store, "a", WRITE)
    assert s3.objects.keys() == {"a"}


async def test_no_checksum_is_sent_that_s3_does_not_ask_for():
    """By default, an S3 that knows no checksums gets none."""
    async with quirky_s3("checksums-unknown") as s3, store_at(s3.url) as store:
        await store.put("a", async_chunks(LARGE), WRITE)
    assert not [name for each in s3.requests for name in each.headers if "checksum" in name or "md5" in name]


async def test_a_chosen_checksum_is_not_left_out():
    """An S3 that does not know the checksum that the configuration wants refuses the upload."""
    async with quirky_s3("checksums-unknown") as s3, store_at(s3.url, checksums="when_supported") as store:
        with pytest.raises(UpstreamError, match="501 NotImplemented: x-amz-checksum- is not implemented"):
            await store.put("a", async_chunks(SMALL), WRITE)
