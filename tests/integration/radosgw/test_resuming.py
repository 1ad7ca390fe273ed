"""Reads from a real S3 over connections that break off: what they ask for again, the S3 must understand as meant."""

import asyncio
import random
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import md5
from urllib.parse import urlsplit

import pytest
from msgspec import structs
from stores import BucketUnderTest, read_object

from tornado_proxy.config.model import CallHeaders
from tornado_proxy.config.server import S3Pool
from tornado_proxy.s3.store import S3Store
from tornado_proxy.semantics.conditions import ByteRange, Conditions
from tornado_proxy.storage.errors import StorageError

pytestmark = pytest.mark.integration

MIB = 1024**2
BODY = random.Random(7).randbytes(12 * MIB)
OTHER = random.Random(8).randbytes(12 * MIB)
KEY = random.Random(9).randbytes(32)

both_ways = pytest.mark.parametrize("reads", ["loop", "executor"])


@dataclass
class Relay:
    """Connections to an S3. The first one breaks off after some bytes; `calls` are the heads of requests."""

    endpoint: str
    cut_after: int
    on_cut: Callable[[], object] = lambda: None
    calls: list[bytes] = field(default_factory=list)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves a connection."""
        self.tasks.add(asyncio.ensure_future(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Passes on requests, whose heads come in one piece, and answers."""
        s3_reader, s3_writer = await asyncio.open_connection("127.0.0.1", urlsplit(self.endpoint).port)
        is_first = not self.calls

        async def pass_requests() -> None:
            with suppress(ConnectionError):
                while request := await reader.read(64 * 1024):
                    self.calls.append(request)
                    s3_writer.write(request)
            s3_writer.close()

        requests = asyncio.ensure_future(pass_requests())
        passed = 0
        try:
            while piece := await s3_reader.read(64 * 1024):
                passed += len(piece)
                if is_first and passed > self.cut_after:
                    await asyncio.to_thread(self.on_cut)
                    break
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            requests.cancel()
            for each in (writer, s3_writer):
                each.close()
                with suppress(ConnectionError):
                    await each.wait_closed()


@asynccontextmanager
async def store_behind(
    relay: Relay, endpoint, bucket: BucketUnderTest, reads: str, **settings
) -> AsyncIterator[tuple[S3Store, list[tuple[str, str]]]]:
    """A store that reads a bucket through a relay, and the causes and outcomes of its resumed reads."""
    server = await asyncio.start_server(relay.accept, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    noticed: list[tuple[str, str]] = []
    configured = structs.replace(endpoint.bucket(bucket.name, **settings), s3_endpoint=url)
    store = S3Store(configured, S3Pool(4, reads=reads), notice=lambda read: noticed.append(read[:2]))
    try:
        yield store, noticed
    finally:
        await store.close()
        server.close()
        for task in relay.tasks:  # boto3 keeps idle connections open
            task.cancel()
        await asyncio.gather(*relay.tasks, return_exceptions=True)


async def _read(store: S3Store, part: ByteRange | None = None) -> bytes:
    return await read_object(store, "a", part=part)


def _upload_in_parts(bucket: BucketUnderTest) -> None:
    target = {"Bucket": bucket.name, "Key": "a"}
    target["UploadId"] = bucket.client.create_multipart_upload(**target)["UploadId"]
    etags = [
        bucket.client.upload_part(**target, PartNumber=number, Body=BODY[start : start + 6 * MIB])["ETag"]
        for number, start in ((1, 0), (2, 6 * MIB))
    ]
    parts = [{"PartNumber": number, "ETag": etag} for number, etag in enumerate(etags, 1)]
    bucket.client.complete_multipart_upload(**target, MultipartUpload={"Parts": parts})


@both_ways
@pytest.mark.parametrize("upload", ["whole", "in parts"])
async def test_a_body_that_breaks_off_is_continued(radosgw, bucket, reads, upload):
    """An object arrives whole, and so does a part of it, with one more call."""
    if upload == "whole":
        bucket.add("a", BODY)
    else:
        _upload_in_parts(bucket)
    for part, content in ((None, BODY), (ByteRange(1000, 9 * MIB), BODY[1000 : 9 * MIB + 1])):
        relay = Relay(radosgw.url, 7 * MIB)
        async with store_behind(relay, radosgw, bucket, reads) as (store, noticed):
            assert await _read(store, part) == content
        assert (len(relay.calls), noticed) == (2, [("broken", "ok")])


@both_ways
async def test_an_encrypted_object_is_continued(radosgw, bucket, reads):
    """The call that continues an object has the key of its owner, without which S3 sends nothing."""
    bucket.client.put_object(Bucket=bucket.name, Key="a", Body=BODY, SSECustomerAlgorithm="AES256", SSECustomerKey=KEY)
    prefix = "x-amz-server-side-encryption-customer-"
    key = {"algorithm": "AES256", "key": b64encode(KEY).decode(), "key-md5": b64encode(md5(KEY).digest()).decode()}
    headers = CallHeaders(get_headers=tuple((prefix + name, value) for name, value in key.items()))
    relay = Relay(radosgw.url, 7 * MIB)
    async with store_behind(relay, radosgw, bucket, reads, request_config=headers) as (store, noticed):
        assert await _read(store) == BODY
    assert (len(relay.calls), noticed) == (2, [("broken", "ok")])


@both_ways
async def test_two_objects_are_never_joined(radosgw, bucket, reads):
    """If another object takes the place of the one that was begun, the body is cut."""
    bucket.add("a", BODY)
    relay = Relay(radosgw.url, 7 * MIB, on_cut=lambda: bucket.add("a", OTHER))
    received = b""
    async with store_behind(relay, radosgw, bucket, reads) as (store, noticed):
        opened = await store.open("a", Conditions())
        chunks = opened.chunks()
        with pytest.raises(StorageError, match="changed while it was read"):  # noqa: PT012
            while True:
                received += await anext(chunks)
        await opened.close()
    assert received
    assert BODY.startswith(received)
    assert noticed == [("broken", "changed")]


@both_ways
async def test_the_version_that_was_begun_is_read_to_its_end(radosgw, bucket, reads):
    """In a bucket with versions, an object that is replaced in the middle arrives whole."""
    versioning = {"Status": "Enabled"}
    bucket.client.put_bucket_versioning(Bucket=bucket.name, VersioningConfiguration=versioning)
    bucket.add("a", BODY)
    relay = Relay(radosgw.url, 7 * MIB, on_cut=lambda: bucket.add("a", OTHER))
    async with store_behind(relay, radosgw, bucket, reads) as (store, noticed):
        assert await _read(store) == BODY
    assert (len(relay.calls), noticed) == (3, [("broken", "ok")])
