"""Asks a bucket whether it does all that its target needs, and what it has for a request now.

A problem has its name and its solution. Only `write` changes something, for a moment.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tornado_proxy.config.actions import PutAction
from tornado_proxy.config.model import Bucket, Target
from tornado_proxy.routing import plan
from tornado_proxy.routing.request import ObjectKey, object_key
from tornado_proxy.routing.upload_steps import Properties, PropertyTemplates
from tornado_proxy.rules.model import Key
from tornado_proxy.semantics.conditions import UNCONDITIONAL, Conditions
from tornado_proxy.semantics.request import StatusError
from tornado_proxy.storage import errors
from tornado_proxy.storage.limits import CACHED_CHUNK, LARGEST_PROBE, LOOK_WITHIN, PROBE_WITHIN, PROBES_AT_ONCE
from tornado_proxy.storage.store import PROBE_NAME, ObjectInfo, Store, Write
from tornado_proxy.templates.template import HeaderFields, PutData, PutInput

_LIST, _GET, _PUT, _DELETE = "s3:ListBucket", "s3:GetObject", "s3:PutObject", "s3:DeleteObject"


class BucketProblem(msgspec.Struct, frozen=True):
    """The reason why a bucket cannot be used: a fixed code, a message without secrets, and what to do."""

    code: str
    message: str
    help: str


class ProbeResult(msgspec.Struct, frozen=True):
    """The result of a probe."""

    target: str
    bucket: str
    at: float  # Unix time of its end, seconds
    seconds: float
    granted: tuple[str, ...] = ()  # the IAM actions that succeeded
    problem: BucketProblem | None = None
    notes: tuple[str, ...] = ()  # what some clients cannot do, although the bucket can be used

    @property
    def is_up(self) -> bool:
        """Whether the bucket can be used."""
        return self.problem is None


async def probe_all(
    buckets: Iterable[tuple[Target, Store]], within: float = PROBE_WITHIN, *, write: bool = False
) -> Sequence[ProbeResult]:
    """Probes the buckets of targets concurrently, each within a number of seconds; results in the same order."""
    at_once = asyncio.Semaphore(PROBES_AT_ONCE)

    async def one(target: Target, store: Store) -> ProbeResult:
        async with at_once:
            return await probe(target, store, within, write=write)

    return await asyncio.gather(*(one(target, store) for target, store in buckets))


async def probe(target: Target, store: Store, within: float = PROBE_WITHIN, *, write: bool = False) -> ProbeResult:
    """Lists the prefix of a target and requests an object that does not exist.

    A HEAD of the bucket would need the permission to list as well, and its answer has no error code. `write` also
    stores and removes objects, as the target's configuration does, if it allows uploads or removals.
    """
    began, granted, notes = time.perf_counter(), list[str](), list[str]()
    # A random name: nobody has an object there, and concurrent probes do not interfere.
    key = object_key(target.bucket, Key(f"/{PROBE_NAME}{secrets.token_hex(8)}"))
    problem, action = None, ""
    try:
        async with asyncio.timeout(within):
            for action, call in _steps(target, store, key, notes if write else None):
                if await _is_granted(action, call, target, granted):
                    granted.append(action)
    except TimeoutError:
        problem = _late(within)
    except errors.StorageError as error:
        problem = _problem(error, action, target.bucket)
    if problem and action in (_PUT, _DELETE):
        with suppress(TimeoutError, errors.StorageError):
            await asyncio.wait_for(_remove(store, key), within)
    found = tuple(granted), problem, tuple(notes)
    return ProbeResult(target.name, target.bucket.name, time.time(), time.perf_counter() - began, *found)


async def find_object(bucket: Bucket, store: Store, key: ObjectKey, within: float) -> bool | BucketProblem:
    """Whether a key has an object, asked by HEAD; a problem if the bucket does not say, or fails."""
    try:
        async with asyncio.timeout(within):
            await store.head(key, UNCONDITIONAL)
    except errors.ObjectMissing:
        return False
    except TimeoutError:
        return _late(within)
    except errors.StorageError as error:
        problem = _problem(error, _GET, bucket)
        if problem.code == "access-denied":
            return replace(problem, message=f"{problem.message}, which S3 also says of missing keys without `{_LIST}`")
        return problem
    return True


def _late(within: float) -> BucketProblem:
    return BucketProblem("timed-out", f"S3 did not answer within {within:g} s", _NETWORK)


def _steps(
    target: Target, store: Store, key: ObjectKey, notes: list[str] | None
) -> Iterator[tuple[str, Callable[[], Awaitable[object]]]]:
    """Yields what is tried of each permission; writes only if there are notes to be taken."""
    bucket, actions = target.bucket, target.actions
    yield _LIST, lambda: store.list(object_key(bucket, Key("/")), None, 1)
    if actions.get.enabled:
        yield _GET, lambda: store.head(key, UNCONDITIONAL)
    if notes is None or not (actions.put.enabled or actions.delete.enabled):
        return
    if actions.put.enabled:
        yield _PUT, lambda: _upload(target, store, key, notes)
    else:
        yield _PUT, lambda: store.put(key, _zeros(1), Write())
    yield _DELETE, lambda: _remove(store, key)


async def _upload(target: Target, store: Store, key: ObjectKey, notes: list[str]) -> None:
    """Uploads as clients do: whole and in parts, with the target's properties, onto nothing and onto an object."""
    put, bucket = target.actions.put, target.bucket
    write = Write("text/plain", put.allow_override, properties=_properties(put, key))
    try:
        stored = await store.put(key, _zeros(1), write)
    except errors.UpstreamError as error:
        if write.properties == Properties():
            raise
        await store.put(key, _zeros(1), replace(write, properties=Properties()))
        error.code = "properties-refused"
        raise
    sizes = {key: 1}
    if bucket.part_size <= LARGEST_PROBE:
        sizes[_in_parts(key)] = bucket.part_size + 1
        large = await store.put(_in_parts(key), _zeros(bucket.part_size + 1), write)
        if large.caveat:
            notes.append(f"two large uploads at the same moment can replace each other: {large.caveat}")
    if bucket.conditional_writes == "trusted" and not write.replace:
        for each, size in sizes.items():
            with suppress(errors.ObjectExists, errors.AccessDenied):
                await store.put(each, _zeros(size), write)
                raise errors.ConditionIgnored("upload: S3 replaces an object in spite of `If-None-Match`")
    try:
        with suppress(errors.AccessDenied):  # Object Lock keeps what was stored
            await store.put(key, _zeros(1), Write("text/plain", conditions=Conditions(if_match=(stored.etag,))))
    except (errors.ConditionIgnored, errors.PreconditionFailed) as error:
        notes.append(f"uploads with If-Match fail: {_detail(error)}")


