"""Answers: pages, and objects with the headers that their store gives, as values and on their way to the client."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import ClassVar

from tornado_proxy.config.actions import Actions
from tornado_proxy.gateway.connection import Connection
from tornado_proxy.gateway.errors import ClientDisconnected, Refusal
from tornado_proxy.pages.render import Rendering
from tornado_proxy.semantics.conditions import ContentRange, format_date
from tornado_proxy.semantics.fields import content_digest
from tornado_proxy.storage.store import ObjectInfo, Opened

Headers = tuple[tuple[str, str], ...]

DEFAULT_TYPE = "application/octet-stream"

# The types of documents in which browsers run scripts (HTML, "navigating"); every `+xml` is one more.
_ACTIVE = frozenset(
    {"text/html", "text/xml", "application/xml", "text/xsl", "multipart/x-mixed-replace", "message/rfc822"}
)
_MEDIA_TYPE = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+/[!#$%&'*+.^_`|~0-9a-z-]+")  # RFC 9110 8.3.1, in lower case

KEEPING_FRESH = frozenset({"cache-control", "content-location", "etag", "expires", "last-modified", "vary"})
"""The headers of a 304, by which a client keeps its copy fresh (RFC 9110 15.4.5)."""

_TYPES_KEPT = 256
_value = itemgetter(1)
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Whole:
    """An answer with its body; the headers are complete."""

    status: int
    headers: Headers = ()
    body: bytes = b""
    is_chunked: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer with the body of an object; the sender closes the object."""

    status: int
    headers: Headers
    opened: Opened
    is_chunked: bool = False  # whether nobody knows its length before its end; no client of HTTP/1.0 is sent it


Answer = Whole | Streamed

Outcome = Answer | Refusal
"""What becomes of a request: an answer, or an error, whose page is made last."""


def page(status: int, rendering: Rendering, headers: Headers = ()) -> Whole:
    """Returns the answer that is a page."""
    length = ("Content-Length", str(len(rendering.body)))
    return Whole(status, (*rendering.headers, *headers, length), rendering.body)


def file_headers(info: ObjectInfo, actions: Actions, part: ContentRange | None = None) -> Headers:
    """Returns the headers of a 200, or of a 206 that carries a part (RFC 9110 15.3.7).

    No other header of S3 is passed on. If `actions` allow uploads, files must not run in a browser.
    """
    return _sendable(
        (
            ("Content-Type", info.content_type or DEFAULT_TYPE),
            ("Content-Length", str(info.size if part is None else part.length)),
            ("Content-Range", part.to_header() if part else None),
            ("Content-Encoding", info.content_encoding),
            ("Content-Language", info.content_language),
            ("Content-Disposition", _disposition(info, actions)),
            ("Content-Security-Policy", actions.get.content_security_policy),
            ("X-Content-Type-Options", "nosniff"),
            # A digest of the whole does not describe the content of a part, only the representation (RFC 9530 2, 3).
            (
                "Content-Digest" if part is None else "Repr-Digest",
                content_digest(info.checksums, info.etag) if info.checksums else None,
            ),
            ("Accept-Ranges", "bytes"),
            *_validators(info),
        )
    )


def _disposition(info: ObjectInfo, actions: Actions) -> str | None:
    """Returns the object's own disposition, or `attachment` if a browser could run the file."""
    own, choice = info.content_disposition, actions.get.active_content
    saved = choice == "attachment" or (choice == "auto" and actions.put.enabled)
    if not saved or not is_active(info.content_type or DEFAULT_TYPE) or (own or "").lower().startswith("attachment"):
        return own
    return "attachment"


@lru_cache(_TYPES_KEPT)
def is_active(content_type: str) -> bool:
    """Whether a browser may run scripts in a document of a type; an invalid type may be treated as any."""
    essence = content_type.partition(";")[0].strip().lower()
    return essence in _ACTIVE or essence.endswith("+xml") or not _MEDIA_TYPE.fullmatch(essence)


def unchanged_headers(info: ObjectInfo | None) -> Headers:
    """Returns the headers of a 304, which keep the client's copy fresh (RFC 9110 15.4.5)."""
    return _sendable(_validators(info)) if info else ()


def _validators(info: ObjectInfo) -> tuple[tuple[str, str | None], ...]:
    return (
        ("Cache-Control", info.cache_control),
        ("Expires", info.expires),
        ("ETag", info.etag),
        ("Last-Modified", format_date(info.last_modified) if info.last_modified else None),
        ("X-Cache", info.cache),
        ("Age", str(info.age) if info.age else None),  # RFC 9111 5.1
    )


def _sendable(headers: Iterable[tuple[str, str | None]]) -> Headers:
    """Returns the headers that are valid in HTTP; some stores keep invalid ones."""
    present: Headers = tuple(filter(_value, headers))  # type: ignore[arg-type] # a `TypeGuard` in effect
    values = "".join(map(_value, present))
    if values.isascii() and values.isprintable():
        return present
    return tuple(
        (name, value if value.isascii() else value.encode().decode("latin-1"))
        for name, value in present
        if not _CONTROL.search(value)
    )


def with_headers(headers: Headers, others: Headers) -> Headers:
    """Returns headers with some replaced; an empty value removes a header."""
    named = {name.lower() for name, _ in others}
    return (*without(headers, named), *((name, value) for name, value in others if value))


def without(headers: Headers, names: frozenset[str] | set[str]) -> Headers:
    """Returns headers without those of some names, which are in lower case."""
    return tuple((name, value) for name, value in headers if name.lower() not in names)


class Reply:
    """An answer on its way: nothing may be changed once it has `started`."""

    def __init__(self, connection: Connection, headers: Headers) -> None:
        self.started = False
        self.sent = 0  # bytes of the body
        self._connection = connection
        self._headers = headers

    async def send(self, answer: Answer) -> None:
        """Writes a whole answer; raises `ClientDisconnected`, and what the body of a streamed one raises."""
        if isinstance(answer, Whole):
            await self._write(answer, answer.body)
        else:
            try:
                async for chunk in answer.opened.chunks():
                    await self._write(answer, chunk)
                if not self.started:
                    await self._write(answer, b"")
                if answer.is_chunked:
                    await self._connection.write(b"0\r\n\r\n")
            finally:
                await answer.opened.close()
        self._connection.finish()

    def cut(self) -> None:
        """Closes the connection: the client sees that the answer is not complete."""
        self._connection.close()

    def broken_by(self) -> ClientDisconnected:
        """Why the client gets no more."""
        mistake = self._connection.mistake
        return mistake if isinstance(mistake, ClientDisconnected) else ClientDisconnected("the connection was cut")

    async def _write(self, answer: Answer, chunk: bytes) -> None:
        piece = b"" if self._connection.is_head else chunk
        framed = b"%x\r\n%b\r\n" % (len(piece), piece) if answer.is_chunked and piece else piece  # RFC 9112 7.1
        if self.started:
            await self._connection.write(framed)
        else:
            self.started = True
            await self._connection.write_head(answer.status, (*self._headers, *answer.headers), framed)
        self.sent += len(piece)
