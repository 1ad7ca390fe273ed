"""Answers as values (pages, objects with their headers, errors), and how one is sent to the client."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from operator import itemgetter

import msgspec
from msgspec.structs import replace

from tornado_proxy.config.actions import Actions
from tornado_proxy.pages.custom import CustomRendering
from tornado_proxy.pages.render import Rendering
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.semantics.conditions import ContentRange, for_one_user, format_date
from tornado_proxy.semantics.fields import DEFAULT_TYPE, Disposition, Headers, content_digest, is_active, with_charset
from tornado_proxy.semantics.request import StatusError, shortage
from tornado_proxy.storage.errors import RangeUnsatisfiable, StorageError
from tornado_proxy.storage.store import ObjectInfo

# The headers of a 304, which keep a client's copy fresh (RFC 9110 15.4.5), and those of the cache and the sign-in here.
_OF_UNCHANGED = frozenset(
    {"cache-control", "content-location", "etag", "expires", "last-modified", "vary", "x-cache", "age", "set-cookie"}
)

value_of = itemgetter(1)
"""Returns the value of a header, which is a pair."""

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class Whole(msgspec.Struct, frozen=True):
    """An answer with its body; the headers are complete.

    `templated` are the names of the headers that templates wrote, in lower case.
    """

    status: int
    headers: Headers = ()
    body: bytes = b""
    templated: frozenset[str] = frozenset()

    def shortened(self) -> Whole:
        """Returns a 304 with those of its file's headers that a 304 has."""
        return replace(self, headers=tuple([each for each in self.headers if each[0].lower() in _OF_UNCHANGED]))


class Streamed(msgspec.Struct, frozen=True):
    """An answer whose body comes in chunks; the sender closes it.

    Without a Content-Length, the body is sent in chunks (RFC 9112 7.1); no client of HTTP/1.0 is sent one.
    """

    status: int
    headers: Headers
    chunks: AsyncIterator[bytes]
    close: Callable[[], Awaitable[object]]
    templated: frozenset[str] = frozenset()  # as above


Answer = Whole | Streamed


class ErrorAnswer(msgspec.Struct, frozen=True):
    """An error as an answer: the reason is the operator's, the message the client's."""

    status: int
    reason: str
    headers: Headers = ()
    is_defect: bool = False  # ours to fix, rather than the client's or the store's
    client_message: str | None = None  # instead of the one for the status
    sign_in: str = ""  # where a sign-in that failed can be begun again

    @property
    def message(self) -> str:
        """What the client reads: a sentence without keys, buckets or exceptions."""
        return self.client_message or _MESSAGES.get(self.status, "The request could not be answered")


Outcome = Answer | ErrorAnswer
"""What becomes of a request: an answer, or an error, whose page is made last."""


def page(status: int, rendering: Rendering, headers: Headers = ()) -> Whole:
    """Returns an answer whose body is a page."""
    length = ("Content-Length", str(len(rendering.body)))
    return Whole(status, (*rendering.headers, *headers, length), rendering.body)


def file_headers(info: ObjectInfo, actions: Actions, part: ContentRange | None = None) -> Headers:
    """Returns the headers of a 200, or of a 206 that carries a part (RFC 9110 15.3.7).

    No other header of S3 is passed on. If `actions` allow uploads, files must not run in a browser.
    """
    content_type, charset = info.content_type or DEFAULT_TYPE, actions.get.charset
    length = info.size if part is None else part.length
    headers = (
        ("Content-Type", with_charset(content_type, charset) if charset else content_type),
        ("Content-Length", None if length is None else str(length)),
        ("Content-Range", part.to_header() if part else None),
        ("Content-Encoding", info.content_encoding),
        ("Content-Language", info.content_language),
        ("Content-Disposition", _disposition(info, actions)),
        ("Content-Security-Policy", actions.get.content_security_policy),
        ("X-Content-Type-Options", "nosniff"),
        # A digest of the whole does not describe the content of a part, only the representation (RFC 9530 2, 3).
        ("Content-Digest" if part is None else "Repr-Digest", content_digest(info.checksums, info.etag)),
        ("Accept-Ranges", None if info.size is None else "bytes"),
        ("Cache-Control", info.cache_control),
        ("Expires", info.expires),
        ("ETag", info.etag),
        ("Last-Modified", format_date(info.last_modified) if info.last_modified else None),
        ("X-Cache", info.cache),
        ("Age", str(info.age) if info.age else None),  # RFC 9111 5.1
    )
    present: Headers = tuple(filter(value_of, headers))  # type: ignore[arg-type] # none is without a value
    values = "".join(map(value_of, present))
    if values.isascii() and values.isprintable():
        return present
    return tuple(
        (name, value if value.isascii() else value.encode().decode("latin-1"))
        for name, value in present
        if not _CONTROL.search(value)  # some stores keep what is invalid in HTTP
    )


