"""A bucket of S3 as a store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from tornado_proxy.config.model import Bucket
from tornado_proxy.routing.keys import ObjectKey
from tornado_proxy.semantics.conditions import Conditions, Outcome
from tornado_proxy.semantics.etags import ANY
from tornado_proxy.semantics.ranges import ByteRange
from tornado_proxy.storage.cursor import from_token, start_after
from tornado_proxy.storage.errors import (
    Busy,
    NotModified,
    ObjectMissing,
    PreconditionFailed,
    RangeUnsatisfiable,
    StorageError,
)
from tornado_proxy.storage.s3.body import S3Object, opened
from tornado_proxy.storage.s3.client import Parameters, make_client
from tornado_proxy.storage.s3.failures import translated
from tornado_proxy.storage.s3.info import object_info, page
from tornado_proxy.storage.s3.parts import Part, cut
from tornado_proxy.storage.s3.threads import Threads
from tornado_proxy.storage.s3.upload import Upload
from tornado_proxy.storage.s3.writing import Precondition, after_a_look, at_once, is_strong
from tornado_proxy.storage.store import ObjectInfo, Page, Stored, Write

T = TypeVar("T")

_LONGEST_PAGE = 1000
_MOST_LOOKS = 2
_UNCONDITIONAL = Conditions()


class S3Store:
    """A bucket of S3, asked through boto3 in threads of its own: one that hangs holds up no other.

    S3 itself decides what it decides everywhere alike: an If-Match of one strong ETag. All other conditions of a GET
    are decided here, after a HEAD, and the GET is pinned to the ETag that was decided on. A 304 then costs one call,
    and says all that RFC 9110 15.4.5 wants it to, which those of S3s do not.
    """

    def __init__(self, bucket: Bucket, threads: int) -> None:
        self._bucket = bucket
        self._client = make_client(bucket, threads)
        self._threads = Threads(threads)

    def __repr__(self) -> str:
        return f"<S3Store of {self._bucket.name}>"

    async def open(self, key: ObjectKey, conditions: Conditions, part: ByteRange | None = None) -> S3Object:
        """The object's info and body, or the part of it that was asked for."""
        conditions, part = _effective(conditions, part)
        pin = _pin(conditions, part)
        if pin is None:
            return await self._open_after_a_look(key, conditions, part)
        try:
            return await self._get(key, part, pin)
        except PreconditionFailed:
            if conditions.if_range is None:
                raise
            # If-Range does not hold: the whole representation, whatever it is by now (RFC 9110 13.1.5).
            return await self._get(key, None, {})
        except RangeUnsatisfiable:
            # Not every S3 says how many bytes there are, nor takes the suffix of an empty object for the whole of it.
            return await self._open_after_a_look(key, conditions, part)

    async def head(self, key: ObjectKey, conditions: Conditions) -> ObjectInfo:
        """The object's info."""
        answer = await self._call("HeadObject", key, self._client.head_object)
        with translated(f"HeadObject of `{key}` in `{self._bucket.name}`"):
            info = object_info(answer, answer.get("ContentLength"))
        match conditions.decide(info.etag, info.last_modified):
            case Outcome.NOT_MODIFIED:
                raise NotModified(f"`{key}` is what the client has", info)
            case Outcome.PRECONDITION_FAILED:
                raise PreconditionFailed(f"`{key}` is not what the client expects")
            case Outcome.PROCEED:
                return info

    async def list(self, prefix: ObjectKey, token: str | None = None, limit: int = _LONGEST_PAGE) -> Page:
        """A page of what lies directly below a prefix, which is empty or ends in `/`; the marker itself is left out."""
        after = from_token(token)
        # One more than is shown, for the marker.
        wanted: Parameters = {"Prefix": prefix, "Delimiter": "/", "MaxKeys": min(limit + 1, _LONGEST_PAGE)}
        rest: Parameters = {"StartAfter": start_after(prefix, after)} if after else {}
        list_objects = partial(self._client.list_objects_v2, Bucket=self._bucket.name, **wanted, **rest)
        with translated(f"ListObjectsV2 of `{prefix}` in `{self._bucket.name}`"):
            found = page(await self._threads.run(list_objects), prefix, after, limit)
        return found if found.entries or not after else await self.list(prefix, None, limit)

    async def put(self, key: ObjectKey, chunks: AsyncIterator[bytes], write: Write) -> Stored:
        """Store the chunks as an object: all of them, or nothing if the iterator raises, which is raised again.

        Up to one part is sent at once, more as an upload in parts of which three are in memory at most.
        """
        precondition = at_once(write) or after_a_look(write, await self._look(key))
        said: Parameters = {"ContentType": write.content_type} if write.content_type else {}
        async with aclosing(cut(chunks, self._bucket.part_size, write.max_size)) as parts:
            first = await anext(parts)
            if not first.is_last:
                target = {"Bucket": self._bucket.name, "Key": key}
                upload = await Upload.begin(self._client, self._threads, target, said)
                return await self._put_in_parts(upload, first, parts, precondition)
        whole: Parameters = {**said, **precondition.parameters, "Body": first.body}
        put = partial(self._client.put_object, **whole)
        with precondition.decided():
            return _stored(await self._call("PutObject", key, put))

    async def remove(self, key: ObjectKey) -> None:
        """Remove an object; a missing one is no error, as in S3."""
        try:
            await self._call("DeleteObject", key, self._client.delete_object)
        except ObjectMissing:
            return

    async def sign(self, key: ObjectKey, expires: int) -> str:
        """A URL that fetches the object for so many seconds; needs no network."""
        parameters = {"Bucket": self._bucket.name, "Key": key}
        sign = partial(self._client.generate_presigned_url, "get_object", Params=parameters, ExpiresIn=expires)
        with translated(f"signing `{key}` in `{self._bucket.name}`"):
            return await self._threads.run(sign)

    async def close(self) -> None:
        """Let go of the connections and the threads; those with which an object is still read end with it."""
        self._client.close()
        self._threads = Threads.ended()

    async def _open_after_a_look(self, key: str, conditions: Conditions, part: ByteRange | None) -> S3Object:
        """Decide on what a HEAD says, and open that very representation; once more if it has changed in between."""
        for _ in range(_MOST_LOOKS):
            info = await self.head(ObjectKey(key), conditions)
            part = part if part and conditions.range_holds(info.etag, info.last_modified) else None
            wanted = part and part.resolve(info.size)
            if wanted is not None and wanted.first is None:
                raise RangeUnsatisfiable(f"`{key}` has no byte of the range", info.size)
            try:
                return await self._get(key, part if wanted else None, _exactly(info))
            except PreconditionFailed:
                continue
        raise Busy(f"`{key}` changes faster than it can be opened")

    async def _get(self, key: str, part: ByteRange | None, pin: Parameters) -> S3Object:
        """A GET that S3 is left to answer."""
        wanted = {"Range": part.to_header()} if part else {}
        return await self._threads.run(partial(self._fetch, key, {**wanted, **pin}), S3Object.drop)

    def _fetch(self, key: str, parameters: Parameters) -> S3Object:
        """A GET, in a thread."""
        if not key:
            raise ObjectMissing("the empty key names no object")
        with translated(f"GetObject of `{key}` in `{self._bucket.name}`"):
            answer = self._client.get_object(Bucket=self._bucket.name, Key=key, **parameters)
            return opened(answer, self._threads)

    async def _look(self, key: str) -> ObjectInfo | None:
        """The object's info, if there is one."""
        try:
            return await self.head(ObjectKey(key), _UNCONDITIONAL)
        except ObjectMissing:
            return None

    async def _put_in_parts(
        self, upload: Upload, first: Part, parts: AsyncIterator[Part], precondition: Precondition
    ) -> Stored:
        """Send the parts, and make them an object; whatever goes wrong, none of them stays behind."""
        try:
            await upload.send(first)
            async for part in parts:
                await upload.send(part)
            with precondition.decided():
                return _stored(await upload.complete(precondition.parameters))
        except BaseException:
            with suppress(StorageError):
                await upload.abort()
            raise

    async def _call(self, operation: str, key: str, method: Callable[..., T]) -> T:
        """What an operation on an object answers."""
        if not key:
            raise ObjectMissing("the empty key names no object")
        with translated(f"{operation} of `{key}` in `{self._bucket.name}`"):
            return await self._threads.run(partial(method, Bucket=self._bucket.name, Key=key))


