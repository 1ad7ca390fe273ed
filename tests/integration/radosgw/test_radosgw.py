"""Behaviour of a real S3 that moto lacks; the contract of tests/storage runs against radosgw as well."""

import asyncio
import urllib.error
import urllib.request
from dataclasses import replace

import pytest
from msgspec import structs
from stores import async_chunks, post_form, read_object

from tornado_proxy.config.model import CallHeaders, Credentials
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.server import S3Pool
from tornado_proxy.s3.store import S3Store
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.semantics.fields import content_digest
from tornado_proxy.storage.errors import AccessDenied, BucketMissing, CredentialsRefused
from tornado_proxy.storage.store import Stored, Write

pytestmark = pytest.mark.integration

ANY = Conditions()
MIB = 1024**2


@pytest.mark.parametrize("pair", [("access", "wrong"), ("nobody", "secret")])
async def test_wrong_credentials_are_denied(radosgw, bucket, pair):
    """A wrong signature or an unknown key is a mistake of the configuration; the answer to a HEAD does not tell."""
    credentials = Credentials(*(Secret("test", text) for text in pair))
    store = S3Store(structs.replace(radosgw.bucket(bucket.name), credentials=credentials), S3Pool(4))
    for call, error in (
        (store.open("a", ANY), CredentialsRefused),
        (store.head("a", ANY), AccessDenied),
        (store.list(""), CredentialsRefused),
        (store.put("a", async_chunks(b""), Write()), CredentialsRefused),
    ):
        with pytest.raises(error):
            await call
    await store.close()


async def test_a_missing_bucket_is_no_missing_object(radosgw):
    store = S3Store(radosgw.bucket("no-such-bucket"), S3Pool(4))
    for call in (store.open("a", ANY), store.list(""), store.put("a", async_chunks(b"x" * 6 * MIB), Write())):
        with pytest.raises(BucketMissing):
            await call
    await store.close()


@pytest.mark.parametrize("size", [10, 6 * MIB])
async def test_one_of_sixteen_writers_wins(bucket, size):
    """One of many simultaneous writes succeeds, and the others leave nothing behind."""
    writes = [bucket.store.put("a", async_chunks(bytes([number]) * size), Write(replace=False)) for number in range(16)]
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["ObjectExists"] * 15 + ["Stored"]
    winner = next(number for number, result in enumerate(results) if isinstance(result, Stored))
    assert await read_object(bucket.store, "a") == bytes([winner]) * size
    assert bucket.uploads() == []


@pytest.mark.parametrize(
    ("algorithm", "digest"),
    [
        ("SHA256", "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:"),
        ("SHA1", "sha-1=:qZk+NkcGgWq6PiVxeFDCbJzQ2J0=:, sha=:qZk+NkcGgWq6PiVxeFDCbJzQ2J0=:"),
        ("CRC32", "crc32=:NSRBwg==:"),
    ],
)
async def test_a_checksum_of_the_full_object_is_a_digest(bucket, algorithm, digest):
    """A checksum of type FULL_OBJECT becomes the Content-Digest of GET and HEAD."""
    bucket.client.put_object(Bucket=bucket.name, Key="a", Body=b"abc", ChecksumAlgorithm=algorithm)
    opened = await bucket.store.open("a", ANY)
    await opened.close()
    assert {checksum.type for checksum in opened.info.checksums} == {"FULL_OBJECT"}
    for info in (opened.info, await bucket.store.head("a", ANY)):
        assert content_digest(info.checksums, info.etag) == digest


@pytest.mark.parametrize(
    ("algorithm", "checksum_type", "has_digest"), [("SHA256", "COMPOSITE", False), ("CRC32", "FULL_OBJECT", True)]
)
async def test_a_composite_checksum_is_no_digest(bucket, algorithm, checksum_type, has_digest):
    """The checksum of an object uploaded in parts is a digest only if it covers the full object."""
    target = {"Bucket": bucket.name, "Key": "a"}
    created = bucket.client.create_multipart_upload(**target, ChecksumAlgorithm=algorithm, ChecksumType=checksum_type)
    arguments = {**target, "UploadId": created["UploadId"]}
    uploaded = [
        bucket.client.upload_part(**arguments, PartNumber=number, Body=b"n" * 5 * MIB, ChecksumAlgorithm=algorithm)
        for number in (1, 2)
    ]
    parts = [
        {"PartNumber": number, "ETag": part["ETag"], f"Checksum{algorithm}": part[f"Checksum{algorithm}"]}
        for number, part in enumerate(uploaded, 1)
    ]
    bucket.client.complete_multipart_upload(**arguments, MultipartUpload={"Parts": parts}, ChecksumType=checksum_type)
    info = await bucket.store.head("a", ANY)
    assert {checksum.type for checksum in info.checksums} == {checksum_type}
    assert (content_digest(info.checksums, info.etag) is not None) is has_digest


