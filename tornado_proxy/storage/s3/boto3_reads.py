"""Reads of a bucket by boto3, in threads; a body is read chunk by chunk, as its reader asks for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from http.client import IncompleteRead
from typing import TYPE_CHECKING, Any, TypeVar

from tornado_proxy.config.model import Bucket
from tornado_proxy.semantics.conditions import ByteRange, ContentRange
from tornado_proxy.semantics.fields import Checksum
from tornado_proxy.storage.errors import Unreachable, UpstreamError
from tornado_proxy.storage.s3.answers import ListAnswer, sensible_size
from tornado_proxy.storage.s3.executor import BlockingCall, Executor, Parameters, ask, current_call
from tornado_proxy.storage.s3.failures import translated
from tornado_proxy.storage.store import Entry, ObjectInfo

if TYPE_CHECKING:
    from botocore.response import StreamingBody
    from mypy_boto3_s3.client import S3Client

T = TypeVar("T")

_CHECKSUM = "Checksum"

CHUNK = 256 * 1024
"""The bytes that one call of a thread reads: fewer make more calls, more make a slow S3 look stuck."""


class S3Object:
    """An object that S3 is sending, whose first chunk has been read; must be closed."""

    __slots__ = ("_connection", "_executor", "_first", "_left", "_raw", "_reading", "content_range", "info")

    def __init__(self, answer: Mapping[str, Any], executor: Executor) -> None:
        """Reads the first chunk, in the thread that made the answer; raises what boto3 does, and `UpstreamError`.

        An S3 that fails so early can still be answered for.
        """
        self.content_range = part = content_range(answer)
        self.info = object_info(answer, answer.get("ContentLength") if part is None else part.size)
        self._left = self.info.size if part is None else part.length  # bytes
        self._raw: StreamingBody = answer["Body"]
        self._first = _first_chunk(self._raw, self._left)
        self._executor = executor
        self._reading: BlockingCall[bytes] | None = None
        call = current_call()
        self._connection = call.connection if call else None

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, piece by piece; raises `StorageError` where it breaks off or is shorter than announced."""
        while self._left > 0:
            chunk, self._first = self._first or await self._next_chunk(), b""
            if not chunk:
                raise Unreachable(f"a body ended {self._left} bytes early")
            self._left -= len(chunk)
            yield chunk

    async def close(self) -> None:
        """Returns the connection to the pool, or drops it if the body was not read to its end."""
        self.drop()

    def drop(self) -> None:
        """Closes at once, or after a running read, since two threads must not use the body; from any thread."""
        if self._reading is None:
            self._raw.close()
        else:
            self._reading.outcome.cancel()
            self._reading.ended.add_done_callback(lambda _: self._raw.close())

    async def _next_chunk(self) -> bytes:
        self._reading = self._executor.submit(self._read)
        with translated("reading a body"):
            return await self._reading.result(self._executor.timeout)

    def _read(self) -> bytes:
        call = current_call()
        if call is not None and self._connection is not None:
            call.use(self._connection)
        return self._raw.read(CHUNK)


def opened(answer: Mapping[str, Any], executor: Executor) -> S3Object:
    """The object of a GetObject; what makes it fail closes the body."""
    try:
        return S3Object(answer, executor)
    except BaseException:
        answer["Body"].close()
        raise


def _first_chunk(raw: StreamingBody, length: int) -> bytes:
    """The first chunk of a body of a length, whole: a read ends early only where the connection does."""
    chunk = raw.read(CHUNK)
    if len(chunk) < min(CHUNK, length):
        raise IncompleteRead(chunk)
    if len(chunk) > length:
        raise UpstreamError(f"S3 sends more than the {length} bytes that it announces")
    return chunk


