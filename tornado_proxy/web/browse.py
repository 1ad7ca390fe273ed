"""Answers with a directory: a page of its listing, with the actions that its viewer may take."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from urllib.parse import urlsplit

from markupsafe import Markup

from tornado_proxy.pages.custom import NEVER, FolderEntry, FolderListData
from tornado_proxy.pages.listing import Line, Listing
from tornado_proxy.pages.listing_view import LARGEST_README, Offers, find_readme, render_readme
from tornado_proxy.pages.render import LISTING_FORMS, Form, choose
from tornado_proxy.routing.decide import opens_all_below
from tornado_proxy.routing.plan import Browse
from tornado_proxy.routing.request import ASSETS_AT, ObjectKey, RequestPath
from tornado_proxy.storage.errors import Busy, StorageError
from tornado_proxy.storage.store import Entry, Page, Write, to_token
from tornado_proxy.web.answer import Answer, page
from tornado_proxy.web.archive import FORMATS, archive
from tornado_proxy.web.custom_pages import PageFailed, customized, read_text
from tornado_proxy.web.generation import TURN, RequestContext

_ANY_KEY = ObjectKey("any")  # every key of a bucket has the same origin
_PATIENCE = 5.0  # seconds that a listing waits for its README
_MOST_PAGES = 100  # of the store, for one page of a listing

LONGEST_PAGE = 1000
"""The most entries of a page of the service's own."""


async def browse(attempt: Browse, context: RequestContext) -> Answer | None:
    """Returns a listing or an archive of a directory; None if it is empty and not the mount's root."""
    site, query = context.match.site, context.request.parameters
    custom_page = context.renderer.pages.find(site.target.name, "folder_list")
    is_custom = custom_page is not None and custom_page.body is not None
    most = site.target.bucket.list_max_keys
    limit = _limit(query.get("limit", ""), most if is_custom else min(most, LONGEST_PAGE))
    content = await _page(attempt.prefix, limit, context, fill=is_custom)
    if not content.entries and not content.exists and not attempt.root:
        return None
    archives = tuple(FORMATS) if site.target.listing.archive.enabled else ()
    named = query.get("format")
    if named in archives:
        return await archive(context, named)
    lines = tuple(Line(each.name, each.size, each.last_modified, each.etag) for each in content.entries)
    first = site.target.listing.directories_first
    listing = Listing(context.request.path, context.match.mount, lines, query, content.next_token, first)
    custom = await context.written("folder_list", partial(_folder_data, attempt.prefix, listing, context))
    accept, is_strict = context.headers.get("Accept"), custom is None
    form = choose(LISTING_FORMS, accept, named, is_strict=is_strict, others=archives)
    if custom is not None and custom.body is not None:
        # A page of a thousand lines is not made only to be replaced.
        empty = Listing(listing.path, listing.root, (), query, content.next_token)
        return customized(page(200, context.pages.listing(empty, form)), custom)
    offers = await _offers(listing, context) if form is Form.HTML else None
    return customized(page(200, context.pages.listing(listing, form, offers)), custom)


async def _page(prefix: ObjectKey, limit: int, context: RequestContext, *, fill: bool) -> Page:
    """Returns at most `limit` entries that the viewer sees, from one page of the store, or from several to `fill` it.

    The token names the last entry that is seen: the viewer can read a name in it.
    """
    token, exists = context.request.parameters.get("after") or None, False
    seen: list[Entry] = []
    for _ in range(_MOST_PAGES):
        content = await context.store.list(prefix, token, limit - len(seen))
        seen += await context.visible(content.entries)
        token, exists = content.next_token, exists or content.exists
        if token is None or len(seen) == limit or (seen and not fill):
            return Page(tuple(seen), to_token(seen[-1].name) if token else None, exists=exists)
    raise Busy(f"the first {_MOST_PAGES} pages of `{prefix}` have nothing that the viewer may see")


async def _offers(listing: Listing, context: RequestContext) -> Offers:
    put, path = context.match.site.target.actions.put, listing.path
    uploads = not context.beside(path, "PUT", permitted=True).is_refused
    files_from, uploads_to = await _origins(context, uploads=uploads)
    return Offers(
        upload=uploads,
        replace=put.allow_override,
        max_size=put.max_size,
        archives=tuple(FORMATS) if context.match.site.target.listing.archive.enabled and listing.lines else (),
        readme=await _readme(listing, context),
        removable=await _removable(listing, context),
        reserved=f"/{ASSETS_AT}" in path,
        files_from=files_from,
        uploads_to=uploads_to,
    )


async def _removable(listing: Listing, context: RequestContext) -> frozenset[str]:
    """Returns the names of the files that the viewer may remove, but for a policy server."""
    files = [each.name for each in listing.lines if not each.is_directory and listing.href(each)]
    names: list[str] = []
    for number, name in enumerate(files if "DELETE" in context.match.site.methods else ()):
        if number % TURN == 0:
            await asyncio.sleep(0)
        if not context.beside(listing.path + name, "DELETE", permitted=True).is_refused:
            if opens_all_below(context.mounts, context.decision):
                return frozenset(files)
            names.append(name)
    return frozenset(names)


async def _origins(context: RequestContext, *, uploads: bool) -> tuple[str, str]:
    """Returns the origins of S3 where files come from and where a page can send them; empty for this service."""
    actions = context.match.site.target.actions
    files_from = uploads_to = ""
    with suppress(StorageError):
        if actions.get.redirect_to_signed_url:
            files_from = _origin(await context.store.presign(_ANY_KEY, 1))
        if uploads and actions.put.direct_uploads:
            uploads_to = _origin((await context.store.presign_upload(_ANY_KEY, Write(max_size=1), 1)).url)
    return files_from, uploads_to


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


async def _readme(listing: Listing, context: RequestContext) -> Markup | None:
    """Returns the directory's README if the viewer may read it, else None."""
    name = find_readme(line.name for line in listing.lines if (line.size or 0) <= LARGEST_README)
    if not context.match.site.target.listing.readme or not listing.first or not name:
        return None
    first = context.file(await context.ask(RequestPath(f"{listing.path}{name}")))
    if first is not None:
        with suppress(StorageError, PageFailed, TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                return await asyncio.to_thread(
                    render_readme, name, await read_text(context.store, first.key, LARGEST_README)
                )
    return None


def _limit(text: str, most: int) -> int:
    """Returns the number of entries that a query asks for; an invalid one counts as absent."""
    limit = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else most
    return limit if 0 < limit < most else most


def _folder_data(prefix: str, listing: Listing, context: RequestContext) -> FolderListData:
    target = context.match.site.target
    # As in s3-proxy: directories first, both in S3's order.
    lines = sorted(listing.lines, key=lambda line: listing.directories_first and not line.is_directory)
    entries = tuple(_folder_entry(prefix, line, listing) for line in lines)
    following = listing.next_href or ""
    return FolderListData(context.request, context.user, entries, target.bucket.name, target.name, following)


def _folder_entry(prefix: str, line: Line, listing: Listing) -> FolderEntry:
    key, path = f"{prefix}{line.name}", listing.href(line) or ""
    if line.is_directory:
        return FolderEntry(line.name, path, key, "FOLDER")
    return FolderEntry(line.name, path, key, "FILE", line.size or 0, line.etag or "", line.last_modified or NEVER)