def _disposition(info: ObjectInfo, actions: Actions) -> str | None:
    """Returns the object's own disposition, or `attachment` if a browser could run the file."""
    own, choice = info.content_disposition, actions.get.active_content
    saved = choice == "attachment" or (choice == "auto" and actions.put.enabled)
    if not saved or not is_active(info.content_type or DEFAULT_TYPE):
        return own
    with suppress(ValueError):  # browsers may ignore one that is malformed (RFC 6266 4.1)
        Disposition.from_header(own or "")
        if own and own.partition(";")[0].strip().lower() == "attachment":
            return own
    return "attachment"


def with_headers(headers: Headers, others: Headers) -> Headers:
    """Returns headers with some replaced; an empty value removes a header."""
    named = {name.lower() for name, _ in others}
    return (*without(headers, named), *((name, value) for name, value in others if value))


def without(headers: Headers, names: frozenset[str] | set[str]) -> Headers:
    """Returns headers without some names, which are in lower case."""
    return tuple([each for each in headers if each[0].lower() not in names])


def private_headers(headers: Headers, cookies: Headers, *, is_isolated: bool = False) -> Headers:
    """Returns the headers of an answer to one user: no shared cache keeps it, unless the object says otherwise.

    What an object says does not count where users are isolated: its URL is another object for another user.
    """
    named = {name.lower(): value for name, value in headers}
    own = named.get("cache-control", "")
    # A page of ours is for one user, and a cache that keeps a session gives it to others, whatever the object says.
    is_ours = bool(cookies) or is_isolated or "etag" not in named
    value = "private, no-cache" if not own or (is_ours and own != "no-store") else for_one_user(own)
    kept = headers if value == own else (*without(headers, {"cache-control"}), ("Cache-Control", value))
    return (*kept, *cookies)


# Seconds; S3 asks for no more than a slower rate.
_RETRY_AFTER = (("Retry-After", "2"),)

_MESSAGES: Mapping[int, str] = {
    307: "Sign in to see this",
    400: "The request or its address is not valid",
    401: "You are not signed in, or your session has ended",
    403: "You do not have access to this",
    404: "There is nothing at this address",
    405: "This method is not available here",
    408: "The request's body stopped arriving",
    409: "A file of this name exists and may not be replaced",
    410: "There is nothing at this address any more",
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


def answer_exception(error: Exception) -> ErrorAnswer:
    """Returns the answer to an exception; one that has none of its own is a defect of ours."""
    if not isinstance(error, StatusError):
        if missing := shortage(error):
            return ErrorAnswer(503, missing, _RETRY_AFTER)
        return ErrorAnswer(500, f"`{type(error).__name__}` was raised", is_defect=True)
    headers = _RETRY_AFTER if error.status == 503 else ()
    if isinstance(error, RangeUnsatisfiable) and error.size is not None:
        headers = (("Content-Range", ContentRange(None, None, error.size).to_header()),)
    reason = str(error)
    if isinstance(error, StorageError):
        reason = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
    return ErrorAnswer(error.status, reason, headers, client_message=error.public_message)


def answer_attempt(attempt: Refuse) -> ErrorAnswer:
    """Returns the answer of an attempt to refuse; Allow belongs to a 405, even where it is empty (RFC 9110 15.5.6)."""
    headers = (("Allow", ", ".join(attempt.allow)),) if attempt.status == 405 else ()
    # RFC 9110 11.6.1
    challenge = (("WWW-Authenticate", attempt.challenge),) if attempt.challenge else ()
    location = (("Location", attempt.location),) if attempt.location else ()
    return ErrorAnswer(
        attempt.status, attempt.reason, (*headers, *challenge, *location), client_message=attempt.message
    )


BODILESS = (204, 304)
# Headers that describe the body that is replaced.
_OF_BODY = frozenset({"content-type", "content-security-policy", "content-length"})


def customized(own: Whole, custom: CustomRendering | None) -> Whole:
    """Returns an answer with the body, status and headers of a custom page."""
    if custom is None:
        return own
    body, status = own.body if custom.body is None else custom.body, custom.status or own.status
    kept = own.headers if custom.body is None else without(own.headers, _OF_BODY)
    headers = with_headers(without(kept, {"content-length"}), custom.headers)
    if status in BODILESS:
        return Whole(status, without(headers, _OF_BODY), templated=custom.written)
    return Whole(status, (*headers, ("Content-Length", str(len(body)))), body, custom.written)
