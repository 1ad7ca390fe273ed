"""The heads of S3's answers, as values: what `info` makes of boto3's parameters, made of headers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

from tornado_proxy.semantics.conditions import ByteRange, ContentRange, parse_date
from tornado_proxy.semantics.fields import Checksum
from tornado_proxy.storage.store import ObjectInfo

Headers = Mapping[bytes, bytes]
"""Headers by their names in lower case."""

_CHECKSUM = b"x-amz-checksum-"
_CHECKSUM_TYPE = b"x-amz-checksum-type"
_META = b"x-amz-meta-"

# Objects that are asked for often are few, and so are their dates.
_DATES_KEPT = 1024


def object_info(headers: Headers, size: int) -> ObjectInfo:
    """Returns the info in the headers of a GetObject or HeadObject; raises ValueError for an invalid date."""
    text = _text
    modified = headers.get(b"last-modified")
    return ObjectInfo(
        size,
        text(headers.get(b"etag")),
        None if modified is None else _moment(modified),
        text(headers.get(b"content-type")),
        text(headers.get(b"content-disposition")),
        text(headers.get(b"content-encoding")),
        text(headers.get(b"content-language")),
        text(headers.get(b"cache-control")),
        text(headers.get(b"expires")),
        _checksums(headers),
        tuple(
            [
                (name[len(_META) :].decode("latin-1"), _text(value) or "")
                for name, value in headers.items()
                if name.startswith(_META)
            ]
        ),
    )


def content_length(headers: Headers) -> int:
    """Returns the Content-Length; raises ValueError if it is missing."""
    told = headers.get(b"content-length")
    if told is None:
        raise ValueError("the answer does not tell its length")
    return int(told)


def content_range(status: int, headers: Headers, asked: ByteRange | None) -> ContentRange | None:
    """Returns the Content-Range of a part, or None; raises ValueError for another part than requested.

    The length of the body has to be that of the part, or its end could not be told from a break.
    """
    told = headers.get(b"content-range")
    if told is None and status != 206:
        return None
    if told is None or status != 206 or asked is None:
        raise ValueError(f"an answer {status} has{' no' if told is None else ' a'} Content-Range")
    part = ContentRange.from_header(told.decode("latin-1"))
    if part.size is None or part != asked.resolve(part.size) or part.length != content_length(headers):
        raise ValueError(f"the part `{told.decode('latin-1')}` is not the one that was asked for")
    return part


def _checksums(headers: Headers) -> tuple[Checksum, ...]:
    """`x-amz-checksum-sha256` and its like; their type, where S3 names it, is that of all."""
    kind = _text(headers.get(_CHECKSUM_TYPE))
    return tuple(
        [
            Checksum(name[len(_CHECKSUM) :].decode().upper(), value.decode("latin-1"), kind)
            for name, value in headers.items()
            if name.startswith(_CHECKSUM) and name != _CHECKSUM_TYPE
        ]
    )


def _text(value: bytes | None) -> str | None:
    """A header's value: most clients store UTF-8."""
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeError:
        return value.decode("latin-1")


@lru_cache(_DATES_KEPT)
def _moment(value: bytes) -> datetime | None:
    """A date in UTC; None for one that has no UTC. S3s that write another zone, or none, are understood as well."""
    text = value.decode("latin-1")
    try:
        moment = parse_date(text) or parsedate_to_datetime(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        return None
