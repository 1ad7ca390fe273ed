"""Errors as answers: what a client reads, what the log says, and what goes into the headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tornado_proxy.gateway.answer import Answer, Headers
from tornado_proxy.gateway.archive import FORMATS as ARCHIVES
from tornado_proxy.routing.errors import UnknownFormat, status_of
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.semantics.conditions import ContentRange
from tornado_proxy.storage.errors import RangeUnsatisfiable, StorageError
from tornado_proxy.telemetry.service_log import shortage


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


Outcome = Answer | Refusal
"""What becomes of a request: an answer, or an error, whose page is made last."""

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