def _effective(conditions: Conditions, part: ByteRange | None) -> tuple[Conditions, ByteRange | None]:
    """What is left to decide of an object that exists: `If-Match: *` holds, a weak If-Range voids a Range."""
    if conditions.if_match == (ANY,):
        conditions = replace(conditions, if_match=())
    if isinstance(conditions.if_range, str) and not is_strong(conditions.if_range):
        part = None
    return conditions if part else replace(conditions, if_range=None), part


def _pin(conditions: Conditions, part: ByteRange | None) -> dict[str, str] | None:
    """The parameters of a GET that S3 can decide alone; None where the object must be looked at first.

    The last no bytes of an object are none, for which some S3s send it whole.
    """
    match conditions:
        case Conditions((), (), None, None, None):
            return {} if part != ByteRange(None, 0) else None
        case Conditions((etag,), (), None, None, None) | Conditions((), (), None, None, str(etag)) if is_strong(etag):
            return {"IfMatch": etag}
    return None


def _exactly(info: ObjectInfo) -> dict[str, str]:
    """The parameters of a GET of this very representation, as far as it can be told."""
    return {"IfMatch": info.etag} if info.etag and is_strong(info.etag) else {}


def _stored(answer: Parameters) -> Stored:
    return Stored(answer.get("ETag"), answer.get("VersionId"))