def _properties(put: PutAction, key: ObjectKey) -> Properties:
    """Returns the properties of an upload without a user; none if a template needs more."""
    request = PutInput(f"/{key}", key.rpartition("/")[2], "text/plain", 1, HeaderFields(()))
    with suppress(StatusError):
        return PropertyTemplates(put).render(PutData(None, request, key))
    return Properties()


def _in_parts(key: ObjectKey) -> ObjectKey:
    return ObjectKey(f"{key}-parts")


async def _remove(store: Store, key: ObjectKey) -> None:
    for each in (key, _in_parts(key)):
        await store.remove(each)


async def _is_granted(
    action: str, call: Callable[[], Awaitable[object]], target: Target, granted: Sequence[str]
) -> bool:
    """Whether a call is permitted; raises `StorageError` for other failures, and if a needed call is denied.

    A target without listings need not be allowed to list. Without that permission S3 also denies access to missing
    objects, so its 403 says nothing about objects that exist.
    """
    try:
        await call()
    except errors.ObjectMissing:
        # To the listing of a prefix below which it has nothing, an S3 answers 200: a 404 is another server's.
        if action == _LIST:
            raise
        return True
    except errors.AccessDenied as error:
        get = target.actions.get
        lists = get.enabled and not get.disable_listing
        is_needed = lists if action == _LIST else action != _GET or _LIST in granted
        if is_needed or error.code not in _DENIED:
            raise
        return False
    return True


async def _zeros(size: int) -> AsyncIterator[bytes]:
    for start in range(0, size, CACHED_CHUNK):
        yield bytes(min(CACHED_CHUNK, size - start))


_NETWORK = "check `bucket.s3Endpoint`, name resolution, routes, firewalls and TLS certificates on the way to S3"
_CONDITIONS = (
    "set `bucket.conditionalWrites: headBefore`, with which two uploads at the same moment can replace each other, "
    "or let uploads replace files by `allowOverride`"
)
_IN_HOST = "; if its buckets have no host names of their own, set `bucket.s3ForcePathStyle: true`"
_REGION = BucketProblem(
    "wrong-region", "the bucket is in another region", "set `bucket.region` to the region of the bucket"
)
_ELSEWHERE = BucketProblem(
    "not-s3",
    errors.NOT_S3,
    "write the address of the S3's API, not of its console; if it is right, a proxy or a portal intercepts it",
)
_DENIED = ("AccessDenied", "403")

# By error code of S3, by status if the answer has no code, and by name of botocore's exceptions.
_BY_CODE = {
    "NoCredentialsError": BucketProblem(
        "no-credentials",
        "no credentials were found",
        "set `bucket.credentials`, or provide them where boto3 looks: environment variables, a profile, "
        "a web identity or the role of the instance",
    ),
    "InvalidAccessKeyId": BucketProblem(
        "bad-credentials", "S3 does not know the access key", "correct the access key of `bucket.credentials`"
    ),
    "SignatureDoesNotMatch": BucketProblem(
        "bad-credentials",
        "the secret key does not belong to the access key",
        "correct the secret key of `bucket.credentials`",
    ),
    "ExpiredToken": BucketProblem("bad-credentials", "the session token has expired", "renew the credentials"),
    "InvalidToken": BucketProblem("bad-credentials", "the session token is not valid", "renew the credentials"),
    "RequestTimeTooSkewed": BucketProblem("wrong-clock", "the clock is wrong", "set the clock of this machine"),
    "AuthorizationHeaderMalformed": _REGION,
    "IllegalLocationConstraintException": _REGION,
    "PermanentRedirect": _REGION,
    "TemporaryRedirect": _REGION,
    "301": _REGION,
    "307": _REGION,
}


