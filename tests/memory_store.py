"""A store in memory, which answers as S3 does."""

import hashlib
import itertools
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType

from msgspec.structs import replace

from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.semantics.conditions import UNCONDITIONAL, ByteRange, Conditions, format_date
from tornado_proxy.semantics.fields import path_reference
from tornado_proxy.storage.cache import MemoryObject, open_in_memory
from tornado_proxy.storage.errors import (
    ObjectExists,
    ObjectMissing,
    PreconditionFailed,
    TooLarge,
    UploadMissing,
    check_conditions,
)
from tornado_proxy.storage.store import Entry, IncomingPart, ObjectInfo, Page, Stored, UploadedPart, UploadForm, Write

# The media type that S3 gives an object that was stored without a type.
_UNTYPED = "binary/octet-stream"


class MemoryStore:
    """A bucket in memory that answers as S3 does, for one event loop."""

    def __init__(
        self,
        objects: Mapping[str, bytes] = MappingProxyType({}),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._clock = clock
        self._objects: dict[str, tuple[ObjectInfo, bytes]] = {}
        self._ids = itertools.count(1)
        self.uploads: dict[str, tuple[str, Write, dict[int, bytes]]] = {}
        for key, body in objects.items():
            self.add(key, body)

    def __repr__(self) -> str:
        return f"<MemoryStore of {len(self._objects)} objects>"

    def add(self, key: str, body: bytes, info: ObjectInfo | None = None) -> ObjectInfo:
        """Stores an object; the size, and an ETag, date or type that `info` lacks, are filled in."""
        declared = info or ObjectInfo(size=len(body))
        stored = replace(
            declared,
            size=len(body),
            etag=declared.etag or _etag(body),
            last_modified=declared.last_modified or self._clock().replace(microsecond=0),
            content_type=declared.content_type or _UNTYPED,
        )
        self._objects[key] = (stored, body)
        return stored

    def keys(self) -> tuple[str, ...]:
        """All keys, sorted as S3 sorts them."""
        return tuple(sorted(self._objects))

    async def open(self, key: ObjectKey, conditions: Conditions, part: ByteRange | None = None) -> MemoryObject:
        """The object's info and its body, or the requested part of the body."""
        return open_in_memory(key, *self._find(key), conditions, part)

    async def head(self, key: ObjectKey, conditions: Conditions) -> ObjectInfo:
        """The object's info."""
        info, _ = self._find(key)
        check_conditions(key, info, conditions)
        return info

    async def list(self, prefix: ObjectKey, after: str | None = None, limit: int = 1000) -> Page:
        """A page of the entries directly below a prefix, which is empty or ends in `/`; the marker of the directory is left out."""
        below = [key for key in self._objects if key.startswith(prefix)]
        parts = (key.removeprefix(prefix).partition("/") for key in below)
        names = sorted({name + slash for name, slash, _ in parts} - {""})
        start = bisect_right(names, after or "")
        page = names[start : start + limit]
        last = page[-1] if start + limit < len(names) else None
        return Page(tuple(self._entry(prefix, name) for name in page), last, not after and prefix in below)

    async def put(self, key: ObjectKey, chunks: AsyncIterator[bytes], write: Write) -> Stored:
        """Stores the chunks as an object; stores nothing if the iterator raises, and lets the exception through."""
        self._admit(key, write)
        body = bytearray()
        async for chunk in chunks:
            body += chunk
            if write.max_size is not None and len(body) > write.max_size:
                raise TooLarge(f"`{key}` would have more than {write.max_size} bytes")
        # Another task may have written while the chunks arrived; from here on none can, as nothing is awaited.
        self._admit(key, write)
        return Stored(self.add(key, bytes(body), _info(len(body), write)).etag)

    async def remove(self, key: ObjectKey, conditions: Conditions = UNCONDITIONAL) -> None:
        """Removes an object if the conditions hold; a missing object is not an error, as in S3."""
        self._check_write(key, conditions)
        self._objects.pop(key, None)

    async def presign(self, key: ObjectKey, expires: int) -> str:
        """A URL in the right form for a host that does not exist."""
        return f"https://memory.invalid{path_reference(f'/{key}')}?X-Amz-Expires={expires}"

    async def presign_upload(self, key: ObjectKey, write: Write, expires: int) -> UploadForm:
        """A form in the right shape for a host that does not exist."""
        fields = {"key": key, "Content-Type": write.content_type or "", "policy": f"{write.max_size} {expires}"}
        return UploadForm("https://memory.invalid/", fields)

    async def begin_upload(self, key: ObjectKey, write: Write) -> str:
        """Begins an upload in parts and returns its ID; raises if the object may not be replaced."""
        self._admit(key, write)
        upload = f"upload-{next(self._ids)}"
        self.uploads[upload] = (key, write, {})
        return upload

    async def put_part(self, key: ObjectKey, upload: str, part: IncomingPart) -> None:
        """Stores a part of an upload, and replaces an earlier part with its number."""
        body = b"".join([chunk async for chunk in part.chunks])
        _, parts = self._find_upload(key, upload)
        parts[part.number] = body

    async def list_parts(self, key: ObjectKey, upload: str) -> tuple[UploadedPart, ...]:
        """The parts of an upload, by number."""
        _, parts = self._find_upload(key, upload)
        return tuple(UploadedPart(number, len(body), _etag(body)) for number, body in sorted(parts.items()))

    async def complete_upload(self, key: ObjectKey, upload: str, parts: Sequence[UploadedPart], write: Write) -> Stored:
        """Stores the parts as an object if the conditions of the write hold."""
        begun_write, received = self._find_upload(key, upload)
        self._admit(key, write)
        body = b"".join([received[part.number] for part in parts])
        del self.uploads[upload]
        return Stored(self.add(key, body, _info(len(body), begun_write)).etag)

    async def abort_upload(self, key: ObjectKey, upload: str) -> None:
        """Removes an upload and its parts."""
        self._find_upload(key, upload)
        del self.uploads[upload]

    async def close(self) -> None:
        """Does nothing, as nothing needs to be closed."""

    def _find_upload(self, key: str, upload: str) -> tuple[Write, dict[int, bytes]]:
        upload_key, write, parts = self.uploads.get(upload, ("", Write(), {}))
        if upload_key != key:
            raise UploadMissing(f"`{key}` has no upload `{upload}`")
        return write, parts

    def _find(self, key: str) -> tuple[ObjectInfo, bytes]:
        if key not in self._objects:
            raise ObjectMissing(f"`{key}` is missing")
        return self._objects[key]

    def _admit(self, key: str, write: Write) -> None:
        """Raises an error if an upload to a key is not permitted."""
        if key in self._objects and not write.replace and write.conditions.if_none_match != ("*",):
            raise ObjectExists(f"`{key}` exists")
        self._check_write(key, write.conditions)

    def _check_write(self, key: str, conditions: Conditions) -> None:
        info, _ = self._objects.get(key, (ObjectInfo(0), b""))
        if not conditions.allow_write(info.etag, info.last_modified, exists=key in self._objects):
            raise PreconditionFailed(f"`{key}` is not what the client expects")

    def _entry(self, prefix: str, name: str) -> Entry:
        """What a listing says of a file or a directory below a prefix."""
        if name.endswith("/"):
            return Entry(name)
        info, _ = self._objects[prefix + name]
        return Entry(name, info.size, info.last_modified, info.etag)


def _etag(body: bytes) -> str:
    return f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'


def _info(size: int, write: Write) -> ObjectInfo:
    """The info of a written object; the storage class is not kept."""
    properties = write.properties
    return ObjectInfo(
        size,
        content_type=write.stored_type,
        cache_control=properties.cache_control,
        content_disposition=properties.content_disposition,
        content_encoding=properties.content_encoding,
        content_language=properties.content_language,
        expires=format_date(properties.expires) if properties.expires else None,
        metadata=tuple((name.lower(), value) for name, value in properties.metadata.items()),
    )
