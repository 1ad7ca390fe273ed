"""The errors of requests, and the answer to each error; `routing.errors` has the statuses, and the errors of paths.

RequestError (routing.errors)
├── MalformedMessage   the head breaks HTTP's grammar: request line, header, Host, framing
├── HeadTooLarge       request line and headers are more than the limit
├── NotAForm           an upload's body is not a multipart form
├── NotAFile           the body of an upload to a file path is a form, or is encoded
├── PartialPut         a PUT carries a part of a file only
├── DigestMismatch     a body is not what Content-MD5 or Content-Digest announce
├── ArchiveTooLarge    a directory that is asked for as one file holds too much
├── CrossOrigin        a page of another origin would change something
├── UploadIncomplete   the parts of an upload are not the whole file
├── TypeNotAllowed     an upload of a type that the target does not take
├── MalformedForm      the form is broken, cut short, or has not exactly one field `file`
├── FormTooLarge       what a form holds besides its file is more than the limit
├── BodyTimeout        no byte of the body came for too long
└── ClientDisconnected the client closed the connection, or takes nothing any more

PageFailed           a custom page cannot be made
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tornado_proxy.gateway.archive_formats import FORMATS as ARCHIVES
from tornado_proxy.routing.errors import RequestError, UnknownFormat, status_of
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.semantics.conditions import ContentRange
from tornado_proxy.storage.errors import RangeUnsatisfiable, StorageError
from tornado_proxy.telemetry.log import shortage

if TYPE_CHECKING:
    from tornado_proxy.gateway.answer import Headers


class MalformedMessage(RequestError):
    """A head that breaks the grammar of HTTP (RFC 9112), or a body whose framing does."""


class HeadTooLarge(RequestError):
    """Request line and headers together are longer than the limit (RFC 6585 5)."""


class NotAForm(RequestError):
    """An upload whose body is not `multipart/form-data`."""


class NotAFile(RequestError):
    """An upload to a file path whose body is a form, or has a content coding."""


class PartialPut(RequestError):
    """A PUT that carries a part of a file only (RFC 9110 14.5)."""


class DigestMismatch(RequestError):
    """A body that is not what Content-MD5 or Content-Digest announce, or a digest that cannot be read."""


class ArchiveTooLarge(RequestError):
    """A directory with more files or bytes than an archive may hold."""


class CrossOrigin(RequestError):
    """A PUT or DELETE that a browser sends for a page of another origin, with the authority of its user."""


class UploadIncomplete(RequestError):
    """An upload whose parts are not the whole file: one is missing, too small, or of another size than it should."""


class TypeNotAllowed(RequestError):
    """An upload of a type that is not one of the target's `allowedTypes`."""


class MalformedForm(RequestError):
    """A form that breaks its grammar (RFC 7578), ends before its closing boundary, or has not exactly one `file`."""


class FormTooLarge(RequestError):
    """A form that holds more than is allowed besides its file: other fields, headers, a preamble or an epilogue."""


class BodyTimeout(RequestError):
    """A client that stopped sending its body."""


class ClientDisconnected(RequestError):
    """A client that closed the connection, or stopped taking the answer."""


class PageFailed(Exception):
    """A custom page that cannot be made; the text is for the log."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error as an answer: the reason is the operator's, the message the client's."""

    status: int
    reason: str
    headers: Headers = ()
    is_defect: bool = False  # ours to fix, rather than the client's or the store's
    client_message: str | None = None  # where the status says too little

    def message(self, method: str) -> str:
        """Returns what the client reads: the status in a sentence, and nothing of keys, buckets or exceptions."""
        of_upload = _UPLOAD_MESSAGES.get(self.status) if method == "PUT" else None
        return self.client_message or of_upload or _MESSAGES.get(self.status, "The request could not be answered")


# Seconds; S3 asks for no more than a slower rate.
_RETRY_AFTER = (("Retry-After", "2"),)

_MESSAGES: Mapping[int, str] = MappingProxyType(
    {
        307: "Sign in to see this",
        400: "The request or its address is not valid",
        401: "Sign in to see this",
        403: "You do not have access to this",
        404: "There is nothing at this address",
        405: "This method is not available here",
        408: "The request's body stopped arriving",
        409: "A file of this name exists and may not be replaced",
        411: "The upload does not say how large it is",
        412: "A condition of the request is not met",
        413: "The upload is larger than allowed",
        415: "The type of the request's body is not supported here",
        416: "The requested range is outside the file",
        431: "The request's headers are larger than allowed",
        500: "Something went wrong on our side",
        502: "The storage could not be reached or gave an invalid answer",
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


_CLIENT_MESSAGES: Mapping[str, str] = MappingProxyType(
    {
        "ArchiveTooLarge": "This directory is too large to be one file",
        "CrossOrigin": "A page of another site may not change anything here",
        "DigestMismatch": "The upload does not match its digest",
        "NotAFile": "A file is sent to its path as it is, and a form to an address that ends in “/”",
        "PartialPut": "A file is uploaded as a whole",
        "TypeNotAllowed": "Files of this type are not accepted here",
        "UploadIncomplete": "The parts of the upload are not the whole file",
        "UploadMissing": "There is no such upload; it may have been completed or removed",
    }
)
"""What clients read, by the name of the error's class."""


def refusal(error: Exception) -> Refusal:
    """Returns the answer to whatever was raised; an error without a status is a defect of ours."""
    status = status_of(error)
    if status is None:
        missing = shortage(error)
        if missing:
            return Refusal(503, missing, _RETRY_AFTER)
        return Refusal(500, f"`{type(error).__name__}` was raised", is_defect=True)
    headers = _RETRY_AFTER if status == 503 else ()
    if isinstance(error, RangeUnsatisfiable) and error.size is not None:
        headers = (("Content-Range", ContentRange(None, None, error.size).to_header()),)
    known = _CLIENT_MESSAGES.get(type(error).__name__)
    message = _formats(error) if isinstance(error, UnknownFormat) else known
    return Refusal(status, _reason(error), headers, client_message=message)


def _formats(error: UnknownFormat) -> str:
    """Returns a sentence that names the formats of a listing."""
    *others, last = (f"“{each}”" for each in error.offered)
    offered = f"The format of a listing is {', '.join(others)} or {last}"
    return f"{offered}; archives are not enabled here" if error.asked in ARCHIVES else offered


def refusal_of(attempt: Refuse) -> Refusal:
    """Returns the answer of a plan that refuses; Allow belongs to a 405, even where it is empty (RFC 9110 15.5.6)."""
    headers = (("Allow", ", ".join(attempt.allow)),) if attempt.status == 405 else ()
    # RFC 9110 11.6.1
    challenge = (("WWW-Authenticate", attempt.challenge),) if attempt.challenge else ()
    location = (("Location", attempt.location), ("Cache-Control", "no-store")) if attempt.location else ()
    return Refusal(attempt.status, attempt.reason, (*headers, *challenge, *location), client_message=attempt.message)


def _reason(error: Exception) -> str:
    if not isinstance(error, StorageError):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