def _problem(error: errors.StorageError, action: str, bucket: Bucket) -> BucketProblem:
    known = _BY_CODE.get(error.code) or (_ELSEWHERE if errors.NOT_S3 in str(error) else None)
    if known is not None:
        return known
    code, message, cure = "failed", f"{action}: {_detail(error)}", "look for the error code in the S3 documentation"
    match error:
        case errors.BucketMissing() | errors.ObjectMissing():
            code, message = "no-bucket", f"there is no bucket `{bucket.name}`"
            cure = "create the bucket, or correct `bucket.name`, `bucket.region` or `bucket.s3Endpoint`"
        case errors.AccessDenied():
            if action == _PUT and "HeadObject" in str(error):
                action = _LIST  # without it S3 denies access to a missing object
            code, message = "access-denied", f"`{action}` is not permitted"
            cure = f"grant `{action}` on `{_resource(action, bucket)}`"
        case errors.Unreachable() | errors.TimedOut():
            code = "unreachable" if isinstance(error, errors.Unreachable) else "timed-out"
            has_name_in_host = bucket.s3_endpoint is not None and not bucket.force_path_style
            message, cure = _detail(error), f"{_NETWORK}{_IN_HOST if has_name_in_host else ''}"
        case errors.Busy():
            code, message = "busy", _detail(error)
            cure = "wait, raise `s3.connections`, or send S3 fewer requests"
        case errors.UpstreamError(code="properties-refused"):
            code, message = error.code, f"S3 refuses the properties of uploads: {_detail(error)}"
            cure = (
                "correct `metadata`, `systemMetadata`, `storageClass` and `cannedACL`; leave out what S3 does not know"
            )
        case errors.ConditionIgnored():
            code, message, cure = "condition-ignored", _detail(error), _CONDITIONS
        case errors.UpstreamError() if action == _PUT and "checksum" in str(error).lower():
            code, message, cure = "checksum-refused", _detail(error), "try another value of `bucket.checksums`"
    return BucketProblem(code, message, cure)


def _detail(error: errors.StorageError) -> str:
    return str(error).partition(": ")[2] or str(error)


def _resource(action: str, bucket: Bucket) -> str:
    """Returns the ARN in a policy that grants an action on a bucket, or on the objects below its prefix."""
    is_access_point = bucket.name.startswith("arn:")
    arn = bucket.name if is_access_point else f"arn:aws:s3:::{bucket.name}"
    return arn if action == _LIST else f"{arn}/{'object/' if is_access_point else ''}{bucket.prefix}*"


class Outlook(NamedTuple):
    """The first attempt of a plan that would answer, and the object that it finds; an error instead if S3 fails."""

    attempt: plan.Attempt | None = None
    info: ObjectInfo | None = None
    error: str = ""


async def look(store: Store, attempts: Sequence[plan.Attempt]) -> Outlook:
    """Returns the attempt that would answer a request now; uploads and removals are not tried."""
    try:
        async with asyncio.timeout(LOOK_WITHIN):
            denied: errors.AccessDenied | None = None
            for attempt in attempts:
                if denied is not None and isinstance(attempt, plan.Refuse):
                    raise denied
                try:
                    if (found := await _outlook(store, attempt)) is not None:
                        return found
                except errors.AccessDenied as error:
                    if not plan.tries_files(attempts):
                        raise
                    denied = error
    except errors.StorageError as error:
        return Outlook(error=f"{error.status} {HTTPStatus(error.status).phrase}: {error}")
    except TimeoutError:
        return Outlook(error=f"S3 did not answer within {LOOK_WITHIN:g} s")
    return Outlook()


async def _outlook(store: Store, attempt: plan.Attempt) -> Outlook | None:
    """Returns the outlook of an attempt; None if it would hand over to the next."""
    match attempt:
        case plan.Serve(key=key) | plan.RedirectToSignedUrl(key=key):
            try:
                return Outlook(attempt, await store.head(key, UNCONDITIONAL))
            except errors.ObjectMissing:
                return None
        case plan.Browse(prefix=prefix, root=root):
            return Outlook(attempt) if root or await _has_any(store, prefix) else None
        case plan.Redirect(below=below) if below is not None:
            return Outlook(attempt) if await _has_any(store, below) else None
    return Outlook(attempt)


async def _has_any(store: Store, prefix: ObjectKey) -> bool:
    found = await store.list(prefix, None, 1)
    return bool(found.entries) or found.is_marked
