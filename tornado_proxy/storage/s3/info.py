"""What S3's answers say, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from tornado_proxy.semantics.digest import Checksum
from tornado_proxy.semantics.ranges import ContentRange
from tornado_proxy.storage.cursor import to_token
from tornado_proxy.storage.store import Entry, ObjectInfo, Page

_CHECKSUM = "Checksum"


@dataclass(frozen=True, slots=True)
class ListAnswer:
    """What one ListObjectsV2 answers: entries in no order, whose names are whole keys and whole common prefixes."""

    entries: tuple[Entry, ...]
    truncated: bool = False


def object_info(answer: Mapping[str, Any], size: int | None) -> ObjectInfo:
    """What a GetObject or HeadObject says of an object of a size; raises ValueError where S3 does not tell the size."""
    if size is None:
        raise ValueError("the answer does not tell the size")
    return ObjectInfo(
        size=size,
        etag=answer.get("ETag"),
        last_modified=_in_seconds(answer.get("LastModified")),
        content_type=_text(answer.get("ContentType")),
        content_disposition=_text(answer.get("ContentDisposition")),
        content_encoding=_text(answer.get("ContentEncoding")),
        content_language=_text(answer.get("ContentLanguage")),
        cache_control=_text(answer.get("CacheControl")),
        # boto3 parses `Expires` and drops what is no date; this is the text itself.
        expires=_text(answer.get("ExpiresString")),
        checksums=tuple(_checksums(answer)),
    )


def content_range(answer: Mapping[str, Any]) -> ContentRange | None:
    """The part that a GetObject answers with, if it is a part; raises ValueError where S3 does not tell."""
    told = answer.get("ContentRange")
    if told is None:
        return None
    part = ContentRange.from_header(told)
    if part.first is None:
        raise ValueError(f"`{told}` names no bytes")
    return part


def list_answer(answer: Mapping[str, Any]) -> ListAnswer:
    """What boto3 makes of a ListObjectsV2."""
    files = tuple(_entry(listed) for listed in answer.get("Contents", ()))
    directories = tuple(Entry(listed["Prefix"]) for listed in answer.get("CommonPrefixes", ()))
    return ListAnswer(files + directories, bool(answer.get("IsTruncated")))


def page(answer: ListAnswer, prefix: str, after: str, limit: int) -> Page:
    """A page of at most `limit` entries after a name; an S3 may tell the directory of that name once more."""
    below = (replace(entry, name=entry.name.removeprefix(prefix)) for entry in answer.entries)
    # A name that is empty is the marker's; names are compared as S3 does, by their code points (and so by their bytes).
    entries = sorted((entry for entry in below if entry.name > after), key=lambda entry: entry.name)
    shown = tuple(entries[:limit])
    more = answer.truncated or len(entries) > limit
    return Page(shown, to_token(shown[-1].name) if more and shown else None, exists=bool(answer.entries))


def _entry(listed: Mapping[str, Any]) -> Entry:
    return Entry(
        name=listed["Key"],
        size=listed.get("Size"),
        last_modified=_in_seconds(listed.get("LastModified")),
        etag=listed.get("ETag"),
    )


def _checksums(answer: Mapping[str, Any]) -> list[Checksum]:
    """`ChecksumSHA256` and its like; their type, where S3 names it, is that of all."""
    kind = answer.get("ChecksumType")
    return [
        Checksum(name.removeprefix(_CHECKSUM), value, kind)
        for name, value in answer.items()
        if name.startswith(_CHECKSUM) and name != "ChecksumType"
    ]


def _text(header: str | None) -> str | None:
    """A header's value: boto3 reads its bytes as Latin-1, whoever stored the object wrote UTF-8 in most cases."""
    if header is None or header.isascii():
        return header
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


def _in_seconds(moment: datetime | None) -> datetime | None:
    """A date in UTC and whole seconds, which is all that a header can say."""
    return None if moment is None else moment.astimezone(UTC).replace(microsecond=0)
