"""S3's XML: listings, and errors.

`xml.etree` builds its tree in C: 1,000 entries take 4 ms, as `lxml` does, where expat calling Python for each element
takes 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import unquote_to_bytes
from xml.etree.ElementTree import Element, ParseError, fromstring

from tornado_proxy.storage.s3.info import ListAnswer, sensible_size
from tornado_proxy.storage.store import Entry


@dataclass(frozen=True, slots=True)
class ErrorDocument:
    """What S3 says of a failure; empty where it does not."""

    code: str = ""
    message: str = ""
    region: str = ""
    request_id: str = ""


def read_error(document: bytes) -> ErrorDocument:
    """The error that a document describes; an empty one for any other document."""
    try:
        root = _root(document)
    except ValueError:
        return ErrorDocument()
    if _name(root) != "Error":
        return ErrorDocument()
    told = {_name(child): child.text or "" for child in root}
    return ErrorDocument(
        told.get("Code", ""), told.get("Message", ""), told.get("Region", ""), told.get("RequestId", "")
    )


def read_listing(document: bytes) -> ListAnswer:
    """The answer of a ListObjectsV2; raises ValueError for another document, and for an entry without a name."""
    root = _root(document)
    if _name(root) != "ListBucketResult":
        raise ValueError(f"the document is a `{_name(root)[:50]}`")
    within = root.tag.removesuffix("ListBucketResult")
    # Keys are percent-encoded where XML has no form for one of their characters.
    decode = _decoded if root.findtext(f"{within}EncodingType") == "url" else str
    key, size, modified, etag = (f"{within}{name}" for name in ("Key", "Size", "LastModified", "ETag"))
    entries = []
    for listed in root.findall(f"{within}Contents"):
        fields = {field.tag: field.text or "" for field in listed}
        date, length = fields.get(modified), fields.get(size)
        entries.append(
            Entry(
                decode(fields.get(key, "")),
                None if length is None else sensible_size(int(length)),
                None if date is None else _moment(date),
                fields.get(etag),
            )
        )
    directories = root.findall(f"{within}CommonPrefixes")
    entries += [Entry(decode(listed.findtext(f"{within}Prefix", ""))) for listed in directories]
    if not all(entry.name for entry in entries):
        raise ValueError("an entry of the listing has no name")
    is_truncated = root.findtext(f"{within}IsTruncated", "") == "true"
    return ListAnswer(tuple(entries), is_truncated, root.findtext(f"{within}NextContinuationToken"))


def _root(document: bytes) -> Element:
    """The root of a document; raises ValueError for what is not XML in UTF-8, and for a document type.

    S3 sends neither.
    """
    # Entities, which can make a small document a large one, are declared in a document type only. In another encoding
    # it would not be seen here: text is read as UTF-8 whatever it declares, but for a NUL, which means UTF-16 to expat.
    text = document.decode()
    if "<!DOCTYPE" in text or "\0" in text:
        raise ValueError("the document has a document type, or is not text")
    try:
        return fromstring(text)  # noqa: S314 - without a document type there is nothing that could expand
    except ParseError as error:
        raise ValueError(f"the document is not XML: {error}") from error


def _name(element: Element) -> str:
    """An element's name without its namespace; S3 servers use several."""
    return element.tag.rpartition("}")[2]


def _decoded(name: str) -> str:
    if "%" in name or "+" in name:
        return unquote_to_bytes(name.replace("+", " ")).decode()
    return name


def _moment(text: str) -> datetime | None:
    """A date in UTC and whole seconds; None for one that has no UTC."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not UTC:
        try:
            moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except OverflowError:
            return None
    return moment.replace(microsecond=0) if moment.microsecond else moment
