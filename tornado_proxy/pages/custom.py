"""Custom pages: Go templates of a body, of headers and of a status, and the data that they read.

A page with templates in a bucket is a `Recipe` until they have been read, and again after a while.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from gotemplate.template.errors import RenderError, RenderLimits
from tornado_proxy.config.options import camel_case
from tornado_proxy.pages import limits
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.request import ObjectKey, RequestError
from tornado_proxy.semantics.conditions import UNCONDITIONAL
from tornado_proxy.semantics.fields import encoded_disposition
from tornado_proxy.semantics.request import Request, StatusError, User
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.store import Store
from tornado_proxy.templates.go import PageMistake, PageTemplate, callable_from, compile_page
from tornado_proxy.templates.limits import HEADER_STEPS, HEADER_TEXT, PAGE_ITEMS
from tornado_proxy.templates.template import PAGE_LIMITS, AnyUser, ObjectMetadata, ResourceData, TargetData, trimmed

CONTENT_TYPE = ("Content-Type", '{{ template "main.headers.contentType" . }}')
"""The Content-Type of a page whose headers have none."""

FILE_HEADERS = "streamed_file_headers"
"""The kind of page that has only headers: those of a file."""

_SMALL = RenderLimits(HEADER_STEPS, HEADER_TEXT, PAGE_ITEMS)
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_ERRORS = {
    "bad_request_error": (400, 408, 413, 415, 431),
    "unauthorized_error": (401,),
    "forbidden_error": (403, 409),
    "not_found_error": (404,),
    "internal_server_error": (500, 502, 503, 504),
}
ERROR_PAGES: Mapping[int, str] = {status: kind for kind, statuses in _ERRORS.items() for status in statuses}
"""The kind of page of each error status; other statuses have the service's own page."""


class BucketKey(msgspec.Struct, frozen=True):
    """The key of a template in the bucket of its target."""

    key: str


Part = str | BucketKey
"""The text of a template, or its key."""


class ControlCharacter(RequestError):
    """A header whose template writes a control character, which it can only have from the request."""


class CustomRendering(msgspec.Struct, frozen=True):
    """A rendered page; None for a body or status means the service's own."""

    body: bytes | None
    headers: tuple[tuple[str, str], ...]
    status: int | None

    @property
    def written(self) -> frozenset[str]:
        """The names of the headers that are not empty, in lower case."""
        return frozenset(name.lower() for name, value in self.headers if value)


class CustomPage(msgspec.Struct, frozen=True):
    """A compiled page."""

    kind: str
    body: PageTemplate | None
    headers: tuple[tuple[str, PageTemplate], ...]
    status: PageTemplate | None

    @property
    def doubts(self) -> Iterator[PageMistake]:
        """The mistakes that not every rendering reaches."""
        parts = (("path", self.body), *self.headers, ("status", self.status))
        for part, template in parts:
            for each in template.doubts if template else ():
                yield _placed(part, each)

    def render(self, data: PageData) -> CustomRendering:
        """Renders the page; raises `RenderError` and `ControlCharacter`."""
        headers = [(name, _header(name, template.render(data, _SMALL))) for name, template in self.headers]
        # A page of more than a thousand entries, which the operator asked for, may take more steps.
        thousands = 1 + len(data.entries) // 1000 if isinstance(data, FolderListData) else 1
        within = replace(PAGE_LIMITS, steps=thousands * PAGE_LIMITS.steps)
        body = None if self.body is None else self.body.render(data, within).lstrip("\n").encode("utf-8", "replace")
        status = None if self.status is None else _status(self.status.render(data, _SMALL))
        return CustomRendering(body, tuple(headers), status)


def _header(name: str, text: str) -> str:
    value = trimmed(text)
    if _CONTROL.search(value):
        raise ControlCharacter(f"the template of the header `{name}` writes a control character")
    if name.lower() == "content-disposition" and value:
        return encoded_disposition(value)
    return value if value.isascii() else value.encode("utf-8", "replace").decode("latin-1")


def _status(text: str) -> int:
    value = trimmed(text)
    if not re.fullmatch("[2-5][0-9]{2}", value):
        raise RenderError(f"the template of the status writes `{value[:40]}` instead of a status from 200 to 599")
    return int(value)


