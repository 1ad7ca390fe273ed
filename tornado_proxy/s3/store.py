"""The store for a bucket of S3: reads on the event loop or through boto3, writes through boto3 in threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, closing, suppress
from datetime import UTC
from email.utils import format_datetime
from functools import partial
from http import HTTPStatus
from itertools import count
from typing import Any, TypeVar
from urllib.parse import quote
from weakref import WeakValueDictionary

from botocore.credentials import Credentials
from msgspec.structs import replace

from tornado_proxy.config.model import Bucket
from tornado_proxy.config.server import S3Pool
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.s3.answers import quoted
from tornado_proxy.s3.boto3_reads import Boto3Reads
from tornado_proxy.s3.client import find_endpoint, has_tenant, make_client, make_session
from tornado_proxy.s3.conditional_writes import ConditionalWrites, Precondition, checked_precondition
from tornado_proxy.s3.connection import Retries
from tornado_proxy.s3.executor import Executor, Parameters, ask
from tornado_proxy.s3.failures import translated
from tornado_proxy.s3.limits import COMPLETION_PAUSE, COMPLETION_WITHIN, LONGEST_COMPLETION_PAUSE, PROOF_WITHIN
from tornado_proxy.s3.loop_reads import LoopReads
from tornado_proxy.s3.reads import Reader
from tornado_proxy.s3.resumable import ReadLimits, ResumedRead, read_memory
from tornado_proxy.s3.signature import KeyPair, KeyPairs
from tornado_proxy.s3.transport import Transport
from tornado_proxy.s3.upload import Part, PartBody, Upload, UploadMemory, cut, named_parts, whole_etag
from tornado_proxy.semantics.conditions import UNCONDITIONAL, Conditions
from tornado_proxy.storage import errors
from tornado_proxy.storage.store import IncomingPart, ObjectInfo, Stored, UploadedPart, UploadForm, Write
from tornado_proxy.wire.shares import Shares

T = TypeVar("T")

_PROPERTIES: Mapping[str, tuple[str, str]] = {
    "cache_control": ("CacheControl", "Cache-Control"),
    "content_disposition": ("ContentDisposition", "Content-Disposition"),
    "content_encoding": ("ContentEncoding", "Content-Encoding"),
    "content_language": ("ContentLanguage", "Content-Language"),
    "storage_class": ("StorageClass", "x-amz-storage-class"),
    "canned_acl": ("ACL", "acl"),
}
"""The parameter of boto3 and the form field (S3 API, POST Object) for each property of an upload that is a text."""


def parameters_of(write: Write) -> Parameters:
    """Returns the parameters that describe an object, for whole and for multipart uploads."""
    properties = write.properties
    given = {"ContentType": write.stored_type, "Metadata": properties.metadata, "Expires": properties.expires}
    given |= {parameter: getattr(properties, name) for name, (parameter, _) in _PROPERTIES.items()}
    return {parameter: value for parameter, value in given.items() if value}


def fields_of(write: Write) -> dict[str, str]:
    """Returns the form fields that describe an object; each is a condition of the form as well."""
    properties = write.properties
    given = {"Content-Type": write.content_type}
    given |= {field: getattr(properties, name) for name, (_, field) in _PROPERTIES.items()}
    if properties.expires is not None:
        given["Expires"] = format_datetime(properties.expires.astimezone(UTC), usegmt=True)
    given |= {f"x-amz-meta-{name}": text for name, text in properties.metadata.items()}
    return {field: value for field, value in given.items() if value}


class S3Store(Reader):
    """A bucket of S3: the operations of `Reader`, and writes.

    Each store has its own threads and connections, so that a bucket that hangs does not delay others. All uploads share
    one limit of memory, and so do all bodies that are read. `notice` is told of each resumed read.
    """

    def __init__(
        self,
        bucket: Bucket,
        pool: S3Pool,
        memory: UploadMemory | None = None,
        bodies: Shares | None = None,
        notice: Callable[[ResumedRead], None] = lambda _: None,
    ) -> None:
        self._bucket = bucket
        self._pool = pool
        session = make_session(bucket)
        self._client = make_client(bucket, session)
        self._retries = Retries()
        self._transport = Transport(bucket, pool.threads, self._retries)
        self._transport.carry(self._client)
        self._completing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by upload
        self._executor = Executor(pool.threads, pool.queue, bucket.timeout)
        self._conditional = ConditionalWrites(bucket, self._client, self._executor, self._call, self._head_or_none)
        self._place = f"{bucket.s3_endpoint or ''}/{bucket.name}"  # whose share of the memory it is
        self._memory = memory or UploadMemory(pool.upload_memory)
        limits = ReadLimits(
            self._place, bodies or read_memory(pool.read_memory), pool.resumes, bucket.timeout, pool.release_after
        )
        given, endpoint = bucket.credentials, find_endpoint(self._client, bucket.name)
        if bucket.anonymous:
            pairs: KeyPair | Credentials | None = KeyPair("", "")
        else:
            pairs = KeyPair(*given.reveal()) if given else session.get_credentials()
        if pool.reads == "loop" and endpoint is not None and pairs is not None:
            calls: LoopReads | Boto3Reads = LoopReads(bucket, KeyPairs(pairs), endpoint, pool, self._retries)
        else:  # boto3 is wanted, or is the only one that can sign
            calls = Boto3Reads(bucket, self._client, self._executor)
        super().__init__(calls, bucket.timeout, limits, notice)

    def __repr__(self) -> str:
        return f"<S3Store of {self._bucket.name}>"

    async def put(self, key: ObjectKey, chunks: AsyncIterator[bytes], write: Write) -> Stored:
        """Stores the chunks as an object; if the iterator raises an exception, stores nothing and raises it again.

        A body of at most one part is sent at once. A larger one becomes a multipart upload with at most two parts in
        memory.
        """
        precondition = await self._conditional.precondition(key, write)
        decided = partial(self._conditional.decided, key, write, precondition)
        async with aclosing(cut(chunks, self._bucket.part_size, write, self._memory, self._place)) as parts:
            first = await anext(parts)
            described = parameters_of(write)  # with the charset of what has passed
            with closing(first.body):
                await self._conditional.check(key, precondition, described, in_parts=not first.is_last)
                if not first.is_last:
                    target = {"Bucket": self._bucket.name, "Key": key}
                    upload = await Upload.begin(self._client, self._executor, target, described)
                    stored = await self._put_in_parts(key, upload, first, parts, partial(decided, in_parts=True))
                    return replace(stored, caveat=self._conditional.caveat(precondition))
                async with decided(in_parts=False) as condition:
                    return await self._put_whole(key, first.body, described, condition)

    async def remove(self, key: ObjectKey, conditions: Conditions = UNCONDITIONAL) -> None:
        """Removes an object; conditions are checked by a HEAD before, because not every S3 checks them in a DELETE."""
        if conditions != UNCONDITIONAL:
            checked_precondition(Write(conditions=conditions), await self._head_or_none(key))
        with suppress(errors.ObjectMissing):
            answer: Parameters = await self._call("DeleteObject", key, self._client.delete_object, is_upload=False)
            # What succeeds with another status (S3 API) may have removed nothing.
            if _status(answer) != HTTPStatus.NO_CONTENT:
                await self.head(key, UNCONDITIONAL)
                raise errors.UpstreamError(f"S3 answers {_status(answer)} to the removal of `{key}`, and keeps it")

    async def presign(self, key: ObjectKey, expires: int) -> str:
        """Returns a URL that fetches the object for a number of seconds; needs no network."""
        parameters = {"Bucket": self._bucket.name, "Key": key}
        sign = partial(self._client.generate_presigned_url, "get_object", Params=parameters, ExpiresIn=expires)
        with translated(f"signing `{key}` in `{self._bucket.name}`"):
            return await self._executor.run(sign)

    async def presign_upload(self, key: ObjectKey, write: Write, expires: int) -> UploadForm:
        """Returns a form that stores an object for a number of seconds; needs no network."""
        added = self._bucket.request_config.put_headers
        fields = {**fields_of(write), **{name: value for name, value in added if name.startswith("x-amz-")}}
        conditions: list[object] = [{name: value} for name, value in fields.items()]
        conditions.append(["content-length-range", 0, write.max_size])
        whole = self._bucket.name
        # Ceph compares the policy with the bucket's name alone, and finds the tenant in the path.
        bare = whole.rpartition(":")[2] if has_tenant(whole) else whole
        sign = partial(self._client.generate_presigned_post, bare, key, fields, conditions, expires)
        with translated(f"signing a form for `{key}` in `{whole}`"):
            made = await self._executor.run(sign)
        url = f"{made['url'].removesuffix(bare)}{quote(whole, safe='')}" if bare != whole else made["url"]
        return UploadForm(url, made["fields"])

    async def begin_upload(self, key: ObjectKey, write: Write) -> str:
        """Begins a multipart upload and returns its ID; raises the errors of a write that would fail.

        Its parts are listed at once: without the permission to list them, the upload could not be completed.
        """
        if (precondition := await self._conditional.precondition(key, write)) != Precondition():
            checked_precondition(write, await self._head_or_none(key))
            await self._conditional.check(key, precondition, parameters_of(write), in_parts=True)
        target = {"Bucket": self._bucket.name, "Key": key}
        async with await Upload.begin(self._client, self._executor, target, parameters_of(write)) as upload:
            await self.list_parts(key, upload.id)
            return upload.id

    async def put_part(self, key: ObjectKey, upload: str, part: IncomingPart) -> None:
        """Stores a part of an upload; the whole part is in memory, because its signature needs its digest."""
        with closing(PartBody(self._memory, self._place)) as body:
            async for chunk in part.chunks:
                await body.append(memoryview(chunk), part.size)
            sent: Parameters = {"UploadId": upload, "PartNumber": part.number, "Body": body}
            answer = await self._call_part("UploadPart", key, partial(self._client.upload_part, **sent))
            _stored(answer, f"S3 accepts part {part.number} of `{key}`")

    async def list_parts(self, key: ObjectKey, upload: str) -> tuple[UploadedPart, ...]:
        """Returns the parts of an upload, by number."""
        found = list[UploadedPart]()
        after = 0
        while True:
            asked: Parameters = {"UploadId": upload, **({"PartNumberMarker": after} if after else {})}
            answer = await self._call_part("ListParts", key, partial(self._client.list_parts, **asked))
            found += [
                UploadedPart(each["PartNumber"], each["Size"], each["ETag"], each.get("ChecksumCRC32"))
                for each in answer.get("Parts", ())
            ]
            before, after = after, answer.get("NextPartNumberMarker", 0)
            if not answer.get("IsTruncated") or after <= before:
                return tuple(found)

    async def complete_upload(self, key: ObjectKey, upload: str, parts: Sequence[UploadedPart], write: Write) -> Stored:
        """Turns parts into an object if the conditions of the write are true."""
        precondition = await self._conditional.precondition(key, write)
        await self._conditional.check(key, precondition, parameters_of(write), in_parts=True)
        sent: Parameters = {"UploadId": upload, "MultipartUpload": named_parts(parts)}
        # Ceph answers 500 while another completion of the upload is under way.
        async with (
            self._completing.setdefault(upload, asyncio.Lock()),
            self._conditional.decided(key, write, precondition, in_parts=True) as condition,
        ):
            complete = partial(self._client.complete_multipart_upload, **sent, **condition)
            call = partial(self._call, "CompleteMultipartUpload", key, complete, COMPLETION_WITHIN)
            return await self._completed(key, parts, call)

    async def abort_upload(self, key: ObjectKey, upload: str) -> None:
        """Removes an upload and its parts."""
        abort = partial(self._client.abort_multipart_upload, UploadId=upload)
        answer = await self._call_part("AbortMultipartUpload", key, abort)
        if _status(answer) != HTTPStatus.NO_CONTENT:
            with suppress(errors.UploadMissing):
                await self.list_parts(key, upload)
                raise errors.UpstreamError(f"S3 answers {_status(answer)} to the end of an upload, and keeps it")

    async def close(self) -> None:
        """Makes no new call; threads end with the last object that is still read, and with the store."""
        self._transport.close()
        await super().close()
        self._executor.close()

    async def _head_or_none(self, key: ObjectKey) -> ObjectInfo | None:
        try:
            return await self.head(key, UNCONDITIONAL)
        except errors.ObjectMissing:
            return None

    async def _put_whole(self, key: ObjectKey, body: PartBody, described: Parameters, condition: Parameters) -> Stored:
        """Stores a body; looks for it if S3 does not answer, and who sends it again would find it in the way."""
        whole: Parameters = {**described, **condition, "Body": body}
        put = partial(self._client.put_object, **whole)
        try:
            return _stored(await self._call("PutObject", key, put), f"S3 stores `{key}`")
        except errors.StorageError as error:
            if error.is_refusal or not condition:
                raise
            if (found := await self._object_of(key, body.etag(), len(body))) is None:
                raise
            return found

    async def _put_in_parts(
        self,
        key: ObjectKey,
        upload: Upload,
        first: Part,
        parts: AsyncIterator[Part],
        decided: Callable[[], AbstractAsyncContextManager[Parameters]],
    ) -> Stored:
        """Sends the parts and turns them into an object; after a failure no part remains in S3."""
        try:
            async with upload:
                await upload.send(first)
                async for part in parts:
                    await upload.send(part)
                sent = await upload.finish()
                async with decided() as condition:
                    return await self._completed(key, sent, partial(upload.complete, condition))
        except errors.UploadMissing as error:
            raise errors.UpstreamError(f"S3 lost an upload: {error}") from error

    async def _completed(
        self, key: ObjectKey, parts: Sequence[UploadedPart], complete: Callable[[], Awaitable[Parameters]]
    ) -> Stored:
        """Completes an upload, again if need be, until S3 confirms it; raises the error of the last try.

        S3 begins its answer before it knows the outcome (S3 API, "CompleteMultipartUpload"), so that an answer that
        breaks off says nothing. Either it has an ETag, or the object is there, with the size and the ETag that its
        parts make.
        """
        is_unclear = False
        etag, size = whole_etag(parts), sum(each.size for each in parts)
        for tries in count(1):
            try:
                return _stored(await complete(), f"S3 completes an upload of `{key}`")
            except errors.StorageError as error:
                is_unclear = is_unclear or not error.is_refusal
                if is_unclear and (found := await self._object_of(key, etag, size)) is not None:
                    return found
                if error.is_refusal or tries >= self._bucket.max_attempts:
                    raise
            await asyncio.sleep(min(COMPLETION_PAUSE * 2**tries, LONGEST_COMPLETION_PAUSE))
        raise AssertionError

    async def _object_of(self, key: ObjectKey, etag: str | None, size: int) -> Stored | None:
        """Returns what a write without an answer has stored; None if S3 does not say soon, or makes other ETags."""
        with suppress(errors.StorageError, TimeoutError):
            async with asyncio.timeout(PROOF_WITHIN):
                found = await self.head(key, UNCONDITIONAL)
            return Stored(etag) if etag is not None and (found.etag, found.size) == (etag, size) else None
        return None

    async def _call_part(self, operation: str, key: str, method: Callable[..., Any]) -> Parameters:
        """Makes a call on a multipart upload; for an unknown upload Ceph says that the key does not exist."""
        try:
            return await self._call(operation, key, method)
        except errors.ObjectMissing as error:
            raise errors.UploadMissing(str(error)) from error

    async def _call(
        self, operation: str, key: str, method: Callable[..., T], within: float = 0, *, is_upload: bool = True
    ) -> T:
        """Makes a call on an object; `within` seconds apply if they are longer than the limit for other calls."""
        if not key:
            raise errors.ObjectMissing("the empty key names no object")
        with translated(f"{operation} of `{key}` in `{self._bucket.name}`"):
            call = partial(ask, method, Bucket=self._bucket.name, Key=key)
            return await self._executor.run(call, is_upload=is_upload, within=within)


def _stored(answer: Parameters, doing: str) -> Stored:
    """Returns what a write has stored; without an ETag nothing proves that it has, and it raises `UpstreamError`."""
    if (etag := quoted(answer.get("ETag"))) is None:
        raise errors.UpstreamError(f"{doing} without an ETag")
    return Stored(etag)


def _status(answer: Parameters) -> int:
    return int(answer["ResponseMetadata"]["HTTPStatusCode"])
