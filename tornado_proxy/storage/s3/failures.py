"""What S3 answers, and what boto3 and the libraries below it raise, as errors of this package: one table each.

An exception of another kind is a defect of ours, and passes: it becomes a 500 with its traceback in the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from tornado_proxy.storage.errors import (
    AccessDenied,
    BucketMissing,
    Busy,
    NotModified,
    ObjectMissing,
    PreconditionFailed,
    RangeUnsatisfiable,
    StorageError,
    TimedOut,
    TooLarge,
    Unreachable,
    UploadMissing,
    UpstreamError,
)

# Error codes (S3 API, "Error responses"); a HEAD has no body to hold one, and boto3 gives its status instead.
_BY_CODE: dict[str, type[StorageError]] = {
    "NoSuchKey": ObjectMissing,
    "NoSuchBucket": BucketMissing,
    "AccessDenied": AccessDenied,
    "AllAccessDisabled": AccessDenied,
    "ExpiredToken": AccessDenied,
    "InvalidAccessKeyId": AccessDenied,
    "InvalidObjectState": AccessDenied,
    "InvalidToken": AccessDenied,
    "RequestTimeTooSkewed": AccessDenied,
    "SignatureDoesNotMatch": AccessDenied,
    "PreconditionFailed": PreconditionFailed,
    "ConditionalRequestConflict": PreconditionFailed,
    "InvalidRange": RangeUnsatisfiable,
    "EntityTooLarge": TooLarge,
    "OperationAborted": Busy,
    "RequestLimitExceeded": Busy,
    "ServiceUnavailable": Busy,
    "SlowDown": Busy,
    "Throttling": Busy,
    "ThrottlingException": Busy,
    "TooManyRequestsException": Busy,
    "RequestTimeout": TimedOut,
    "NoSuchUpload": UploadMissing,
}

_BY_STATUS: dict[int, type[StorageError]] = {
    304: NotModified,
    401: AccessDenied,
    403: AccessDenied,
    404: ObjectMissing,
    408: TimedOut,
    412: PreconditionFailed,
    413: TooLarge,
    416: RangeUnsatisfiable,
    429: Busy,
    503: Busy,
    504: TimedOut,
}


@cache
def _by_exception() -> tuple[tuple[tuple[type[Exception], ...], type[StorageError]], ...]:
    """What keeps S3 from answering; the first row that fits counts."""
    # boto3 is imported by what calls it, and not by reads on the loop.
    from http.client import HTTPException  # noqa: PLC0415

    from botocore import exceptions  # noqa: PLC0415
    from botocore.parsers import ResponseParserError  # noqa: PLC0415
    from urllib3.exceptions import HTTPError  # noqa: PLC0415
    from urllib3.exceptions import TimeoutError as UrllibTimeoutError  # noqa: PLC0415

    return (
        ((exceptions.ConnectTimeoutError, exceptions.ReadTimeoutError, UrllibTimeoutError, TimeoutError), TimedOut),
        (
            (
                exceptions.ConnectionError,
                exceptions.ConnectionClosedError,
                exceptions.HTTPClientError,
                exceptions.IncompleteReadError,
                exceptions.ResponseStreamingError,
            ),
            Unreachable,
        ),
        ((HTTPError, HTTPException, OSError), Unreachable),
        # Credentials that are not found or cannot be refreshed are here: nothing that a client did, so no 403.
        ((exceptions.BotoCoreError, ResponseParserError), UpstreamError),
    )


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raises the libraries' exceptions as `StorageError`; their messages begin with what was being done."""
    try:
        yield
    except StorageError:
        raise
    except Exception as error:
        failure = _translation(error, doing)
        if failure is None:
            raise
        raise failure from error


def _translation(error: Exception, doing: str) -> StorageError | None:
    """The `StorageError` for an exception of a library; None for another."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - as above

    if isinstance(error, ClientError):
        detail = error.response.get("Error", {})
        metadata = error.response.get("ResponseMetadata", {})
        status, request_id = metadata.get("HTTPStatusCode", 0), metadata.get("RequestId")
        return from_answer(doing, status, detail.get("Code", ""), f"{detail.get('Message')} (request {request_id})")
    kind = next((ours for theirs, ours in _by_exception() if isinstance(error, theirs)), None)
    if kind is None:
        return None
    failure = kind(f"{doing}: {type(error).__name__}: {error}")
    failure.code = type(error).__name__
    return failure


def from_answer(doing: str, status: int, code: str, message: str) -> StorageError:
    """The `StorageError` for an error that S3 answers: its code decides, or the status where the code is unknown.

    The answer to a HEAD has no body and so no code.
    """
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status, UpstreamError)
    failure = kind(f"{doing}: {status} {code}: {message}")
    failure.code = code or str(status)
    return failure
