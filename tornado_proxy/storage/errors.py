"""The errors of a store; `gateway.answer` turns each into an answer.

StorageError
├── ObjectMissing        no such key                                          → 404
├── BucketMissing        no such bucket: the configuration or the bucket      → 502
├── AccessDenied         the store's credentials do not allow it              → 403
├── NotModified          a conditional GET or HEAD found nothing new          → 304, with the info's headers
├── PreconditionFailed   If-Match, If-None-Match, If-Unmodified-Since failed  → 412
├── RangeUnsatisfiable   no byte of the range exists                          → 416, with the size
├── UploadMissing        no such upload in parts                              → 404
├── ObjectExists         a write that must not replace found an object        → 409
├── TooLarge             more bytes than may be stored                        → 413
├── Busy                 S3 asks to slow down (SlowDown, 503)                 → 503
├── TimedOut             no answer in time                                    → 504
├── Unreachable          no connection, or one that broke                     → 502
└── UpstreamError        any other answer, as it is not our client's fault    → 502
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tornado_proxy.storage.store import ObjectInfo


class StorageError(Exception):
    """A failed call; the text is for the log, never for a client.

    `code` is the error code of S3, or the name of the library's exception, or empty.
    """

    code = ""


class ObjectMissing(StorageError):
    """There is no object of that key."""


class BucketMissing(StorageError):
    """There is no such bucket: a mistake of the configuration, so never a 404."""


class AccessDenied(StorageError):
    """The credentials do not allow it. Without permission to list, S3 answers so for a missing key too."""


class NotModified(StorageError):
    """The client's copy is current; `info` holds what a 304 must carry (RFC 9110 15.4.5), as far as S3 sent them."""

    def __init__(self, message: str, info: ObjectInfo | None = None) -> None:
        super().__init__(message)
        self.info = info


class PreconditionFailed(StorageError):
    """A condition of the client's does not hold."""


class RangeUnsatisfiable(StorageError):
    """No byte of the range exists; `size` is the object's, in bytes, for `Content-Range: bytes */N`."""

    def __init__(self, message: str, size: int | None = None) -> None:
        super().__init__(message)
        self.size = size


class ObjectExists(StorageError):
    """A write that must not replace found an object."""


class UploadMissing(StorageError):
    """There is no unfinished upload of that ID and key; it may have been completed, aborted or cleaned up."""


class TooLarge(StorageError):
    """More bytes than S3 or the target's configuration takes."""


class Busy(StorageError):
    """S3 asks to slow down."""


class TimedOut(StorageError):
    """S3 did not answer in time."""


class Unreachable(StorageError):
    """No connection to S3, or one that broke."""


class UpstreamError(StorageError):
    """An unexpected answer of S3."""
