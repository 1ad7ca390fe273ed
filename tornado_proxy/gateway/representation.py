"""The headers of a file, made of what its store says of it; nothing else of S3 shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tornado_proxy.gateway.failures import Headers
from tornado_proxy.semantics.dates import format_date
from tornado_proxy.semantics.digest import content_digest
from tornado_proxy.semantics.ranges import ContentRange
from tornado_proxy.storage.store import ObjectInfo

_DEFAULT_TYPE = "application/octet-stream"

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def file_headers(info: ObjectInfo, part: ContentRange | None = None) -> Headers:
    """The headers of a 200, or of a 206 that carries a part (RFC 9110 15.3.7)."""
    digest = content_digest(info.checksums, info.etag)
    described = "Content-Digest" if part is None else "Repr-Digest"
    return _present(
        ("Content-Type", info.content_type or _DEFAULT_TYPE),
        ("Content-Length", str(info.size if part is None else part.length)),
        ("Content-Range", part.to_header() if part else None),
        ("Content-Encoding", info.content_encoding),
        ("Content-Language", info.content_language),
        ("Content-Disposition", info.content_disposition),
        # A digest of the content is none of a part's; what it describes then is the representation (RFC 9530 2, 3).
        (described, digest),
        ("Accept-Ranges", "bytes"),
        *_validators(info),
    )


def unchanged_headers(info: ObjectInfo | None) -> Headers:
    """The headers of a 304: those by which a client keeps its copy fresh (RFC 9110 15.4.5)."""
    return _present(*_validators(info)) if info else ()


def _validators(info: ObjectInfo) -> Iterator[tuple[str, str | None]]:
    yield "Cache-Control", info.cache_control
    yield "Expires", info.expires
    yield "ETag", info.etag
    yield "Last-Modified", format_date(info.last_modified) if info.last_modified else None


def _present(*headers: tuple[str, str | None]) -> Headers:
    return tuple(_sendable((name, value) for name, value in headers if value))


def _sendable(headers: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The headers as HTTP can carry them: S3 keeps what it was given, and some stores keep more than a header holds."""
    for name, value in headers:
        if not _CONTROL.search(value):
            yield name, value if value.isascii() else value.encode().decode("latin-1")
