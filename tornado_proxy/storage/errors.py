"""The errors of a store, with the statuses that answer them.

StorageError
├── ObjectMissing        no such key                                          → 404
├── BucketMissing        no such bucket: the configuration or the bucket      → 502
├── AccessDenied         the store's credentials do not allow the call        → 403
├── CredentialsRefused   the store's own credentials or clock are wrong       → 502
├── NotModified          a conditional GET or HEAD found nothing new          → 304, with the info's headers
├── PreconditionFailed   If-Match, If-None-Match, If-Unmodified-Since failed  → 412
├── RangeUnsatisfiable   no byte of the range exists                          → 416, with the size
├── UploadMissing        no such multipart upload                             → 404
├── ObjectExists         a write that must not replace found an object        → 409
├── NameRefused          S3 keeps no object of such a name                    → 400
├── ConditionIgnored     S3 does not heed the condition of a write            → 502, and nothing is written
├── TooLarge             more bytes than allowed                              → 413
├── Busy                 S3 asks to slow down, or nothing became free in time → 503
├── TimedOut             no answer in time                                    → 504
├── Unreachable          no connection, or a broken one                       → 502
└── UpstreamError        any other answer, since the client is not to blame   → 502
"""

from __future__ import annotations

from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.semantics.request import StatusError
from tornado_proxy.storage.store import ObjectInfo

NOT_S3 = "something else than S3 answers at `bucket.s3Endpoint`"
"""What the text of an `UpstreamError` has for a page of a console, or of a captive portal."""


class StorageError(StatusError):
    """A call of a store failed; the text is for the log, never for a client.

    `code` is the error code of S3 or the name of the library's exception; empty without either. It `is_refusal` if S3
    says by it that a write has not happened; otherwise it may have.
    """

    status = 502
    code = ""
    is_refusal = False


class ObjectMissing(StorageError):
    """The key has no object."""

    status = 404


class BucketMissing(StorageError):
    """The bucket does not exist: a mistake of the configuration, so never a 404."""


class AccessDenied(StorageError):
    """The credentials do not allow the call. S3 also says so of a missing key if they do not allow listing."""

    status = 403


class CredentialsRefused(StorageError):
    """The store's own credentials or clock are wrong: a mistake of the configuration, so never a 403."""


class NotModified(StorageError):
    """The client's copy is current; `info` holds the headers of a 304 (RFC 9110 15.4.5) that S3 sent."""

    status = 304

    def __init__(self, message: str, info: ObjectInfo | None = None) -> None:
        super().__init__(message)
        self.info = info


class PreconditionFailed(StorageError):
    """A condition of the client's is false."""

    status = 412
    is_refusal = True


class RangeUnsatisfiable(StorageError):
    """No byte of the range exists; `size` is the size of the object in bytes, for `Content-Range: bytes */N`."""

    status = 416

    def __init__(self, message: str, size: int | None = None) -> None:
        super().__init__(message)
        self.size = size


class ObjectExists(StorageError):
    """A write that must not replace an object found one, or what S3 keeps as its directory."""

    status = 409
    is_refusal = True


class NameRefused(StorageError):
    """S3 keeps no object of such a name: it is too long, or has a character that S3 does not take."""

    status = 400


class ConditionIgnored(StorageError):
    """S3 does not heed the condition of a write, which was not made; `bucket.conditionalWrites` names another way."""

    is_refusal = True
    code = "condition-ignored"


class UploadMissing(StorageError):
    """The key has no multipart upload of that ID; it may have been completed, aborted or expired."""

    status = 404
    public_message = "There is no such upload; it may have been completed or removed"


class TooLarge(StorageError):
    """More bytes than S3 or the configuration of the target allows."""

    status = 413


class Busy(StorageError):
    """S3 asks to slow down, or no connection, memory or turn became free in time."""

    status = 503


class TimedOut(StorageError):
    """S3 did not answer in time."""

    status = 504


class Unreachable(StorageError):
    """There is no connection to S3, or it broke."""


class UpstreamError(StorageError):
    """S3 sent an unexpected answer."""


def check_conditions(key: ObjectKey, info: ObjectInfo, conditions: Conditions) -> None:
    """Raises `NotModified` or `PreconditionFailed` if the conditions of a GET or HEAD demand it."""
    match conditions.decide(info.etag, info.last_modified):
        case "not modified":
            raise NotModified(f"`{key}` is what the client has", info)
        case "precondition failed":
            raise PreconditionFailed(f"`{key}` is not what the client expects")
        case "proceed":
            return
