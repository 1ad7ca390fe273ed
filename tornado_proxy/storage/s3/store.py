"""A bucket of S3 as a store: its reads and its writes."""

from __future__ import annotations

from collections.abc import AsyncIterator

from tornado_proxy.config.model import Bucket
from tornado_proxy.config.server import S3Pool
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.semantics.conditions import UNCONDITIONAL, ByteRange, Conditions
from tornado_proxy.storage.s3.boto3_reads import Boto3Reads
from tornado_proxy.storage.s3.client import make_client, make_session
from tornado_proxy.storage.s3.executor import Executor
from tornado_proxy.storage.s3.loop_reads import loop_reads
from tornado_proxy.storage.s3.reads import ReadCalls, Reader
from tornado_proxy.storage.s3.upload import UploadMemory
from tornado_proxy.storage.s3.writes import Writer
from tornado_proxy.storage.store import ObjectInfo, Opened, Page, Stored, UploadForm, Write


class S3Store:
    """A bucket of S3: read on the event loop or through boto3, written through boto3.

    It has threads and connections of its own: a bucket that hangs holds up no other. The memory of uploads is shared.
    """

    def __init__(self, bucket: Bucket, pool: S3Pool, memory: UploadMemory | None = None) -> None:
        self._bucket = bucket
        session = make_session(bucket)
        self._client = make_client(bucket, pool.threads, session)
        executor = Executor(pool.threads, pool.queue, bucket.timeout)
        on_loop = loop_reads(bucket, session, self._client, pool) if pool.reads == "loop" else None
        calls: ReadCalls = on_loop or Boto3Reads(bucket, self._client, executor)
        self._reader = Reader(calls, bucket.timeout)
        self._writer = Writer(
            bucket, self._client, executor, memory or UploadMemory(pool.upload_memory), self._reader.head
        )

    def __repr__(self) -> str:
        return f"<S3Store of {self._bucket.name}>"

    async def open(self, key: ObjectKey, conditions: Conditions, part: ByteRange | None = None) -> Opened:
        """The object's info and body, or the part of it that was asked for."""
        return await self._reader.open(key, conditions, part)

    async def head(self, key: ObjectKey, conditions: Conditions) -> ObjectInfo:
        """The object's info."""
        return await self._reader.head(key, conditions)

    async def list(self, prefix: ObjectKey, token: str | None = None, limit: int = 1000) -> Page:
        """A page of what lies directly below a prefix, which is empty or ends in `/`; the marker itself is left out."""
        return await self._reader.list(prefix, token, limit)

    async def put(self, key: ObjectKey, chunks: AsyncIterator[bytes], write: Write) -> Stored:
        """Store the chunks as an object: all of them, or nothing if the iterator raises, which is raised again."""
        return await self._writer.put(key, chunks, write)

    async def remove(self, key: ObjectKey, conditions: Conditions = UNCONDITIONAL) -> None:
        """Remove an object for which the conditions hold; a missing one is not an error, as in S3."""
        await self._writer.remove(key, conditions)

    async def sign(self, key: ObjectKey, expires: int) -> str:
        """A URL that fetches the object for a time in seconds; needs no network."""
        return await self._writer.sign(key, expires)

    async def sign_upload(self, key: ObjectKey, write: Write, expires: int) -> UploadForm:
        """A form that stores an object for a time in seconds; needs no network."""
        return await self._writer.sign_upload(key, write, expires)

    async def close(self) -> None:
        """Make no new call; the threads end with the last object that is still read, and with the store."""
        self._client.close()
        await self._reader.close()
        await self._writer.close()
