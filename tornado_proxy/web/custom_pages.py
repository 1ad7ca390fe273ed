"""Custom pages: reads templates from buckets, renders them, and makes answers of them."""

from __future__ import annotations

import asyncio
import logging
import time
import zlib
from collections.abc import Callable
from contextlib import aclosing

import msgspec

from gotemplate.template.errors import RenderError
from tornado_proxy.config.options import camel_case
from tornado_proxy.pages.custom import (
    ERROR_PAGES,
    CustomPage,
    CustomPages,
    CustomRendering,
    FolderListData,
    PageData,
    Recipe,
)
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.semantics.conditions import UNCONDITIONAL
from tornado_proxy.semantics.request import StatusError
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.store import Store
from tornado_proxy.templates.go import PageMistake
from tornado_proxy.web.answer import Whole, with_headers, without
from tornado_proxy.web.limits import (
    ENTRIES_ON_LOOP,
    LARGEST_TEMPLATE,
    PAGE_WITHIN,
    TEMPLATE_AGAIN_AFTER,
    TEMPLATE_FRESH,
)

_LOG = logging.getLogger("tornado_proxy")

BODILESS = (204, 304)
# Headers that describe the body that is replaced.
_OF_BODY = frozenset({"content-type", "content-security-policy", "content-length"})


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


class BucketPages:
    """The compiled pages with templates in buckets; concurrent requests share one read."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._read: dict[tuple[str, str], _Read] = {}
        self._away: set[str] = set()  # the targets whose bucket did not answer the last time, or not yet

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
            await asyncio.wait({task}, timeout=PAGE_WITHIN if is_error else None)
            if task.done():
                task.result()
            else:
                self._away.add(target)
                read.failure = _failure(recipe, f"the bucket did not answer within {PAGE_WITHIN:g} s")
        if read.page is None:
            raise PageUnavailable(read.failure or f"the bucket of `{target}` is away")
        return read.page

    async def _refresh(self, target: str, read: _Read, recipe: Recipe, store: Store) -> None:
        failure, is_away = "", False
        try:
            texts = {key: await read_text(store, ObjectKey(key), LARGEST_TEMPLATE) for key in recipe.keys}
            read.page = await asyncio.to_thread(recipe.compiled, texts)
        except (StorageError, PageMistake, PageFailed) as error:
            failure = _failure(recipe, str(error) or type(error).__name__)
            is_away = isinstance(error, StorageError) and not error.by_client
        finally:
            (self._away.add if is_away else self._away.discard)(target)
            read.failure = failure
            read.until = self._clock() + (TEMPLATE_AGAIN_AFTER if failure else TEMPLATE_FRESH)
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


class PageRenderer(msgspec.Struct, frozen=True):
    """Renders the pages of a generation."""

    pages: CustomPages = msgspec.field(default_factory=CustomPages)
    in_buckets: BucketPages = msgspec.field(default_factory=BucketPages)

    async def render(
        self, kind: str, target: str | None, store: Store | None, data: Callable[[], PageData]
    ) -> CustomRendering | None:
        """Renders a page; None if the service's own page applies. Raises `PageFailed` and `ControlCharacter`."""
        page = self.pages.find(target, kind)
        if isinstance(page, Recipe):
            assert target is not None
            assert store is not None
            page = await self.in_buckets.page(target, page, store)
        if page is None:
            return None
        values = data()
        try:
            if len(values.entries if isinstance(values, FolderListData) else ()) > ENTRIES_ON_LOOP:
                return await asyncio.to_thread(page.render, values)
            return page.render(values)
        except RenderError as error:
            message = f"the page `{camel_case(kind)}` failed: {error}"
            _LOG.error("%s", message)
            raise PageFailed(message) from error


def customized(own: Whole, custom: CustomRendering | None) -> Whole:
    """Returns an answer with the body, status and headers of a custom page."""
    if custom is None:
        return own
    body, status = own.body if custom.body is None else custom.body, custom.status or own.status
    kept = own.headers if custom.body is None else without(own.headers, _OF_BODY)
    headers = with_headers(without(kept, {"content-length"}), custom.headers)
    if status in BODILESS:
        return Whole(status, without(headers, _OF_BODY), templated=custom.written)
    return Whole(status, (*headers, ("Content-Length", str(len(body)))), body, custom.written)
