from __future__ import annotations

from http.client import IncompleteRead, RemoteDisconnected

import botocore.exceptions as theirs
import pytest
import urllib3.exceptions
from botocore.parsers import ResponseParserError

from tornado_proxy.storage import errors as ours
from tornado_proxy.storage.s3.failures import translated


def answered(status: int, code: str) -> theirs.ClientError:
    metadata = {"HTTPStatusCode": status, "RequestId": "tx-1", "HTTPHeaders": {}}
    return theirs.ClientError(
        {"Error": {"Code": code, "Message": "So it is"}, "ResponseMetadata": metadata}, "GetObject"
    )


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (404, "NoSuchKey", ours.ObjectMissing),
        (404, "404", ours.ObjectMissing),
        (404, "NoSuchBucket", ours.BucketMissing),
        (404, "NoSuchUpload", ours.UploadMissing),
        (403, "AccessDenied", ours.AccessDenied),
        (403, "403", ours.AccessDenied),
        (403, "SignatureDoesNotMatch", ours.AccessDenied),
        (403, "InvalidAccessKeyId", ours.AccessDenied),
        (403, "RequestTimeTooSkewed", ours.AccessDenied),
        (403, "SomethingNew", ours.AccessDenied),
        (400, "ExpiredToken", ours.AccessDenied),
        (304, "304", ours.NotModified),
        (412, "PreconditionFailed", ours.PreconditionFailed),
        (412, "412", ours.PreconditionFailed),
        (409, "ConditionalRequestConflict", ours.PreconditionFailed),
        (409, "OperationAborted", ours.Busy),
        (416, "InvalidRange", ours.RangeUnsatisfiable),
        (400, "EntityTooLarge", ours.TooLarge),
        (503, "SlowDown", ours.Busy),
        (503, "503", ours.Busy),
        (429, "TooManyRequests", ours.Busy),
        (400, "RequestLimitExceeded", ours.Busy),
        (400, "RequestTimeout", ours.TimedOut),
        (504, "504", ours.TimedOut),
        (500, "InternalError", ours.UpstreamError),
        (501, "NotImplemented", ours.UpstreamError),
        (400, "InvalidArgument", ours.UpstreamError),
        (301, "PermanentRedirect", ours.UpstreamError),
    ],
)
def test_what_s3_answers(status, code, expected):
    """An error of S3's is the one that its code means, or its status where the code is none that is known."""
    with pytest.raises(ours.StorageError) as caught, translated("GetObject of `a`"):
        raise answered(status, code)
    assert type(caught.value) is expected
    assert str(caught.value) == f"GetObject of `a`: {status} {code}: So it is (request tx-1)"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (theirs.ConnectTimeoutError(endpoint_url="http://s3"), ours.TimedOut),
        (theirs.ReadTimeoutError(endpoint_url="http://s3"), ours.TimedOut),
        (TimeoutError(), ours.TimedOut),
        (theirs.EndpointConnectionError(endpoint_url="http://s3"), ours.Unreachable),
        (theirs.ConnectionClosedError(endpoint_url="http://s3"), ours.Unreachable),
        (theirs.SSLError(endpoint_url="http://s3", error="bad certificate"), ours.Unreachable),
        (theirs.ProxyConnectionError(proxy_url="http://proxy"), ours.Unreachable),
        (theirs.HTTPClientError(error="broken"), ours.Unreachable),
        (theirs.IncompleteReadError(actual_bytes=1, expected_bytes=2), ours.Unreachable),
        (theirs.ResponseStreamingError(error="broken"), ours.Unreachable),
        (urllib3.exceptions.ProtocolError("broken"), ours.Unreachable),
        (IncompleteRead(b"", 5), ours.Unreachable),
        (RemoteDisconnected(), ours.Unreachable),
        (ConnectionResetError(), ours.Unreachable),
        (theirs.NoCredentialsError(), ours.UpstreamError),
        (theirs.CredentialRetrievalError(provider="iam-role", error_msg="gone"), ours.UpstreamError),
        (theirs.ParamValidationError(report="bad"), ours.UpstreamError),
        (ResponseParserError("no XML"), ours.UpstreamError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.__name__,
)
def test_what_keeps_s3_from_answering(error, expected):
    """Whatever library it comes from, what went wrong is an error of ours, with the other as its cause."""
    with pytest.raises(ours.StorageError, match=f"^reading: {type(error).__name__}: ") as caught, translated("reading"):
        raise error
    assert (type(caught.value), caught.value.__cause__) == (expected, error)


@pytest.mark.parametrize(
    "error", [ours.Busy("so it is"), KeyError("key"), ValueError("value"), TypeError(), KeyboardInterrupt()]
)
def test_what_is_not_theirs_passes(error):
    """Errors that are ours already, and mistakes, come through as they are."""
    with pytest.raises(type(error)) as caught, translated("reading"):
        raise error
    assert caught.value is error
