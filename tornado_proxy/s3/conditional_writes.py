"""Conditions of writes: what S3 can decide alone, whether this S3 does, and what stands for it where it does not."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import msgspec

from tornado_proxy.config.model import Bucket
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.s3.executor import Executor, Parameters
from tornado_proxy.s3.limits import ABORT_WITHIN
from tornado_proxy.s3.reads import is_strong
from tornado_proxy.s3.upload import Part, PartBody, Upload, UploadMemory
from tornado_proxy.semantics.conditions import ANY, Conditions
from tornado_proxy.storage import errors
from tornado_proxy.storage.store import PROBE_NAME, ObjectInfo, Write

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

_log = logging.getLogger(__name__)

_NOTHING_THERE = {"IfNoneMatch": ANY}

# What is false of an object that exists.
_FALSE = {"IfNoneMatch": ANY, "IfMatch": f'"{"0" * 32}"'}
_RACE = "two large uploads to `%s` at the same moment can replace each other"
_FAILURE = "uploads to `%s` fail"
_HEADERS = {"IfNoneMatch": "If-None-Match", "IfMatch": "If-Match"}


class Precondition(msgspec.Struct, frozen=True):
    """The parameters for a conditional write, and the error that it raises if S3 finds them false."""

    parameters: Parameters = {}
    error_class: type[errors.StorageError] = errors.PreconditionFailed


def checked_precondition(write: Write, found: ObjectInfo | None) -> Precondition:
    """Returns the precondition of a write after a HEAD: the object must be unchanged, or still be missing.

    Raises the error of a condition that is already false.
    """
    if found is not None and not write.replace:
        raise errors.ObjectExists("an object exists that must not be replaced")
    etag, date = (found.etag, found.last_modified) if found else (None, None)
    if not write.conditions.allow_write(etag, date, exists=found is not None):
        raise errors.PreconditionFailed("the existing object is not the one that the client expects")
    if found is None:
        return Precondition(_NOTHING_THERE, errors.PreconditionFailed if write.replace else errors.ObjectExists)
    return Precondition({"IfMatch": etag} if etag else {})


class ConditionalWrites:
    """Makes writes on conditions as the bucket's `conditionalWrites` says, and remembers what S3 does with each."""

    def __init__(
        self,
        bucket: Bucket,
        client: S3Client,
        executor: Executor,
        call: Callable[[str, str, Callable[..., Any]], Awaitable[Parameters]],
        find: Callable[[ObjectKey], Awaitable[ObjectInfo | None]],
    ) -> None:
        self._bucket = bucket.name
        self._mode = bucket.conditional_writes
        self._client = client
        self._executor = executor
        self._call = call
        self._find = find
        self._trials: dict[tuple[str, bool], asyncio.Task[str]] = {}  # by condition, whole or in parts
        self._removals: set[asyncio.Task[None]] = set()  # of the objects of trials
        # What is wrong with the way S3 takes each, empty if nothing is.
        self._found: dict[tuple[str, bool], str] = {}
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by key

    async def precondition(self, key: ObjectKey, write: Write) -> Precondition:
        """Returns the precondition of a write; raises the error of one that is false if S3 cannot decide it alone."""
        match write:
            case Write(replace=True, conditions=Conditions(if_match=(), if_none_match=(), if_unmodified_since=None)):
                return Precondition()
            case Write(replace=False, conditions=Conditions(if_match=(), if_none_match=(), if_unmodified_since=None)):
                return Precondition(_NOTHING_THERE, errors.ObjectExists)
            case Write(conditions=Conditions(if_match=(), if_none_match=("*",), if_unmodified_since=None)):
                return Precondition(_NOTHING_THERE)
            case Write(replace=True, conditions=Conditions(if_match=(etag,), if_none_match=())) if is_strong(etag):
                return Precondition({"IfMatch": etag})
        return checked_precondition(write, await self._find(key))

    async def check(self, key: ObjectKey, precondition: Precondition, described: Parameters, *, in_parts: bool) -> None:
        """Raises `ConditionIgnored` if the write needs an S3 that heeds its condition, and this one does not.

        For a completion that alone is without conditions, a HEAD just before stands, as with `headBefore`: only a file
        that comes at that moment is replaced, and nothing else would let large files in.
        """
        if self._mode != "tried":
            return
        for name in precondition.parameters:
            if refusal := await self._refusal(key, name, described, in_parts=False):
                raise errors.ConditionIgnored(f"no upload to `{key}`: {refusal}; see `bucket.conditionalWrites`")
            if in_parts:
                await self._refusal(key, name, described, in_parts=True)

    def caveat(self, precondition: Precondition) -> str:
        """Returns what S3 does not decide of an upload in parts that is checked; empty if it decides all."""
        return next(filter(None, (self._found.get((name, True)) for name in precondition.parameters)), "")

    @asynccontextmanager
    async def decided(
        self, key: ObjectKey, write: Write, precondition: Precondition, *, in_parts: bool
    ) -> AsyncIterator[Parameters]:
        """Wraps a write, which needs the yielded parameters; raises that S3 found an object, another one, or none."""
        condition = precondition.parameters
        is_weak = bool(condition) and (self._mode == "headBefore" or bool(self.caveat(precondition)))
        # Other processes have turns of their own.
        async with self._turns.setdefault(key, asyncio.Lock()) if is_weak else nullcontext():
            if is_weak and (in_parts or self._mode == "headBefore"):
                checked_precondition(write, await self._find(key))
                condition = {}
            try:
                yield condition
            except (errors.PreconditionFailed, errors.NotModified, errors.ObjectMissing) as error:
                raise precondition.error_class(str(error)) from error

    async def _refusal(self, key: ObjectKey, name: str, described: Parameters, *, in_parts: bool) -> str:
        """Returns what is wrong with the way S3 takes a condition, tried once for all uploads; empty if it heeds it."""
        if (found := self._found.get((name, in_parts))) is not None:
            return found
        trial = self._trials.get((name, in_parts))
        if trial is None or trial.done():
            trial = self._trials[name, in_parts] = asyncio.get_running_loop().create_task(
                self._tried(key, name, described, in_parts=in_parts)
            )
        return await asyncio.shield(trial)

    async def _tried(self, beside: ObjectKey, name: str, described: Parameters, *, in_parts: bool) -> str:
        if refusal := await self._try(beside, name, described, in_parts=in_parts):
            effect = _RACE if in_parts else _FAILURE
            _log.error("%s: %s; see `bucket.conditionalWrites`", effect % self._bucket, refusal)
        self._found[name, in_parts] = refusal
        return refusal

    async def _try(self, beside: ObjectKey, name: str, described: Parameters, *, in_parts: bool) -> str:
        """Tries a write whose condition is false, beside a key; returns what is wrong with the way S3 takes it."""
        directory, slash, _ = beside.rpartition("/")
        key = ObjectKey(f"{directory}{slash}{PROBE_NAME}{secrets.token_hex(8)}")
        way = "an upload in parts" if in_parts else "a PUT"
        is_stored = False
        try:
            await self._put(key, described, _NOTHING_THERE)  # policies of buckets may demand both
            is_stored = True
            await (self._put_in_parts if in_parts else self._put)(key, described, {name: _FALSE[name]})
        except (errors.PreconditionFailed, errors.NotModified, errors.AccessDenied) as error:
            # Object Lock denies that an object is replaced, where there are no versions.
            if not is_stored:
                raise type(error)(f"{error}; `bucket.conditionalWrites: trusted` tries nothing") from error
            return ""
        except errors.UpstreamError as error:
            if not error.is_refusal:
                raise
            if not is_stored:
                await self._put(key, described, {})  # raises what else S3 refuses
            return f"S3 refuses `{_HEADERS[name]}` of {way} ({error.code})"
        finally:
            removal = asyncio.get_running_loop().create_task(self._remove(key))
            self._removals.add(removal)
            removal.add_done_callback(self._removals.discard)
            if (await asyncio.wait([removal], timeout=ABORT_WITHIN))[0]:
                removal.result()
        return f"S3 ignores `{_HEADERS[name]}` of {way}, and could replace a file"

    async def _put(self, key: ObjectKey, described: Parameters, condition: Parameters) -> None:
        await self._call("PutObject", key, partial(self._client.put_object, **{**described, **condition, "Body": b""}))

    async def _put_in_parts(self, key: ObjectKey, described: Parameters, condition: Parameters) -> None:
        target = {"Bucket": self._bucket, "Key": key}
        async with await Upload.begin(self._client, self._executor, target, described) as upload:
            body = PartBody(UploadMemory(0))
            await body.append(memoryview(b"x"), 1)
            await upload.send(Part(1, body, is_last=True))
            await upload.finish()
            await upload.complete(condition)

    async def _remove(self, key: ObjectKey) -> None:
        try:
            with suppress(errors.ObjectMissing):
                await self._call("DeleteObject", key, self._client.delete_object)
        except errors.StorageError as error:
            _log.warning("an object of a trial may remain: %s", error)
