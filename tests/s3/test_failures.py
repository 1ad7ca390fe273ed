from http.client import IncompleteRead, RemoteDisconnected

import botocore.exceptions
import pytest
import urllib3.exceptions
from botocore.parsers import ResponseParserError

from tornado_proxy.s3.failures import from_answer, translated
from tornado_proxy.storage import errors


def client_error(status: int, code: str) -> botocore.exceptions.ClientError:
    metadata = {"HTTPStatusCode": status, "RequestId": "tx-1", "HTTPHeaders": {}}
    return botocore.exceptions.ClientError(
        {"Error": {"Code": code, "Message": "So it is"}, "ResponseMetadata": metadata}, "GetObject"
    )


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (404, "NoSuchKey", errors.ObjectMissing),
        (404, "404", errors.ObjectMissing),
        (404, "NoSuchBucket", errors.BucketMissing),
        (404, "NoSuchUpload", errors.UploadMissing),
        (403, "AccessDenied", errors.AccessDenied),
        (403, "403", errors.AccessDenied),
        (403, "SignatureDoesNotMatch", errors.CredentialsRefused),
        (403, "InvalidAccessKeyId", errors.CredentialsRefused),
        (403, "RequestTimeTooSkewed", errors.CredentialsRefused),
        (403, "SomethingNew", errors.AccessDenied),
        (400, "ExpiredToken", errors.CredentialsRefused),
        (304, "304", errors.NotModified),
        (412, "PreconditionFailed", errors.PreconditionFailed),
        (412, "412", errors.PreconditionFailed),
        (409, "ConditionalRequestConflict", errors.PreconditionFailed),
        (409, "ConcurrentModification", errors.PreconditionFailed),
        (409, "OperationAborted", errors.Busy),
        (400, "KeyTooLongError", errors.NameRefused),
        (400, "XMinioInvalidObjectName", errors.NameRefused),
        (409, "ExistingObjectIsDirectory", errors.ObjectExists),
        (409, "ObjectParentIsFile", errors.ObjectExists),
        (409, "XMinioObjectExistsAsDirectory", errors.ObjectExists),
        (400, "XMinioParentIsObject", errors.ObjectExists),
        (416, "InvalidRange", errors.RangeUnsatisfiable),
        (400, "EntityTooLarge", errors.TooLarge),
        (503, "SlowDown", errors.Busy),
        (503, "503", errors.Busy),
        (429, "TooManyRequests", errors.Busy),
        (400, "RequestLimitExceeded", errors.Busy),
        (400, "RequestTimeout", errors.TimedOut),
        (504, "504", errors.TimedOut),
        (500, "InternalError", errors.UpstreamError),
        (501, "NotImplemented", errors.UpstreamError),
        (400, "InvalidArgument", errors.UpstreamError),
        (301, "PermanentRedirect", errors.UpstreamError),
    ],
)
def test_an_error_of_s3_becomes_a_storage_error(status, code, expected):
    """An error of S3 becomes the storage error for its code, or for its status if the code is unknown."""
    with pytest.raises(errors.StorageError) as caught, translated("GetObject of `a`"):
        raise client_error(status, code)
    assert type(caught.value) is expected
    answer = code if code == str(status) else f"{status} {code}"
    assert str(caught.value) == f"GetObject of `a`: {answer}: So it is (request tx-1)"


@pytest.mark.parametrize(
    ("message", "request_id", "expected"),
    [
        ("Not Found", "tx-1", "HEAD of `a`: 404: Not Found (request tx-1)"),
        ("Not Found", "", "HEAD of `a`: 404: Not Found"),
        ("", "tx-1", "HEAD of `a`: 404 (request tx-1)"),
        ("", "", "HEAD of `a`: 404"),
    ],
)
def test_an_answer_without_a_body_is_told_by_its_status(message, request_id, expected):
    """What an answer to a HEAD does not have is not in the text."""
    failure = from_answer("HEAD of `a`", 404, "", message, request_id)
    assert (type(failure), failure.code, str(failure)) == (errors.ObjectMissing, "404", expected)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (botocore.exceptions.ConnectTimeoutError(endpoint_url="http://s3"), errors.TimedOut),
        (botocore.exceptions.ReadTimeoutError(endpoint_url="http://s3"), errors.TimedOut),
        (TimeoutError(), errors.TimedOut),
        (botocore.exceptions.EndpointConnectionError(endpoint_url="http://s3"), errors.Unreachable),
        (botocore.exceptions.ConnectionClosedError(endpoint_url="http://s3"), errors.Unreachable),
        (botocore.exceptions.SSLError(endpoint_url="http://s3", error="bad certificate"), errors.Unreachable),
        (botocore.exceptions.ProxyConnectionError(proxy_url="http://proxy"), errors.Unreachable),
        (botocore.exceptions.HTTPClientError(error="broken"), errors.Unreachable),
        (botocore.exceptions.IncompleteReadError(actual_bytes=1, expected_bytes=2), errors.Unreachable),
        (botocore.exceptions.ResponseStreamingError(error="broken"), errors.Unreachable),
        (urllib3.exceptions.ProtocolError("broken"), errors.Unreachable),
        (IncompleteRead(b"", 5), errors.Unreachable),
        (RemoteDisconnected(), errors.Unreachable),
        (ConnectionResetError(), errors.Unreachable),
        (botocore.exceptions.CredentialRetrievalError(provider="iam-role", error_msg="gone"), errors.UpstreamError),
        (botocore.exceptions.ParamValidationError(report="bad"), errors.UpstreamError),
        (ResponseParserError("no XML"), errors.UpstreamError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.__name__,
)
def test_an_error_of_a_library_becomes_a_storage_error(error, expected):
    """An error of botocore, urllib3 or http.client becomes a storage error with it as the cause."""
    with (
        pytest.raises(errors.StorageError, match=f"^reading: {type(error).__name__}: ") as caught,
        translated("reading"),
    ):
        raise error
    assert (type(caught.value), caught.value.__cause__) == (expected, error)


def test_missing_credentials_are_reported_with_the_places_where_they_may_be():
    """The error says where boto3 looked."""
    with pytest.raises(errors.UpstreamError) as caught, translated("reading"):
        raise botocore.exceptions.NoCredentialsError
    places = "the environment, a profile, a web identity or the role of the instance"
    assert str(caught.value) == f"reading: boto3 found no credentials in {places}"
    assert caught.value.code == "NoCredentialsError"


@pytest.mark.parametrize(
    "error", [errors.Busy("so it is"), KeyError("key"), ValueError("value"), TypeError(), KeyboardInterrupt()]
)
def test_other_errors_pass_unchanged(error):
    """A storage error and an error that no library raises pass through unchanged."""
    with pytest.raises(type(error)) as caught, translated("reading"):
        raise error
    assert caught.value is error


def test_a_lack_of_descriptors_is_ours():
    """No descriptor for a connection is a reason to try again later, not a broken S3."""
    with pytest.raises(errors.Busy), translated("GetObject of `a`"):
        raise OSError(24, "Too many open files")
