"""Errors of S3, and exceptions of boto3 and the libraries below it, as `StorageError`: a table for each.

Any other exception is a defect of ours. It passes, and becomes a 500 with its traceback in the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPException

from botocore import exceptions
from botocore.parsers import ResponseParserError
from urllib3.exceptions import HTTPError
from urllib3.exceptions import TimeoutError as UrllibTimeoutError

from tornado_proxy.semantics.request import shortage
from tornado_proxy.storage import errors
from tornado_proxy.storage.store import note_request_id

# Error codes (S3 API, "Error responses"); a HEAD has no body and so no code; boto3 gives its status instead.
_BY_CODE: dict[str, type[errors.StorageError]] = {
    "NoSuchKey": errors.ObjectMissing,
    "NoSuchBucket": errors.BucketMissing,
    "AccessDenied": errors.AccessDenied,
    "AllAccessDisabled": errors.AccessDenied,
    "ExpiredToken": errors.CredentialsRefused,
    "InvalidAccessKeyId": errors.CredentialsRefused,
    "InvalidObjectState": errors.AccessDenied,
    "InvalidToken": errors.CredentialsRefused,
    "RequestTimeTooSkewed": errors.CredentialsRefused,
    "SignatureDoesNotMatch": errors.CredentialsRefused,
    "PreconditionFailed": errors.PreconditionFailed,
    "ConditionalRequestConflict": errors.PreconditionFailed,
    "ConcurrentModification": errors.PreconditionFailed,  # the same of Ceph
    "InvalidRange": errors.RangeUnsatisfiable,
    "EntityTooLarge": errors.TooLarge,
    "OperationAborted": errors.Busy,
    "RequestLimitExceeded": errors.Busy,
    "ServiceUnavailable": errors.Busy,
    "SlowDown": errors.Busy,
    "Throttling": errors.Busy,
    "ThrottlingException": errors.Busy,
    "TooManyRequestsException": errors.Busy,
    "RequestTimeout": errors.TimedOut,
    "NoSuchUpload": errors.UploadMissing,
    # Of S3s that keep files: a name that they cannot keep, and one that a file or a directory has already.
    "KeyTooLongError": errors.NameRefused,
    "XMinioInvalidObjectName": errors.NameRefused,
    "ExistingObjectIsDirectory": errors.ObjectExists,
    "ObjectParentIsFile": errors.ObjectExists,
    "XMinioObjectExistsAsDirectory": errors.ObjectExists,
    "XMinioParentIsObject": errors.ObjectExists,
}

_BY_STATUS: dict[int, type[errors.StorageError]] = {
    304: errors.NotModified,
    401: errors.AccessDenied,
    403: errors.AccessDenied,
    404: errors.ObjectMissing,
    408: errors.TimedOut,
    412: errors.PreconditionFailed,
    413: errors.TooLarge,
    416: errors.RangeUnsatisfiable,
    429: errors.Busy,
    503: errors.Busy,
    504: errors.TimedOut,
}

# The statuses up to 501 after which a write may have happened.
_UNCLEAR = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.INTERNAL_SERVER_ERROR)

TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses after which the same request may succeed (S3 API, "Error best practices")."""
THROTTLED = frozenset({429, 503})
"""Those by which S3 asks for fewer requests."""


_NO_CREDENTIALS = "boto3 found no credentials in the environment, a profile, a web identity or the role of the instance"

_LOST = (exceptions.ConnectionError, exceptions.HTTPClientError, exceptions.IncompleteReadError)
_TIMEOUTS = (exceptions.ConnectTimeoutError, exceptions.ReadTimeoutError, UrllibTimeoutError, TimeoutError)

# The first matching row applies.
_BY_EXCEPTION: tuple[tuple[tuple[type[Exception], ...], type[errors.StorageError]], ...] = (
    (_TIMEOUTS, errors.TimedOut),
    ((*_LOST, HTTPError, HTTPException, OSError), errors.Unreachable),
    # Includes missing and expired credentials: no 403, since the client is not to blame.
    ((exceptions.BotoCoreError, ResponseParserError), errors.UpstreamError),
)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raises exceptions of libraries as `StorageError`; `doing` is the start of the message."""
    try:
        yield
    except errors.StorageError:
        raise
    except exceptions.ClientError as error:
        detail = error.response.get("Error", {})
        metadata = error.response.get("ResponseMetadata", {})
        status, request_id = metadata.get("HTTPStatusCode", 0), metadata.get("RequestId", "")
        note_request_id(request_id)
        raise from_answer(doing, status, detail.get("Code", ""), detail.get("Message", ""), request_id) from error
    except Exception as error:
        kind = next((ours for theirs, ours in _BY_EXCEPTION if isinstance(error, theirs)), None)
        if kind is None:
            raise
        name = type(error).__name__
        told = f"{name}: {errors.NOT_S3}: {error}" if isinstance(error, ResponseParserError) else f"{name}: {error}"
        told = _NO_CREDENTIALS if isinstance(error, exceptions.NoCredentialsError) else told
        failure = (errors.Busy if shortage(error) else kind)(f"{doing}: {told}")
        failure.code = name
        raise failure from error


def from_answer(doing: str, status: int, code: str, message: str, request_id: str) -> errors.StorageError:
    """Returns the `StorageError` for an error answer of S3, by its code, or by its status for an unknown code.

    The answer to a HEAD has no body, and so neither code nor message: boto3 gives the status as its code.
    """
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status, errors.UpstreamError)
    code = code or str(status)
    answer = code if code == str(status) else f"{status} {code}"
    request = f"(request {request_id})" if request_id else ""
    failure = kind(f"{doing}: " + " ".join(filter(None, (f"{answer}:" if message else answer, message, request))))
    failure.code = code
    failure.is_refusal = 300 <= status <= HTTPStatus.NOT_IMPLEMENTED and status not in _UNCLEAR
    return failure
