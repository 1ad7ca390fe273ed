"""Asks a bucket without a change: whether it allows all that its target needs, and what it has for a request now.

A problem has its name and its solution.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from http import HTTPStatus
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tornado_proxy.config.model import Bucket, Target
from tornado_proxy.routing import plan
from tornado_proxy.routing.request import ObjectKey, object_key
from tornado_proxy.rules.model import Key
from tornado_proxy.semantics.conditions import UNCONDITIONAL
from tornado_proxy.storage import errors
from tornado_proxy.storage.limits import LOOK_WITHIN, PROBE_WITHIN, PROBES_AT_ONCE
from tornado_proxy.storage.store import ObjectInfo, Store, Write

_NAME = ".tornado-proxy-probe-"

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
    stores and removes an object, if the target allows uploads or removals.
    """
    began, granted = time.perf_counter(), list[str]()
    problem, action = None, ""
    try:
        async with asyncio.timeout(within):
            for action, call in _steps(target, store, write=write):
                if await _is_granted(action, call, is_needed=_is_needed(action, target, granted)):
                    granted.append(action)
    except TimeoutError:
        problem = _late(within)
    except errors.StorageError as error:
        problem = _problem(error, action, target.bucket)
    seconds = time.perf_counter() - began
    return ProbeResult(target.name, target.bucket.name, time.time(), seconds, tuple(granted), problem)


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


def _steps(target: Target, store: Store, *, write: bool) -> Iterator[tuple[str, Callable[[], Awaitable[object]]]]:
    bucket, actions = target.bucket, target.actions
    # A random name: nobody has an object there, and concurrent probes do not interfere.
    key = object_key(bucket, Key(f"/{_NAME}{secrets.token_hex(8)}"))
    yield _LIST, lambda: store.list(object_key(bucket, Key("/")), None, 1)
    if actions.get.enabled:
        yield _GET, lambda: store.head(key, UNCONDITIONAL)
    if write and (actions.put.enabled or actions.delete.enabled):
        yield _PUT, lambda: store.put(key, _nothing(), Write())
        yield _DELETE, lambda: store.remove(key)


async def _is_granted(action: str, call: Callable[[], Awaitable[object]], *, is_needed: bool) -> bool:
    """Whether a call is permitted; raises `StorageError` for other failures, and if a needed call is denied."""
    try:
        await call()
    except errors.ObjectMissing:
        # S3 lists a prefix without objects: what answers 404 is another server.
        if action == _LIST:
            raise
        return True
    except errors.AccessDenied as error:
        if is_needed or error.code not in _DENIED:
            raise
        return False
    return True


def _is_needed(action: str, target: Target, granted: Sequence[str]) -> bool:
    """Whether a denied action means that the target lacks a permission.

    A target without listings need not be allowed to list. Without that permission S3 also denies access to missing
    objects, so its 403 says nothing about objects that exist.
    """
    get = target.actions.get
    if action == _LIST:
        return get.enabled and not get.disable_listing
    return action != _GET or _LIST in granted


async def _nothing() -> AsyncIterator[bytes]:
    yield b""


_NETWORK = "check `bucket.s3Endpoint`, name resolution, routes, firewalls and TLS certificates on the way to S3"
_IN_HOST = "; if its buckets have no host names of their own, set `bucket.s3ForcePathStyle: true`"
_REGION = BucketProblem(
    "wrong-region", "the bucket is in another region", "set `bucket.region` to the region of the bucket"
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
    if error.code in _BY_CODE:
        return _BY_CODE[error.code]
    detail = str(error).partition(": ")[2] or str(error)
    match error:
        case errors.BucketMissing() | errors.ObjectMissing():
            cure = "create the bucket, or correct `bucket.name`, `bucket.region` or `bucket.s3Endpoint`"
            return BucketProblem("no-bucket", f"there is no bucket `{bucket.name}`", cure)
        case errors.AccessDenied():
            cure = f"grant `{action}` on `{_resource(action, bucket)}`"
            return BucketProblem("access-denied", f"`{action}` is not permitted", cure)
        case errors.Unreachable() | errors.TimedOut():
            code = "unreachable" if isinstance(error, errors.Unreachable) else "timed-out"
            has_name_in_host = bucket.s3_endpoint is not None and not bucket.force_path_style
            return BucketProblem(code, detail, f"{_NETWORK}{_IN_HOST if has_name_in_host else ''}")
        case errors.Busy():
            return BucketProblem("busy", detail, "wait, raise `s3.connections`, or send S3 fewer requests")
    return BucketProblem("failed", f"{action}: {detail}", "look for the error code in the S3 documentation")


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
            for attempt in attempts:
                if (found := await _outlook(store, attempt)) is not None:
                    return found
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
