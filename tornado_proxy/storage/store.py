"""The protocol of a bucket, the values that cross it, and what the current request has used of one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Coroutine, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.routing.upload_steps import Properties
from tornado_proxy.semantics.conditions import UNCONDITIONAL, ByteRange, Conditions, ContentRange
from tornado_proxy.semantics.fields import Checksum, Utf8Check, with_charset

T = TypeVar("T")

CacheResult = Literal["hit", "miss", "revalidated"]
"""Whether a cache had the object, did not have it, or had it and S3 confirmed that it is unchanged."""

PROBE_NAME = ".tornado-proxy-probe-"
"""The start of the names of objects that try what a bucket does; they are removed at once."""


class ObjectInfo(msgspec.Struct, frozen=True, cache_hash=True):
    """The headers of an object; `size` in bytes of the whole object, `last_modified` in UTC, whole seconds."""

    size: int | None  # None where S3 does not say, of an object that it unpacks
    etag: str | None = None  # quotes included
    last_modified: datetime | None = None
    content_type: str | None = None
    content_disposition: str | None = None
    content_encoding: str | None = None
    content_language: str | None = None
    cache_control: str | None = None
    expires: str | None = None  # as stored: S3 keeps any text
    checksums: tuple[Checksum, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()  # names in lower case, without `x-amz-meta-`
    redirect: str | None = None  # where S3's website endpoint would redirect, as stored
    cache: CacheResult | None = None  # None without a cache
    age: int = 0  # seconds since S3 answered


class OpenedObject(Protocol):
    """An object whose body can be read; must be closed. `content_range` is the part that the body has, for a 206."""

    info: ObjectInfo

    @property
    def content_range(self) -> ContentRange | None:
        """The part of the object in the body, for a 206; otherwise None."""

    def chunks(self) -> AsyncIterator[bytes]:
        """Yields the body in chunks of at most 512 KiB; raises `StorageError` if it is truncated."""

    async def close(self) -> None:
        """Returns the connection to the pool, or drops it if the body was not read to its end."""


class Entry(msgspec.Struct, frozen=True):
    """A file or a directory in a listing: its name relative to the listed prefix; a directory's ends in `/`."""

    name: str
    size: int | None = None
    last_modified: datetime | None = None
    etag: str | None = None

    @property
    def is_directory(self) -> bool:
        """Whether it is a common prefix of objects."""
        return self.name.endswith("/")


class Page(msgspec.Struct, frozen=True):
    """A page of a listing in S3's order."""

    entries: tuple[Entry, ...]
    next_after: str | None = None  # the name after which the next page begins; None at the end
    is_marked: bool = False  # whether the directory's own object was found, which is no entry


class Stored(msgspec.Struct, frozen=True):
    """A write that S3 has confirmed, with the ETag of the object, and what S3 did not decide of its conditions."""

    etag: str
    caveat: str = ""


class Write(msgspec.Struct, frozen=True):
    """The options of an upload; S3 checks the conditions as part of the write."""

    content_type: str | None = None
    replace: bool = True  # if false, and there is an object, the write raises `ObjectExists`
    conditions: Conditions = msgspec.field(default_factory=Conditions)  # a false one raises `PreconditionFailed`
    max_size: int | None = None  # bytes; one more raises `TooLarge` and stores nothing
    announced: int | None = None  # bytes that the file seems to have, if that is known before they arrive
    properties: Properties = msgspec.field(default_factory=Properties)
    text: Utf8Check | None = None  # sees the content as it passes, and so whether the type needs a charset

    @property
    def stored_type(self) -> str | None:
        """The type with the charset that the content so far shows; ask for it when the first bytes are to be stored."""
        if self.content_type is None or self.text is None or not self.text.is_utf8:
            return self.content_type
        return with_charset(self.content_type, "utf-8")


@dataclass(frozen=True, slots=True)
class UploadForm:
    """A form that stores one object: the URL to post it to, and the fields before the file."""

    url: str
    fields: Mapping[str, str] = field(repr=False)


class IncomingPart(msgspec.Struct, frozen=True):
    """A part of an upload that is arriving, numbered from 1; its chunks have `size` bytes together."""

    number: int
    size: int
    chunks: AsyncIterator[bytes]


class UploadedPart(msgspec.Struct, frozen=True):
    """A stored part of an unfinished upload; `size` in bytes."""

    number: int
    size: int
    etag: str
    crc32: str | None = None  # in base64, if S3 keeps the checksums of parts