class Recipe(msgspec.Struct, frozen=True):
    """The templates of a page as they are configured."""

    kind: str
    body: Part | None
    headers: tuple[tuple[str, str], ...] = ()
    status: str = ""
    helpers: tuple[Part, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the templates in the bucket."""
        return tuple(each.key for each in (*self.helpers, self.body) if isinstance(each, BucketKey))

    def compiled(self, texts: Mapping[str, str] | None = None) -> CustomPage:
        """Compiles the page with the texts of its `keys`; raises `PageMistake`."""
        found = texts or {}
        helpers = [found[each.key] if isinstance(each, BucketKey) else each for each in self.helpers]
        body = found[self.body.key] if isinstance(self.body, BucketKey) else self.body
        names = {name.lower() for name, _ in self.headers}
        typed = body is not None and "content-type" not in names
        headers = ((CONTENT_TYPE,) if typed else ()) + self.headers
        return CustomPage(
            self.kind,
            None if body is None else _compiled(self.kind, "path", body, helpers),
            tuple((name, _compiled(self.kind, name, text, helpers)) for name, text in headers),
            _compiled(self.kind, "status", self.status, helpers) if self.status else None,
        )


def _compiled(kind: str, part: str, text: str, helpers: Sequence[str]) -> PageTemplate:
    try:
        return compile_page(text, callable_from(text, helpers), _SAMPLES.get(kind, _ERROR))
    except PageMistake as mistake:
        raise _placed(part, mistake) from mistake.__cause__


def _placed(part: str, mistake: PageMistake) -> PageMistake:
    """Returns a mistake with the part where its user can find it: one in a built-in helper is the page's."""
    if mistake.helper == 0:
        mistake = PageMistake(mistake, 0, None)
    mistake.part = mistake.helper - 1 if mistake.helper else part
    return mistake


class CustomPages(msgspec.Struct, frozen=True):
    """The custom pages of a configuration by target (None: for all) and kind, and the themed pages by target."""

    pages: Mapping[tuple[str | None, str], CustomPage | Recipe] = {}
    themed: Mapping[str | None, Pages] = {}

    def find(self, target: str | None, kind: str) -> CustomPage | Recipe | None:
        """Returns the page of a target, or else the one for all targets."""
        return self.pages.get((target, kind)) or self.pages.get((None, kind))


NEVER = datetime(1, 1, 1, tzinfo=UTC)
"""Go's zero time."""

# Templates read the following classes by the names of s3-proxy: `content_type` is `.ContentType`.


class PageError(Exception):
    """The value of `.Error`: the message of an error."""


class FolderEntry(msgspec.Struct, frozen=True):
    """An entry of a listing; `path` is a link, percent-encoded, and `type` is `FILE` or `FOLDER`."""

    name: str
    path: str
    key: str
    type: str
    size: int = 0
    etag: str = ""
    last_modified: datetime = NEVER


class StoredUpload(msgspec.Struct, frozen=True):
    """A stored upload."""

    key: str
    filename: str
    content_type: str
    content_size: int
    metadata: Mapping[str, str] = {}
    storage_class: str = ""


class DeleteData(msgspec.Struct, frozen=True):
    """A deleted object."""

    key: str


class StreamFile(msgspec.Struct, frozen=True):
    """A file in an answer."""

    content_length: int
    content_type: str = ""
    content_range: str = ""
    content_disposition: str = ""
    content_encoding: str = ""
    content_language: str = ""
    content_digest: str = ""
    cache_control: str = ""
    expires: str = ""
    etag: str = ""
    last_modified: datetime = NEVER
    metadata: ObjectMetadata = msgspec.field(default_factory=ObjectMetadata)


class PageData(msgspec.Struct, frozen=True):
    """The data of every page: the request and the user."""

    request: Request
    user: User | None


class ErrorData(PageData, frozen=True):
    """The data of an error page."""

    error: PageError


class FolderListData(PageData, frozen=True):
    """The data of a listing; `next` is the link to the next page, or empty."""

    entries: tuple[FolderEntry, ...]
    bucket_name: str
    name: str
    next: str


class TargetListData(PageData, frozen=True):
    """The data of the page of all targets by name."""

    targets: Mapping[str, TargetData]


class PutPageData(PageData, frozen=True):
    """The data of the answer to an upload."""

    put_data: StoredUpload


class DeletePageData(PageData, frozen=True):
    """The data of the answer to a deletion."""

    delete_data: DeleteData


class StreamFileData(PageData, frozen=True):
    """The data of the headers of a file in an answer."""

    stream_file: StreamFile


_ASKED = Request(), AnyUser("")
_ERROR = ErrorData(*_ASKED, PageError())
_SAMPLES: Mapping[str, PageData] = {
    "folder_list": FolderListData(*_ASKED, (FolderEntry("", "", "", ""),), "", "", ""),
    "target_list": TargetListData(*_ASKED, {"": TargetData(resources=(ResourceData(""),))}),
    "put": PutPageData(*_ASKED, StoredUpload("", "", "", 0)),
    "delete": DeletePageData(*_ASKED, DeleteData("")),
    FILE_HEADERS: StreamFileData(*_ASKED, StreamFile(0)),
}
"""An example of the data of each kind of page; all others are pages of errors."""


_LOG = logging.getLogger("tornado_proxy")


class PageFailed(StatusError):
    """A custom page that cannot be made; the text is for the log."""

    status = 500


class PageUnavailable(PageFailed):
    """A page whose templates the bucket did not give; an error is answered with the service's own."""


class _Read(msgspec.Struct):
    """A page with templates in a bucket: its last state, its error, and the time of both."""

    page: CustomPage | None = None
    failure: str = ""
    until: float = 0.0
    task: asyncio.Task[None] | None = None


class PageRenderer:
    """Renders the pages of a generation; of those with templates in buckets, concurrent requests share one read."""

    def __init__(self, pages: CustomPages | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.pages = pages or CustomPages()
        self._clock = clock
        self._read: dict[tuple[str, str], _Read] = {}
        self._away: set[str] = set()  # the targets whose bucket did not answer the last time, or not yet

    async def render(
        self, kind: str, target: str | None, store: Store | None, data: Callable[[], PageData]
    ) -> CustomRendering | None:
        """Renders a page; None if the service's own page applies. Raises `PageFailed` and `ControlCharacter`."""
        page = self.pages.find(target, kind)
        if isinstance(page, Recipe):
            assert target is not None
            assert store is not None
            page = await self.page(target, page, store)
        if page is None:
            return None
        values = data()
        try:
            if len(values.entries if isinstance(values, FolderListData) else ()) > limits.ENTRIES_ON_LOOP:
                return await asyncio.to_thread(page.render, values)
            return page.render(values)
        except RenderError as error:
            message = f"the page `{camel_case(kind)}` failed: {error}"
            _LOG.error("%s", message)
            raise PageFailed(message) from error

    async def page(self, target: str, recipe: Recipe, store: Store) -> CustomPage:
        """Returns the page, at most `TEMPLATE_FRESH` seconds old unless the bucket fails; raises `PageUnavailable`.

        An error waits for its page, but no longer than `PAGE_WITHIN`, and not at all while the bucket is away.
        """
        # Bounded by the pages that the configuration names.
        read = self._read.setdefault((target, recipe.kind), _Read())
        if self._clock() >= read.until and read.task is None:
            read.task = asyncio.get_running_loop().create_task(self._refresh(target, read, recipe, store))
        is_error = recipe.kind in ERROR_PAGES.values()
        if (task := read.task) is not None and not (is_error and target in self._away):
            # A client that leaves does not end the reading for others.
            await asyncio.wait({task}, timeout=limits.PAGE_WITHIN if is_error else None)
            if task.done():
                task.result()
            else:
                self._away.add(target)
                read.failure = _failure(recipe, f"the bucket did not answer within {limits.PAGE_WITHIN:g} s")
        if read.page is None:
            raise PageUnavailable(read.failure or f"the bucket of `{target}` is away")
        return read.page

    async def _refresh(self, target: str, read: _Read, recipe: Recipe, store: Store) -> None:
        failure, is_away = "", False
        try:
            texts = {key: await read_text(store, ObjectKey(key), limits.LARGEST_BUCKET_TEMPLATE) for key in recipe.keys}
            read.page = await asyncio.to_thread(recipe.compiled, texts)
        except (StorageError, PageMistake, PageFailed) as error:
            failure = _failure(recipe, str(error) or type(error).__name__)
            is_away = isinstance(error, StorageError) and not error.by_client
        finally:
            (self._away.add if is_away else self._away.discard)(target)
            read.failure = failure
            read.until = self._clock() + (limits.TEMPLATE_AGAIN_AFTER if failure else limits.TEMPLATE_FRESH)
            read.task = None


def _failure(recipe: Recipe, reason: str) -> str:
    failure = f"the page `{camel_case(recipe.kind)}` cannot be made of `{'`, `'.join(recipe.keys)}`: {reason}"
    _LOG.error("%s", failure)
    return failure


_GZIP = 16 + zlib.MAX_WBITS  # the format of gzip only


async def read_text(store: Store, key: ObjectKey, largest: int) -> str:
    """Returns the text of an object, unpacked; raises `StorageError`, `PageFailed` if it is too large or not UTF-8."""
    opened = await store.open(key, UNCONDITIONAL, None)
    content = bytearray()
    try:
        async with aclosing(opened.chunks()) as chunks:  # type: ignore[type-var]  # generators are what stores give
            async for chunk in chunks:
                content += chunk
                if max(len(content), opened.info.size or 0) > largest:
                    raise PageFailed(f"`{key}` is larger than {largest} bytes")
    finally:
        await opened.close()
    try:
        if opened.info.content_encoding == "gzip":
            content = bytearray(zlib.decompressobj(_GZIP).decompress(content, largest + 1))
            if len(content) > largest:
                raise PageFailed(f"`{key}` is larger than {largest} bytes")
        return content.decode()
    except zlib.error:
        raise PageFailed(f"`{key}` is not gzip") from None
    except UnicodeDecodeError:
        raise PageFailed(f"`{key}` is not UTF-8") from None