class Boto3Reads:
    """The calls for reads, made by boto3's client in threads."""

    def __init__(self, bucket: Bucket, client: S3Client, executor: Executor) -> None:
        self._bucket = bucket
        self._client = client
        self._executor = executor

    async def get(self, key: str, part: ByteRange | None, if_match: str | None) -> S3Object:
        """Sends a GetObject, with `Range` and `If-Match` where they are given, and opens its answer."""
        wanted: Parameters = {
            **({"Range": part.to_header()} if part else {}),
            **({"IfMatch": if_match} if if_match else {}),
        }

        def fetch() -> S3Object:
            return opened(ask(self._client.get_object, Bucket=self._bucket.name, Key=key, **wanted), self._executor)

        return await self._run(f"GetObject of `{key}`", fetch, S3Object.drop)

    async def head(self, key: str) -> ObjectInfo:
        """Sends a HeadObject."""

        def look() -> ObjectInfo:
            answer = ask(self._client.head_object, Bucket=self._bucket.name, Key=key)
            if content_range(answer) is not None:
                raise UpstreamError(f"S3 answers a HeadObject with the Content-Range `{answer['ContentRange']}`")
            return object_info(answer, answer.get("ContentLength"))

        return await self._run(f"HeadObject of `{key}`", look)

    async def list(self, prefix: str, after: str | None, limit: int, continuation: str | None = None) -> ListAnswer:
        """Sends a ListObjectsV2 with the delimiter `/`, `MaxKeys` of `limit`, and the others where they are given."""
        wanted: Parameters = {
            "Bucket": self._bucket.name,
            "Prefix": prefix,
            "Delimiter": "/",
            "MaxKeys": limit,
            **({"StartAfter": after} if after else {}),
            **({"ContinuationToken": continuation} if continuation else {}),
        }
        list_objects = partial(ask, self._client.list_objects_v2, **wanted)
        return await self._run(f"ListObjectsV2 of `{prefix}`", lambda: list_answer(list_objects()))

    async def close(self) -> None:
        """Makes no new calls; open objects can be read to their end."""
        self._executor.close()

    async def _run(self, doing: str, call: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
        with translated(f"{doing} in `{self._bucket.name}`"):
            return await self._executor.run(call, undo)


def object_info(answer: Mapping[str, Any], size: int | None) -> ObjectInfo:
    """What a GetObject or HeadObject says of an object of a size; raises `UpstreamError` where that is not a size."""
    if size is None or size < 0:
        raise UpstreamError(f"S3 gives {'no size' if size is None else f'the size {size}'} for an object")
    return ObjectInfo(
        size=size,
        etag=answer.get("ETag"),
        last_modified=_in_seconds(answer.get("LastModified")),
        content_type=_text(answer.get("ContentType")),
        content_disposition=_text(answer.get("ContentDisposition")),
        content_encoding=_text(answer.get("ContentEncoding")),
        content_language=_text(answer.get("ContentLanguage")),
        cache_control=_text(answer.get("CacheControl")),
        # boto3 parses `Expires` and drops what is not a date; this is the text itself.
        expires=_text(answer.get("ExpiresString")),
        checksums=tuple(_checksums(answer)),
        metadata=tuple((name.lower(), _text(value) or "") for name, value in answer.get("Metadata", {}).items()),
    )


def content_range(answer: Mapping[str, Any]) -> ContentRange | None:
    """The part that a GetObject answers with, if it is a part; raises `UpstreamError` where S3 contradicts itself."""
    header = answer.get("ContentRange")
    if header is None:
        if answer.get("ResponseMetadata", {}).get("HTTPStatusCode") == 206:
            raise UpstreamError("S3 answers 206 without a Content-Range")
        return None
    try:
        part = ContentRange.from_header(header)
    except ValueError as error:
        raise UpstreamError(f"S3 answers with an invalid Content-Range `{header}`") from error
    if part.first is None:
        raise UpstreamError(f"S3 answers with the Content-Range `{header}`, which names no bytes")
    if answer.get("ContentLength") not in (None, part.length):
        raise UpstreamError(f"S3 answers with {answer['ContentLength']} bytes for the Content-Range `{header}`")
    return part


def list_answer(answer: Mapping[str, Any]) -> ListAnswer:
    """What boto3 makes of a ListObjectsV2; raises `UpstreamError` for an entry without a name."""
    files = tuple(_entry(listed) for listed in answer.get("Contents", ()))
    directories = tuple(Entry(_name(listed, "Prefix")) for listed in answer.get("CommonPrefixes", ()))
    return ListAnswer(files + directories, bool(answer.get("IsTruncated")), answer.get("NextContinuationToken"))


def _entry(listed: Mapping[str, Any]) -> Entry:
    size = listed.get("Size")
    return Entry(
        name=_name(listed, "Key"),
        size=None if size is None else sensible_size(size),
        last_modified=_in_seconds(listed.get("LastModified")),
        etag=listed.get("ETag"),
    )


def _name(listed: Mapping[str, Any], field: str) -> str:
    name = listed.get(field)
    if not isinstance(name, str):
        raise UpstreamError(f"S3 lists an entry without `{field}`")
    return name


def _checksums(answer: Mapping[str, Any]) -> list[Checksum]:
    """`ChecksumSHA256` and its like; their type, where S3 names it, is that of all."""
    kind = answer.get("ChecksumType")
    return [
        Checksum(name.removeprefix(_CHECKSUM), value, kind)
        for name, value in answer.items()
        if name.startswith(_CHECKSUM) and name != "ChecksumType"
    ]


def _text(header: str | None) -> str | None:
    """A header's value: boto3 reads its bytes as Latin-1, but most clients store UTF-8."""
    if header is None or header.isascii():
        return header
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


def _in_seconds(moment: datetime | None) -> datetime | None:
    """A date in UTC and whole seconds, as a header has it; None for one that is out of Python's range in UTC."""
    try:
        return None if moment is None else moment.astimezone(UTC).replace(microsecond=0)
    except OverflowError:
        return None