class Store(Protocol):
    """A bucket; every method raises `StorageError` and no other exception.

    One contract suite tests the implementations for S3 and for memory.
    """

    async def open(self, key: ObjectKey, conditions: Conditions, part: ByteRange | None = None) -> OpenedObject:
        """Opens an object or a part of it."""

    async def head(self, key: ObjectKey, conditions: Conditions) -> ObjectInfo:
        """Returns the headers of an object."""

    async def list(self, prefix: ObjectKey, after: str | None = None, limit: int = 1000) -> Page:
        """Returns a page of the entries directly below a prefix and after a name, without its own marker object.

        The prefix is empty or ends in `/`.
        """

    async def put(self, key: ObjectKey, chunks: AsyncIterator[bytes], write: Write) -> Stored:
        """Stores the chunks as an object; if the iterator raises an exception, stores nothing and raises it again."""

    async def remove(self, key: ObjectKey, conditions: Conditions = UNCONDITIONAL) -> None:
        """Removes an object if the conditions are true; a missing one is not an error, as in S3."""

    async def presign(self, key: ObjectKey, expires: int) -> str:
        """Returns a URL that fetches the object for a number of seconds; needs no network."""

    async def presign_upload(self, key: ObjectKey, write: Write, expires: int) -> UploadForm:
        """Returns a form that stores an object of this key, type and size for a number of seconds.

        It replaces an existing object. `write` has a `max_size`; needs no network.
        """

    async def begin_upload(self, key: ObjectKey, write: Write) -> str:
        """Begins a multipart upload and returns its ID; raises the errors of a write that would fail.

        Later calls need the same key, and raise `UploadMissing` if the key has no such upload.
        """

    async def put_part(self, key: ObjectKey, upload: str, part: IncomingPart) -> None:
        """Stores a part of an upload; replaces an earlier one of the same number."""

    async def list_parts(self, key: ObjectKey, upload: str) -> tuple[UploadedPart, ...]:
        """Returns the parts of an upload, by number."""

    async def complete_upload(self, key: ObjectKey, upload: str, parts: Sequence[UploadedPart], write: Write) -> Stored:
        """Turns parts into an object if the conditions of the write are true; all but the last have at least 5 MiB."""

    async def abort_upload(self, key: ObjectKey, upload: str) -> None:
        """Removes an upload and its parts."""

    async def close(self) -> None:
        """Closes the store; open objects can be read to their end."""


WRITES = ("put", "remove", "complete_upload")
"""The calls that change an object; even one that fails may have changed it."""

LOCAL = ("presign", "presign_upload")  # the calls that need no network


def _forwarded(name: str) -> Any:
    def forward(self: ForwardingStore, key: ObjectKey, /, *rest: Any, **named: Any) -> Coroutine[Any, Any, Any]:
        return self._forward(name, key, getattr(self.behind, name)(key, *rest, **named))

    return forward


class ForwardingStore:
    """Passes each call to another store; the base of stores that add something."""

    def __init__(self, behind: Store) -> None:
        self.behind = behind

    open = _forwarded("open")
    head = _forwarded("head")
    list = _forwarded("list")
    put = _forwarded("put")
    remove = _forwarded("remove")
    presign = _forwarded("presign")
    presign_upload = _forwarded("presign_upload")
    begin_upload = _forwarded("begin_upload")
    put_part = _forwarded("put_part")
    list_parts = _forwarded("list_parts")
    complete_upload = _forwarded("complete_upload")
    abort_upload = _forwarded("abort_upload")

    async def close(self) -> None:
        """Closes the other store."""
        await self.behind.close()

    async def _forward(self, call: str, key: ObjectKey, result: Awaitable[T]) -> T:  # noqa: ARG002 - for subclasses
        """Awaits the result of a call with a key or a prefix."""
        return await result


# The last character of Unicode: a directory's name followed by it sorts after all of its content.
_LAST_CHARACTER = "\U0010ffff"


def start_after(prefix: str, name: str) -> str:
    """Returns the key for `StartAfter`: after a directory, the last key that it could contain."""
    return prefix + name + (_LAST_CHARACTER if name.endswith("/") else "")


class BucketUse(msgspec.Struct):
    """The seconds that a request has waited for S3, all calls added up, and the ID that S3 gave its last call."""

    seconds: float = 0.0
    request_id: str = ""


USE: ContextVar[BucketUse | None] = ContextVar("USE", default=None)
"""The use of the current request; None where no log shows it."""


def note_wait(seconds: float) -> None:
    """Adds a wait for S3."""
    if (use := USE.get()) is not None:
        use.seconds += seconds


def note_request_id(request_id: str) -> None:
    """Notes S3's ID of a call (the header `x-amz-request-id`)."""
    if request_id and (use := USE.get()) is not None:
        use.request_id = request_id