async def test_an_upload_stores_no_checksum(bucket):
    """An upload is signed over its bytes, which S3 verifies, and stores no checksum."""
    await bucket.store.put("a", async_chunks(b"abc"), Write())
    assert (await bucket.store.head("a", ANY)).checksums == ()


async def test_a_signed_url_fetches_only_its_object(bucket):
    bucket.add("a b/é+%.txt", b"abc")
    bucket.add("a b/other", b"secret")
    url = await bucket.store.presign("a b/é+%.txt", 60)
    assert await asyncio.to_thread(_fetch, url) == b"abc"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        await asyncio.to_thread(_fetch, url.replace("%C3%A9%2B%25.txt", "other"))


async def test_a_signed_form_stores_only_what_it_permits(bucket):
    """S3 refuses another key, another type, a larger file, and an expired form."""
    form = await bucket.store.presign_upload("d/a.txt", Write("text/css", max_size=10), 60)
    await asyncio.to_thread(post_form, form, b"x" * 10)
    assert (await bucket.store.head("d/a.txt", ANY)).content_type == "text/css"
    refused = (
        (form, b"x" * 11),
        (replace(form, fields={**form.fields, "key": "other"}), b"x"),
        (replace(form, fields={**form.fields, "Content-Type": "text/html"}), b"x"),
        (replace(form, fields={**form.fields, "x-amz-meta-by": "eve"}), b"x"),
        (await bucket.store.presign_upload("late", Write("text/css", max_size=10), -60), b"x"),
    )
    for refused_form, content in refused:
        with pytest.raises(urllib.error.HTTPError, match=r"40[03]"):
            await asyncio.to_thread(post_form, refused_form, content)
    assert (await bucket.store.head("d/a.txt", ANY)).size == 10


def _fetch(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        error.close()
        raise


async def test_a_bucket_is_found_by_its_tenant(radosgw, bucket):
    """A name may begin with that of the tenant, which is empty for users without one."""
    store = S3Store(radosgw.bucket(f":{bucket.name}"), S3Pool(4))
    for key, size in (("a", 10), ("b", 6 * MIB)):
        await store.put(key, async_chunks(b"x" * size), Write())
        assert await read_object(store, key) == b"x" * size
    assert [each.name for each in (await store.list("")).entries] == ["a", "b"]
    with await asyncio.to_thread(urllib.request.urlopen, await store.presign("a", 60)) as answer:
        assert answer.status == 200
    await store.remove("b")
    form = await store.presign_upload("c", Write(max_size=10), 60)
    await asyncio.to_thread(post_form, form, b"abc")
    assert bucket.keys() == ["a", "c"]
    await store.close()


async def test_headers_of_calls_are_signed(radosgw, bucket):
    """An added header is part of the signature, and so is one of S3 in a signed URL and a form."""
    payer = (("x-amz-request-payer", "requester"), ("x-kind", "any"))
    added = CallHeaders(payer, payer, payer, payer)
    for reads in ("loop", "executor"):
        store = S3Store(radosgw.bucket(bucket.name, request_config=added), S3Pool(4, reads=reads))
        for size in (10, 6 * MIB):
            await store.put("a", async_chunks(b"x" * size), Write())
            assert await read_object(store, "a") == b"x" * size
        assert len((await store.list("")).entries) == 1
        with await asyncio.to_thread(urllib.request.urlopen, await store.presign("a", 60)) as answer:
            assert answer.status == 200
        await asyncio.to_thread(post_form, await store.presign_upload("c", Write(max_size=10), 60), b"abc")
        await store.remove("c")
        await store.close()
