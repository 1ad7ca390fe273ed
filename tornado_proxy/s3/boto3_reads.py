"""Reads of a bucket by boto3 in threads; each chunk of a body is read when its consumer asks for it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from http.client import IncompleteRead
from typing import TYPE_CHECKING, Any, TypeVar

from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import ResponseStreamingError
from botocore.response import StreamingBody

from tornado_proxy.config.model import Bucket
from tornado_proxy.s3.answers import Headers, ListAnswer, ObjectHead, Quirks, check_no_error, object_head, read_listing
from tornado_proxy.s3.executor import BlockingCall, Executor, Parameters, ask, current_call
from tornado_proxy.s3.failures import translated
from tornado_proxy.s3.limits import READ_OF_THREAD
from tornado_proxy.s3.resumable import ObjectRequest, Released
from tornado_proxy.semantics.conditions import ByteRange
from tornado_proxy.storage.errors import Unreachable, UpstreamError
from tornado_proxy.storage.store import ObjectInfo

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

T = TypeVar("T")

_DOCUMENT = "Document"  # added to the answer to a listing


class ThreadedResponse:
    """The answer to a GetObject, with its first chunk; must be closed."""

    def __init__(
        self, answer: Mapping[str, Any], asked: ByteRange | None, executor: Executor, *, lists: bool = True
    ) -> None:
        """Reads the first chunk, in the thread that made the call; raises the exceptions of boto3, and `ValueError`.

        A failure that early can still become an error status.
        """
        self.head = _head(answer, asked, lists=lists)
        part = self.head.content_range
        size = self.head.info.size if part is None else part.length
        self._left = math.inf if size is None else size  # bytes
        self._raw: StreamingBody = answer["Body"]
        chunk: bytes = self._raw.read(READ_OF_THREAD)
        self._first = chunk
        # A short read means a broken connection, or an end without a length.
        if len(chunk) < READ_OF_THREAD and size is None:
            self._left = len(chunk)
        if len(chunk) < min(READ_OF_THREAD, self._left):
            raise IncompleteRead(chunk)
        if self.head.info.etag is None:
            check_no_error(chunk)
        self._executor = executor
        self._reading: BlockingCall[bytes] | None = None
        self._pause: float | None = None  # seconds that its reader may take for a chunk
        self._timer: asyncio.TimerHandle | None = None
        self._is_released = False
        call = current_call()
        self._connection = call.connection if call else None

    @property
    def ended(self) -> bool:
        """Whether the whole body is in memory."""
        return self._left <= len(self._first)

    async def read(self) -> bytes:
        """Returns the next chunk, empty at the end; raises `StorageError` if the body is truncated, and `Released`."""
        if self._timer is not None:
            self._timer.cancel()
        if self._left <= 0:
            return b""
        if self._is_released:
            raise Released("the connection to S3 was let go for a slow reader")
        chunk, self._first = self._first, b""
        if not chunk:
            self._reading = self._executor.submit(self._read)
            with translated("reading a body"):
                chunk = await self._reading.result(self._executor.timeout)
            self._reading = None  # its thread has left the body, though perhaps not yet the call
        if not chunk and self._left < math.inf:
            raise Unreachable(f"a body ended {self._left} bytes early")
        self._left = self._left - len(chunk) if chunk else 0
        if self._pause is not None and self._left > 0:
            self._timer = asyncio.get_running_loop().call_later(self._pause, self._release)
        return chunk

    def let_go(self, seconds: float) -> None:
        """Allows that the connection is let go once its reader has paused for some seconds."""
        self._pause = seconds

    def _release(self) -> None:
        self._is_released = True
        self.drop()

    def close(self) -> None:
        """Returns the connection to the pool, or drops it if the body was not read to its end."""
        if self._timer is not None:
            self._timer.cancel()
        self.drop()

    def drop(self) -> None:
        """Closes the body, from any thread; after a running read, since two threads must not use it."""
        if self._reading is None:
            self._raw.close()
        else:
            self._reading.outcome.cancel()
            self._reading.ended.add_done_callback(lambda _: self._raw.close())

    def _read(self) -> bytes:
        call = current_call()
        if call is not None and self._connection is not None:
            call.use(self._connection)
        return self._raw.read(READ_OF_THREAD)


def opened(
    answer: Mapping[str, Any], asked: ByteRange | None, executor: Executor, *, lists: bool = True
) -> ThreadedResponse:
    """Returns the object of a GetObject; closes its body if that fails."""
    try:
        return ThreadedResponse(answer, asked, executor, lists=lists)
    except BaseException:
        answer["Body"].close()
        raise


class Boto3Reads:
    """The read calls by boto3's client in threads."""

    def __init__(self, bucket: Bucket, client: S3Client, executor: Executor) -> None:
        self._bucket = bucket
        self._client = client
        self._executor = executor
        self._quirks = Quirks()
        events: Any = client.meta.events  # the stubs allow no handler that changes a request
        for operation in ("GetObject", "HeadObject"):
            events.register_first(f"before-send.s3.{operation}", self._accept)
        events.register("before-parse.s3.ListObjectsV2", _keep_document)

    async def get(self, request: ObjectRequest) -> ThreadedResponse:
        """Sends a GetObject and opens its answer."""
        key, part, if_match, version, _ = request
        wanted: Parameters = {
            **({"Range": part.to_header()} if part else {}),
            **({"IfMatch": self._quirks.condition(if_match)} if if_match else {}),
            **({"VersionId": version} if version else {}),
        }

        send = partial(self._ask, self._client.get_object, Key=key, **wanted)

        def fetch() -> ThreadedResponse:
            # boto3 tries a call again, but not one whose body breaks off.
            for _ in range(self._bucket.max_attempts - 1):
                with suppress(IncompleteRead, ResponseStreamingError):
                    return opened(send(), part, self._executor, lists=self._quirks.lists)
            return opened(send(), part, self._executor, lists=self._quirks.lists)

        return await self._run(f"GetObject of `{key}`", fetch, ThreadedResponse.drop)

    async def head(self, key: str) -> ObjectInfo:
        """Sends a HeadObject."""

        def look() -> ObjectInfo:
            answer = self._ask(self._client.head_object, Key=key)
            return _head(answer, has_body=False, lists=self._quirks.lists).info

        return await self._run(f"HeadObject of `{key}`", look)

    async def list(self, prefix: str, after: str | None, limit: int, continuation: str | None = None) -> ListAnswer:
        """Sends a ListObjectsV2 with the delimiter `/`, a `MaxKeys` of `limit`, and the other parameters if given."""
        wanted: Parameters = {
            "Bucket": self._bucket.name,
            "Prefix": prefix,
            "Delimiter": "/",
            "MaxKeys": limit,
            **({"StartAfter": after} if after else {}),
            **({"ContinuationToken": continuation} if continuation else {}),
        }

        def look() -> ListAnswer:
            try:
                answer: Mapping[str, Any] = ask(self._client.list_objects_v2, **wanted)
            except UpstreamError:  # a page, which boto3 could not parse
                self._quirks.lists = False
                raise
            listed = read_listing(answer[_DOCUMENT], _headers(answer))
            self._quirks.lists = True
            return listed

        return await self._run(f"ListObjectsV2 of `{prefix}`", look)

    async def close(self) -> None:
        """Makes no new calls; open objects can be read to their end."""
        self._executor.close()

    def _ask(self, method: Callable[..., Mapping[str, Any]], **wanted: object) -> Mapping[str, Any]:
        """Asks for an object, again if S3 unpacked it; blocks."""
        while True:
            accepted = self._quirks.accepted
            answer = ask(method, Bucket=self._bucket.name, **wanted)
            if not self._quirks.is_better(accepted, _headers(answer)):
                return answer
            if "Body" in answer:
                answer["Body"].close()

    def _accept(self, request: AWSPreparedRequest, **_: object) -> None:
        request.headers["Accept-Encoding"] = self._quirks.accepted

    async def _run(self, doing: str, call: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
        try:
            with translated(f"{doing} in `{self._bucket.name}`"):
                return await self._executor.run(call, undo)
        except ValueError as error:  # of an answer that cannot be used
            raise UpstreamError(str(error)) from error


def _keep_document(response_dict: Mapping[str, Any], customized_response_dict: dict[str, Any], **_: object) -> None:
    """Keeps what boto3 parses, since a listing is read in one way."""
    customized_response_dict[_DOCUMENT] = response_dict["body"]


def _headers(answer: Mapping[str, Any]) -> Headers:
    """Returns the headers of an answer, which boto3 decodes as Latin-1."""
    found = answer["ResponseMetadata"]["HTTPHeaders"]
    return {name.encode("latin-1"): value.encode("latin-1") for name, value in found.items()}


def _head(
    answer: Mapping[str, Any], asked: ByteRange | None = None, *, has_body: bool = True, lists: bool
) -> ObjectHead:
    status = answer["ResponseMetadata"]["HTTPStatusCode"]
    return object_head(status, _headers(answer), asked, has_body=has_body, lists=lists)
