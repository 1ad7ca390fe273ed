"""What is sent to a client, as a value: pages, and objects with the headers made of what their store says of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tornado_proxy.pages.render import Rendering
from tornado_proxy.semantics.conditions import format_date
from tornado_proxy.semantics.digest import content_digest
from tornado_proxy.semantics.ranges import ContentRange
from tornado_proxy.storage.store import ObjectInfo, Opened

Headers = tuple[tuple[str, str], ...]

DEFAULT_TYPE = "application/octet-stream"

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Whole:
    """An answer whose body is at hand; the headers are complete, Content-Length included where there is to be one."""

    status: int
    headers: Headers = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer whose body is an object's; whoever sends it closes the object."""

    status: int
    headers: Headers
    opened: Opened


Answer = Whole | Streamed


def page(status: int, rendering: Rendering, headers: Headers = ()) -> Whole:
    """Returns the answer that is a page."""
    length = ("Content-Length", str(len(rendering.body)))
    return Whole(status, (*rendering.headers, *headers, length), rendering.body)


def file_headers(info: ObjectInfo, part: ContentRange | None = None) -> Headers:
    """Returns the headers of a 200, or of a 206 that carries a part (RFC 9110 15.3.7); nothing else of S3 shows."""
    digest = content_digest(info.checksums, info.etag)
    described = "Content-Digest" if part is None else "Repr-Digest"
    return _sendable(
        ("Content-Type", info.content_type or DEFAULT_TYPE),
        ("Content-Length", str(info.size if part is None else part.length)),
        ("Content-Range", part.to_header() if part else None),
        ("Content-Encoding", info.content_encoding),
        ("Content-Language", info.content_language),
        ("Content-Disposition", info.content_disposition),
        # A digest of the whole does not describe the content of a part, only the representation (RFC 9530 2, 3).
        (described, digest),
        ("Accept-Ranges", "bytes"),
        *_validators(info),
    )


def unchanged_headers(info: ObjectInfo | None) -> Headers:
    """Returns the headers of a 304: those by which a client keeps its copy fresh (RFC 9110 15.4.5)."""
    return _sendable(*_validators(info)) if info else ()


def _validators(info: ObjectInfo) -> Iterator[tuple[str, str | None]]:
    yield "Cache-Control", info.cache_control
    yield "Expires", info.expires
    yield "ETag", info.etag
    yield "Last-Modified", format_date(info.last_modified) if info.last_modified else None


def _sendable(*headers: tuple[str, str | None]) -> Headers:
    """Returns the headers that HTTP can carry: S3 keeps what it was given, and some stores keep more than that."""
    return tuple(
        (name, value if value.isascii() else value.encode().decode("latin-1"))
        for name, value in headers
        if value and not _CONTROL.search(value)
    )
