"""What S3's answers say, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from tornado_proxy.semantics.conditions import ContentRange
from tornado_proxy.semantics.fields import Checksum
from tornado_proxy.storage.errors import UpstreamError
from tornado_proxy.storage.store import Entry, ObjectInfo, Page, to_token

_CHECKSUM = "Checksum"
_LARGEST = 2**63 - 1  # bytes


@dataclass(frozen=True, slots=True)
class ListAnswer:
    """What one ListObjectsV2 answers: entries in no order, whose names are whole keys and whole common prefixes."""

    entries: tuple[Entry, ...]
    truncated: bool = False
    continuation: str | None = None  # S3's own token, which leads to the next answer


def object_info(answer: Mapping[str, Any], size: int | None) -> ObjectInfo:
    """What a GetObject or HeadObject says of an object of a size; raises `UpstreamError` where that is not a size."""
    if size is None or size < 0:
        raise UpstreamError(f"S3 gives {'no size' if size is None else f'the size {size}'} for an object")
    return ObjectInfo(
        size=size,
        etag=answer.get("ETag"),
        last_modified=_in_seconds(answer.get("LastModified")),
        content_type=_text(answer.get("ContentType")),
        content_disposition=_text(answer.get("ContentDisposition")),
        content_encoding=_text(answer.get("ContentEncoding")),
        content_language=_text(answer.get("ContentLanguage")),
        cache_control=_text(answer.get("CacheControl")),
        # boto3 parses `Expires` and drops what is not a date; this is the text itself.
        expires=_text(answer.get("ExpiresString")),
        checksums=tuple(_checksums(answer)),
        metadata=tuple((name.lower(), _text(value) or "") for name, value in answer.get("Metadata", {}).items()),
    )


def content_range(answer: Mapping[str, Any]) -> ContentRange | None:
    """The part that a GetObject answers with, if it is a part; raises `UpstreamError` where S3 contradicts itself."""
    told = answer.get("ContentRange")
    if told is None:
        if answer.get("ResponseMetadata", {}).get("HTTPStatusCode") == 206:
            raise UpstreamError("S3 answers 206 without a Content-Range")
        return None
    try:
        part = ContentRange.from_header(told)
    except ValueError as error:
        raise UpstreamError(f"S3 answers with an invalid Content-Range `{told}`") from error
    if part.first is None:
        raise UpstreamError(f"S3 answers with the Content-Range `{told}`, which names no bytes")
    if answer.get("ContentLength") not in (None, part.length):
        raise UpstreamError(f"S3 answers with {answer['ContentLength']} bytes for the Content-Range `{told}`")
    return part


def list_answer(answer: Mapping[str, Any]) -> ListAnswer:
    """What boto3 makes of a ListObjectsV2; raises `UpstreamError` for an entry without a name."""
    files = tuple(_entry(listed) for listed in answer.get("Contents", ()))
    directories = tuple(Entry(_name(listed, "Prefix")) for listed in answer.get("CommonPrefixes", ()))
    return ListAnswer(files + directories, bool(answer.get("IsTruncated")), answer.get("NextContinuationToken"))


def page(answers: Sequence[ListAnswer], prefix: str, after: str, limit: int) -> Page:
    """A page of at most `limit` entries after a name, from answers that follow each other.

    An S3 may list the directory of that name once more. Raises `UpstreamError` for an entry outside the prefix.
    """
    listed = [entry for answer in answers for entry in answer.entries]
    stray = next((entry.name for entry in listed if not entry.name.startswith(prefix)), None)
    if stray is not None:
        raise UpstreamError(f"S3 lists `{stray}`, which is not below `{prefix}`")
    below = (replace(entry, name=entry.name.removeprefix(prefix)) for entry in listed)
    # A name that is empty is the marker's; names are compared as S3 does, by their code points (and so by their bytes).
    entries = sorted((entry for entry in below if entry.name > after), key=lambda entry: entry.name)
    shown = tuple(entries[:limit])
    more = answers[-1].truncated or len(entries) > limit
    return Page(shown, to_token(shown[-1].name) if more and shown else None, exists=bool(listed))


def sensible_size(size: int) -> int | None:
    """The size of a listed object; None where no object can have it."""
    return size if 0 <= size <= _LARGEST else None


def _entry(listed: Mapping[str, Any]) -> Entry:
    size = listed.get("Size")
    return Entry(
        name=_name(listed, "Key"),
        size=None if size is None else sensible_size(size),
        last_modified=_in_seconds(listed.get("LastModified")),
        etag=listed.get("ETag"),
    )


def _name(listed: Mapping[str, Any], field: str) -> str:
    name = listed.get(field)
    if not isinstance(name, str):
        raise UpstreamError(f"S3 lists an entry without `{field}`")
    return name


def _checksums(answer: Mapping[str, Any]) -> list[Checksum]:
    """`ChecksumSHA256` and its like; their type, where S3 names it, is that of all."""
    kind = answer.get("ChecksumType")
    return [
        Checksum(name.removeprefix(_CHECKSUM), value, kind)
        for name, value in answer.items()
        if name.startswith(_CHECKSUM) and name != "ChecksumType"
    ]


def _text(header: str | None) -> str | None:
    """A header's value: boto3 reads its bytes as Latin-1, but most clients store UTF-8."""
    if header is None or header.isascii():
        return header
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


def _in_seconds(moment: datetime | None) -> datetime | None:
    """A date in UTC and whole seconds, as a header has it; None for one that is out of Python's range in UTC."""
    try:
        return None if moment is None else moment.astimezone(UTC).replace(microsecond=0)
    except OverflowError:
        return None
