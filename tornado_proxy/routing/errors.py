"""The errors of requests before any call to S3, and the one table of the statuses of all errors.

`gateway` adds the errors of HTTP itself, each where it is raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType


class RequestError(Exception):
    """A request that must be refused; the text is for the log and `explain`, not for a client."""


class BadAddress(RequestError):
    """A request line that has neither a path nor an absolute address (RFC 9112 3.2)."""


class BadPath(RequestError):
    """A path that cannot be decoded, or holds a dot segment or a control character."""


class BadStep(RequestError):
    """A query that names a step of an upload in parts without what the step needs."""


class BadFileName(RequestError):
    """A file name that is empty, a dot segment, or holds a control character."""


class UnknownFormat(RequestError):
    """A `?format=` that a listing does not have; the text names those that it has, and the client may read it."""


class KeyTooLong(RequestError):
    """An object key of more bytes than S3 allows."""


class LengthRequired(RequestError):
    """An upload without a size, where the size must be known before the content (RFC 9110 15.5.12)."""


class MetadataTooLarge(RequestError):
    """Metadata of an upload, made by templates, of more bytes than S3 allows."""


class PropertyFailed(RequestError):
    """A template of an upload's metadata, headers or storage class that failed or has an invalid result."""


# By name: the errors live in four layers, and only the lowest of them may be imported here.
STATUSES: Mapping[str, int] = MappingProxyType(
    {
        # RequestError: what the client sent
        "RequestError": 400,
        "ArchiveTooLarge": 403,
        "CrossOrigin": 403,
        "BodyTimeout": 408,
        "LengthRequired": 411,
        "FormTooLarge": 413,
        "NotAForm": 415,
        "NotAFile": 415,
        "TypeNotAllowed": 415,
        "HeadTooLarge": 431,
        "PropertyFailed": 500,
        "ClientDisconnected": 499,  # nobody sees it; operators know it from nginx
        # RewriteError: what the rules made of the key
        "RefusedResult": 400,  # the client chose what the template inserted
        "UserRequired": 403,
        "TemplateFailed": 500,
        # StorageError: what the store answered
        "NotModified": 304,
        "AccessDenied": 403,
        "ObjectMissing": 404,
        "UploadMissing": 404,
        "ObjectExists": 409,
        "PreconditionFailed": 412,
        "TooLarge": 413,
        "RangeUnsatisfiable": 416,
        "BucketMissing": 502,
        "StorageError": 502,
        "Busy": 503,
        "TimedOut": 504,
        # Custom pages
        "PageFailed": 500,
        # The sign-in
        "AuthBusy": 503,
    }
)
"""The status that answers an error, by the name of its class; a subclass without a row has its parent's."""


def status_of(error: Exception) -> int | None:
    """Returns the status that answers an error; None for a defect of ours, which no row names."""
    return next((STATUSES[each.__name__] for each in type(error).__mro__ if each.__name__ in STATUSES), None)
