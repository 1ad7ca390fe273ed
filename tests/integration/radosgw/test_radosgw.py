"""What moto does not do as S3 does, of a real one; the contract of tests/storage runs against it as well."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from dataclasses import replace

import pytest
from stores import async_chunks, post_form, read_object

from tornado_proxy.config.model import Credentials
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.server import S3Pool
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.semantics.fields import content_digest
from tornado_proxy.storage.errors import AccessDenied, BucketMissing, ObjectExists
from tornado_proxy.storage.s3 import S3Store
from tornado_proxy.storage.store import Stored, Write

pytestmark = pytest.mark.integration

ANY = Conditions()
MIB = 1024**2


@pytest.mark.parametrize("pair", [("access", "wrong"), ("nobody", "secret")])
async def test_wrong_credentials_are_denied(radosgw, bucket, pair):
    """A signature that does not fit, or a key that is nobody's, is denied whatever is asked."""
    credentials = Credentials(*(Secret("test", each) for each in pair))
    store = S3Store(replace(radosgw.bucket(bucket.name), credentials=credentials), S3Pool(4))
    for asked in (
        store.open("a", ANY),
        store.head("a", ANY),
        store.list(""),
        store.put("a", async_chunks(b""), Write()),
    ):
        with pytest.raises(AccessDenied):
            await asked
    await store.close()


async def test_a_missing_bucket_is_missing(radosgw):
    """A bucket that is not there is told from an object that is not."""
    store = S3Store(radosgw.bucket("no-such-bucket"), S3Pool(4))
    for asked in (store.open("a", ANY), store.list(""), store.put("a", async_chunks(b"x" * 6 * MIB), Write())):
        with pytest.raises(BucketMissing):
            await asked
    await store.close()


@pytest.mark.parametrize("size", [10, 6 * MIB])
async def test_of_sixteen_writers_one_wins(bucket, size):
    """S3 decides which of many writes at one time is the first; the others leave nothing behind."""
    writes = [bucket.store.put("a", async_chunks(bytes([number]) * size), Write(replace=False)) for number in range(16)]
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["ObjectExists"] * 15 + ["Stored"]
    winner = next(number for number, result in enumerate(results) if isinstance(result, Stored))
    assert await read_object(bucket.store, "a") == bytes([winner]) * size
    assert bucket.uploads() == []


async def test_an_object_in_the_way_of_many_parts_leaves_none_behind(bucket):
    """A large upload that may not replace takes back its parts."""
    bucket.add("a", b"old")
    with pytest.raises(ObjectExists):
        await bucket.store.put("a", async_chunks(b"n" * 12 * MIB), Write(replace=False))
    assert bucket.uploads() == []


@pytest.mark.parametrize(
    ("algorithm", "digest"),
    [
        ("SHA256", "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:"),
        ("SHA1", "sha-1=:qZk+NkcGgWq6PiVxeFDCbJzQ2J0=:, sha=:qZk+NkcGgWq6PiVxeFDCbJzQ2J0=:"),
        ("CRC32", "crc32=:NSRBwg==:"),
    ],
)
async def test_a_checksum_of_the_whole_is_a_digest(bucket, algorithm, digest):
    """Checksums that S3 says to be of type FULL_OBJECT become a Content-Digest, of GET and of HEAD."""
    bucket.client.put_object(Bucket=bucket.name, Key="a", Body=b"abc", ChecksumAlgorithm=algorithm)
    opened = await bucket.store.open("a", ANY)
    await opened.close()
    assert {each.type for each in opened.info.checksums} == {"FULL_OBJECT"}
    for info in (opened.info, await bucket.store.head("a", ANY)):
        assert content_digest(info.checksums, info.etag) == digest


@pytest.mark.parametrize(
    ("algorithm", "kind", "told"), [("SHA256", "COMPOSITE", False), ("CRC32", "FULL_OBJECT", True)]
)
async def test_a_checksum_of_parts_is_no_digest(bucket, algorithm, kind, told):
    """Of an object that came in parts, only a checksum over all of them is a digest."""
    target = {"Bucket": bucket.name, "Key": "a"}
    begun = bucket.client.create_multipart_upload(**target, ChecksumAlgorithm=algorithm, ChecksumType=kind)
    names = {**target, "UploadId": begun["UploadId"]}
    sent = [
        bucket.client.upload_part(**names, PartNumber=number, Body=b"n" * 5 * MIB, ChecksumAlgorithm=algorithm)
        for number in (1, 2)
    ]
    parts = [
        {"PartNumber": number, "ETag": part["ETag"], f"Checksum{algorithm}": part[f"Checksum{algorithm}"]}
        for number, part in enumerate(sent, 1)
    ]
    bucket.client.complete_multipart_upload(**names, MultipartUpload={"Parts": parts}, ChecksumType=kind)
    info = await bucket.store.head("a", ANY)
    assert {each.type for each in info.checksums} == {kind}
    assert (content_digest(info.checksums, info.etag) is not None) is told


async def test_what_was_uploaded_here_needs_no_checksum(bucket):
    """An upload is signed over its bytes, which S3 verifies; it keeps no checksum that it was not given."""
    await bucket.store.put("a", async_chunks(b"abc"), Write())
    assert (await bucket.store.head("a", ANY)).checksums == ()


async def test_a_signed_url_is_verified(bucket):
    """A signed URL fetches its object, and no other."""
    bucket.add("a b/é+%.txt", b"abc")
    bucket.add("a b/other", b"secret")
    url = await bucket.store.presign("a b/é+%.txt", 60)
    assert await asyncio.to_thread(_fetch, url) == b"abc"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        await asyncio.to_thread(_fetch, url.replace("%C3%A9%2B%25.txt", "other"))


async def test_a_form_stores_what_it_was_signed_for_and_nothing_else(bucket):
    """S3 refuses another key, another type, a larger file, and a form that has expired."""
    form = await bucket.store.presign_upload("d/a.txt", Write("text/css", max_size=10), 60)
    await asyncio.to_thread(post_form, form, b"x" * 10)
    assert (await bucket.store.head("d/a.txt", ANY)).content_type == "text/css"
    others = (
        (form, b"x" * 11),
        (replace(form, fields={**form.fields, "key": "other"}), b"x"),
        (replace(form, fields={**form.fields, "Content-Type": "text/html"}), b"x"),
        (replace(form, fields={**form.fields, "x-amz-meta-by": "eve"}), b"x"),
        (await bucket.store.presign_upload("late", Write("text/css", max_size=10), -60), b"x"),
    )
    for other, content in others:
        with pytest.raises(urllib.error.HTTPError, match=r"40[03]"):
            await asyncio.to_thread(post_form, other, content)
    assert (await bucket.store.head("d/a.txt", ANY)).size == 10


def _fetch(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        error.close()
        raise
