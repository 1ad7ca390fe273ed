"""One table: what went wrong, and the status, the headers and the words that answer it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tornado_proxy.auth.authenticator import AuthBusy, Challenge
from tornado_proxy.routing.errors import RequestError
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.semantics.ranges import ContentRange
from tornado_proxy.storage.errors import (
    AccessDenied,
    BucketMissing,
    Busy,
    NotModified,
    ObjectExists,
    ObjectMissing,
    PreconditionFailed,
    RangeUnsatisfiable,
    StorageError,
    TimedOut,
    TooLarge,
    Unreachable,
    UpstreamError,
)
from tornado_proxy.telemetry.service_log import shortage

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error as an answer: the reason is the operator's, the message the client's."""

    status: int
    reason: str
    headers: Headers = ()
    is_defect: bool = False  # whether it is ours to mend, rather than the client's or the store's

    def message(self, method: str) -> str:
        """What the client is told: the status in a sentence, and nothing of keys, buckets or exceptions."""
        known = {**_MESSAGES, **_UPLOAD_MESSAGES} if method == "PUT" else _MESSAGES
        return known.get(self.status, "The request could not be answered")


STORAGE: Mapping[type[StorageError], int] = MappingProxyType(
    {
        NotModified: 304,
        AccessDenied: 403,
        ObjectMissing: 404,
        ObjectExists: 409,
        PreconditionFailed: 412,
        TooLarge: 413,
        RangeUnsatisfiable: 416,
        BucketMissing: 502,
        Unreachable: 502,
        UpstreamError: 502,
        Busy: 503,
        TimedOut: 504,
    }
)
"""What a store can fail with, and the status of its answer."""

# Seconds; S3 asks for no more than a slower rate.
_RETRY_AFTER = (("Retry-After", "2"),)

_MESSAGES: Mapping[int, str] = MappingProxyType(
    {
        400: "The request is not one that can be understood",
        401: "Sign in to see this",
        403: "This is not allowed",
        404: "There is nothing at this address",
        405: "This cannot be done here",
        408: "The request's body stopped arriving",
        409: "Something is here already, and it may not be replaced",
        412: "A condition of the request does not hold",
        413: "The upload is larger than is allowed here",
        415: "The request's body is of a type that is not taken here",
        416: "The file has no such range of bytes",
        431: "The request's headers are larger than is allowed",
        500: "Something went wrong on our side",
        502: "The storage could not be reached, or gave no useful answer",
        503: "The service is busy; try again in a moment",
        504: "The storage did not answer in time",
    }
)

_UPLOAD_MESSAGES: Mapping[int, str] = MappingProxyType(
    {
        400: "An upload is a complete form with one field “file”, sent to an address that ends in “/”",
        415: "An upload is a form (multipart/form-data) with one field “file”",
    }
)


def refusal(error: Exception) -> Refusal:
    """The answer to whatever was raised; what no row knows is a defect of ours."""
    match error:
        case RequestError():
            return Refusal(error.status, str(error))
        case RangeUnsatisfiable(size=size):
            whole = (("Content-Range", ContentRange(None, None, size).to_header()),) if size is not None else ()
            return Refusal(416, _reason(error), whole)
        case Busy():
            return Refusal(503, _reason(error), _RETRY_AFTER)
        case AuthBusy():
            return Refusal(503, str(error), _RETRY_AFTER)
        case StorageError():
            return Refusal(STORAGE.get(type(error), 502), _reason(error))
        case _:
            defect = Refusal(500, f"`{type(error).__name__}` was raised", is_defect=True)
            missing = shortage(error)
            return Refusal(503, missing, _RETRY_AFTER) if missing else defect


def refusal_of(attempt: Refuse) -> Refusal:
    """The answer of a plan that refuses; Allow belongs to a 405, even where it is empty (RFC 9110 15.5.6)."""
    allow = (("Allow", ", ".join(attempt.allow)),) if attempt.status == 405 else ()
    return Refusal(attempt.status, attempt.reason, allow)


def refusal_by(challenge: Challenge) -> Refusal:
    """The answer that asks for credentials (RFC 9110 11.6.1)."""
    return Refusal(401, challenge.reason, (("WWW-Authenticate", challenge.header),))


def _reason(error: StorageError) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
