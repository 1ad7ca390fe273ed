"""The releases of rules in a bucket: read by services, written by `tornado-proxy push`. All calls block.

PREFIX/current.json             the pointer
PREFIX/releases/DIGEST.json     a release, which never changes
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tornado_proxy.config.model import Bucket, RulesBucket
from tornado_proxy.config.values import S3
from tornado_proxy.rules.loading import RuleFile
from tornado_proxy.rules.releases import LARGEST_POINTER, LARGEST_RELEASE, Pointer, Release, UnusableRelease
from tornado_proxy.s3.executor import make_within
from tornado_proxy.s3.failures import translated
from tornado_proxy.storage.errors import PreconditionFailed, StorageError, UpstreamError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

UNUSABLE = "unusable"
"""The code of the error about an object that is no release, no pointer, or another one than its name says."""

_POINTER = "current.json"
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_NOBODYS = '"00000000000000000000000000000000"'  # an ETag that no object has


class ReleaseBucket:
    """The releases at a place in a bucket; its methods raise `StorageError`.

    `timeout` is how long S3 may neither send nor receive anything, `longest` how long a read may take, in seconds.
    """

    def __init__(self, place: RulesBucket, timeout: float = 30.0, attempts: int = 3, longest: float = 300.0) -> None:
        self.place = place.s3
        self._name, _, self._prefix = place.s3.removeprefix(S3).partition("/")
        self._longest = longest
        self._client = _client(place, Bucket(self._name, read_timeout=timeout, max_attempts=attempts))

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def read_pointer(self, etag: str = "") -> tuple[Pointer, str]:
        """Returns the pointer and its ETag; raises `NotModified` if that is `etag`, `ObjectMissing` before a push."""
        with _reading(f"`{self.place}{_POINTER}`"):
            data, etag = make_within(self._longest, partial(self._get, _POINTER, LARGEST_POINTER, etag))
            return Pointer.read(data), etag

    def read_release(self, digest: str) -> Release:
        """Returns a release, whose digest is that of what was read."""
        with _reading(f"`{self.place}{_key(digest)}`"):
            data, _ = make_within(self._longest, partial(self._get, _key(digest), LARGEST_RELEASE))
            return Release.read(data, digest)

    def write_release(self, release: Release) -> None:
        """Writes a release unless it is there and whole, and reads it back."""
        try:
            self._put(_key(release.digest), release.data, IfNoneMatch="*")
        except PreconditionFailed:
            with suppress(UpstreamError):
                self.read_release(release.digest)
                return
            self._put(_key(release.digest), release.data)
        self.read_release(release.digest)

    def heeds_conditions(self, release: Release) -> bool:
        """Whether S3 refuses writes whose condition is false, tried by writing a release again, which changes nothing.

        Without that, two who move the pointer at once do not notice each other.
        """
        return all(self._refuses(release, condition) for condition in ({"IfNoneMatch": "*"}, {"IfMatch": _NOBODYS}))

    def _refuses(self, release: Release, condition: dict[str, str]) -> bool:
        try:
            self._put(_key(release.digest), release.data, **condition)
        except PreconditionFailed:
            return True
        except StorageError as error:
            if error.code == "NotImplemented":
                return False
            raise
        return False

    def move(self, pointer: Pointer, etag: str, *, conditional: bool = True) -> None:
        """Replaces the pointer that has the ETag, or makes the first one.

        Raises `PreconditionFailed` if it has another one, unless the write is not `conditional`.
        """
        condition = {"IfMatch": etag} if etag else {"IfNoneMatch": "*"}
        self._put(_POINTER, pointer.data, **(condition if conditional else {}))

    def _get(self, key: str, most: int, etag: str = "") -> tuple[bytes, str]:
        condition: dict[str, Any] = {"IfNoneMatch": etag} if etag else {}
        answer = self._client.get_object(Bucket=self._name, Key=self._prefix + key, **condition)
        with closing(answer["Body"]) as body:
            data = body.read(most + 1) if answer["ContentLength"] <= most else b""
        if not 0 < len(data) <= most:
            raise UnusableRelease(f"it has {answer['ContentLength']:,} bytes, and may have {most:,}")
        return data, answer["ETag"]

    def _put(self, key: str, data: bytes, **condition: str) -> None:
        parameters: dict[str, Any] = {"ContentType": "application/json", **condition}
        with translated(f"`{self.place}{key}`"):
            self._client.put_object(Bucket=self._name, Key=self._prefix + key, Body=data, **parameters)


def _key(digest: str) -> str:
    return f"releases/{digest}.json"


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Raises whatever is wrong with an object as `StorageError`."""
    try:
        with translated(what):
            yield
    except UnusableRelease as error:
        failure = UpstreamError(f"{what}: {error}")
        failure.code = UNUSABLE
        raise failure from error


def _client(place: RulesBucket, bucket: Bucket) -> S3Client:
    """Returns the client for a place; what the place does not say is found by boto3."""
    from tornado_proxy.s3.client import make_client, make_session  # noqa: PLC0415 - boto3, for rules in a bucket only

    # Nearly all S3s that are not AWS want the name of the bucket in the path; a variable cannot say so.
    variable = next(filter(None, map(os.environ.get, _ENDPOINTS)), None)
    bucket = replace(
        bucket,
        s3_endpoint=place.s3_endpoint or variable,
        force_path_style=place.force_path_style or (variable is not None and place.s3_endpoint is None),
        credentials=place.credentials,
    )
    session = make_session(bucket)
    region = place.region or session.region_name or bucket.region
    return make_client(replace(bucket, region=region), threads=1, session=session)


def release_in_force(place: RulesBucket) -> tuple[RuleFile, ...]:
    """Returns the rule files in force at a place; raises `StorageError`."""
    with closing(ReleaseBucket(place)) as bucket:
        pointer, _ = bucket.read_pointer()
        return bucket.read_release(pointer.moves[0].digest).below(bucket.place)
