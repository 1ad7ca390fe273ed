"""Answers with a directory: for people a page of what they see of it, with what they may do; for programs all of it."""

from __future__ import annotations

import asyncio
import sys
import zlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, ExitStack, aclosing, suppress
from functools import partial
from itertools import takewhile
from urllib.parse import urlsplit

import msgspec
from markupsafe import Markup
from msgspec.structs import replace

from tornado_proxy.pages.custom import NEVER, FolderEntry, FolderListData, PageFailed, read_text
from tornado_proxy.pages.limits import LARGEST_README, READMES_KEPT
from tornado_proxy.pages.listing import Listing, Offers, Order, requested_order, written
from tornado_proxy.pages.render import LISTING_FORMS, Form, Rendering, choose
from tornado_proxy.routing.plan import Browse
from tornado_proxy.routing.request import ASSETS_AT, ObjectKey, RequestError
from tornado_proxy.rules.limits import LONGEST_OBJECT_KEY
from tornado_proxy.semantics.fields import asks_for_page
from tornado_proxy.semantics.request import RequestPath
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.store import Entry, Page, Write
from tornado_proxy.web import limits
from tornado_proxy.web.answer import BODILESS, Answer, customized, page, with_headers
from tornado_proxy.web.archive import FORMATS, archive, stream
from tornado_proxy.web.generation import RequestContext
from tornado_proxy.wire.shares import in_own_thread

_ANY_KEY = ObjectKey("any")  # every key of a bucket has the same origin


class DirectoryTooLarge(RequestError):
    """A directory with more entries than a program gets in one answer: a part of it would pass for the whole."""

    status = 403

    def __init__(self, most: int) -> None:
        super().__init__(
            f"the directory has more entries than `listing.maxEntries`, or far more that are closed: {most}"
        )
        self.public_message = (
            f"This directory has more than {most} entries: ask for pages with “?limit={limits.LONGEST_PAGE}”"
        )


async def browse(attempt: Browse, context: RequestContext) -> Answer | None:
    """Returns a listing or an archive of a directory; None if it is empty and not the mount's root."""
    site, query = context.match.site, context.request.parameters
    custom_page = context.parts.renderer.pages.find(site.target.name, "folder_list")
    is_custom = custom_page is not None and custom_page.body is not None
    accept, named = context.headers.get("Accept"), query.get("format")
    form = choose(LISTING_FORMS, accept, named)
    order = None if is_custom else requested_order(query, directories_first=site.target.listing.directories_first)
    asked = _number(query.get("limit", ""))
    by_page = is_custom or asked or "after" in query or (form is Form.HTML and asks_for_page(accept))
    if not by_page and (not named or named == form.value):
        return await _whole(attempt, form, order, context)
    most = site.target.bucket.list_max_keys
    limit = min(asked or most, most if is_custom else min(most, limits.LONGEST_PAGE))
    content = await Directory(attempt.prefix, context).page(limit, order)
    if not content.exists and not attempt.root:
        return None
    archives = tuple(FORMATS) if site.target.listing.archive.enabled else ()
    if named in archives:
        return await archive(context, named)
    kept = {name: text for name, text in query.items() if name not in content.unused}
    listing = replace(
        _empty(context), entries=content.entries, query=kept, next_token=content.next_token, is_sorted=content.is_sorted
    )
    custom = await context.written("folder_list", partial(_folder_data, attempt.prefix, listing, context))
    if custom is None:
        choose(LISTING_FORMS, accept, named, is_strict=True, others=archives)
    if is_custom:
        # A page of a thousand entries is not made only to be replaced.
        listing = replace(listing, entries=())
    offers = await _offers(listing, context) if form is Form.HTML and not is_custom else None
    return customized(page(200, context.pages.listing(listing, form, offers)), custom)


def _empty(context: RequestContext) -> Listing:
    path, root = map(context.request.public, (context.request.path, context.match.mount))
    return Listing(path, root, (), directories_first=context.match.site.target.listing.directories_first)


async def _whole(attempt: Browse, form: Form, order: Order | None, context: RequestContext) -> Answer | None:
    """Returns a directory as one listing for a program, which knows no pages; raises `DirectoryTooLarge`.

    All of it is read before any is sent; what is large is kept compressed.
    """
    most, beginning, exists = context.match.site.target.listing.max_entries, _empty(context), False
    texts = written(beginning, form.value)
    begin, end = texts.begin.encode("utf-8", "replace"), texts.end.encode()
    held, packed, length = [begin], list[bytes](), len(begin) + len(end)
    count = 0
    with ExitStack() as place:
        async with aclosing(Directory(attempt.prefix, context).parts(most, order)) as parts:
            async for part in parts:
                count += 1
                if count == limits.LISTS_WITHOUT_TURN:
                    await _hold(place, context)  # before its turn to walk, as archives do
                exists = exists or part.is_marked or bool(part.entries)
                piece = _piece(part, form, beginning)
                length += len(piece)
                if length <= limits.LISTED_WHOLE:
                    held.append(piece)
                else:
                    packed.append(zlib.compress(piece, 1))
                if not beginning.entries:
                    beginning = replace(beginning, entries=part.entries)
        if not (exists or attempt.root):
            return None
        custom = await context.written("folder_list", partial(_folder_data, attempt.prefix, beginning, context))
        body = b"" if packed else b"".join((*held, end))
        answer = customized(page(200, Rendering(body, context.pages.index_headers(form))), custom)
        if not packed or answer.status in BODILESS:
            return answer
        headers = with_headers(answer.headers, (("Content-Length", str(length)),))
        if context.request.method == "HEAD":
            return replace(answer, headers=headers)
        if count < limits.LISTS_WITHOUT_TURN:
            await _hold(place, context)
        made = stream(headers, _unpacked(held, packed, end), place.pop_all().close)
        return replace(made, status=answer.status, templated=answer.templated)


async def _hold(place: ExitStack, context: RequestContext) -> None:
    """Has a place among the archives until the stack is closed; raises `Busy`."""
    place.callback(context.archives.give_back, await context.archives.take(context.match.site.target.name))


def _piece(part: Page, form: Form, beginning: Listing) -> bytes:
    texts = written(replace(beginning, entries=part.entries), form.value)
    separator = texts.separator if part.entries and beginning.entries else ""
    return f"{separator}{texts.entries}".encode("utf-8", "replace")


async def _unpacked(held: Sequence[bytes], packed: Sequence[bytes], end: bytes) -> AsyncGenerator[bytes, None]:
    for each in held:
        yield each
    for each in packed:
        yield zlib.decompress(each)
    yield end


async def _offers(listing: Listing, context: RequestContext) -> Offers:
    target, path = context.match.site.target, context.request.path
    put, archives = target.actions.put, target.listing.archive
    count = len(listing.entries) + (listing.next_token is not None)
    size = sum(each.size or 0 for each in listing.entries)
    may_fit = archives.enabled and 0 < count <= archives.max_files and size <= archives.max_size
    uploads = not context.beside(path, "PUT", permitted=True).is_refused
    files_from, uploads_to = await _origins(context, uploads=uploads)
    readme_name, readme = await _readme(listing, context)
    reserved, removable = f"/{ASSETS_AT}" in path, list[Entry]()
    if "DELETE" in context.match.site.methods and not reserved:
        files = [each for each in listing.entries if not each.is_directory and listing.href(each)]
        removable = await context.opened(path, files, len(files), "DELETE")
    return Offers(
        upload=uploads,
        replace=put.allow_override,
        max_size=put.max_size,
        archives=tuple(FORMATS) if may_fit else (),
        readme=readme,
        readme_name=readme_name,
        user=context.user.identifier if context.user else "",
        sign_out=context.parts.sign_out(context.decision),
        removable=frozenset(each.name for each in removable),
        reserved=reserved,
        files_from=files_from,
        uploads_to=uploads_to,
    )


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


async def _readme(listing: Listing, context: RequestContext) -> tuple[str, Markup | None]:
    """Returns the name and the HTML of a directory's README, or of the listed Markdown file that the request names."""
    names = [entry.name for entry in listing.entries if (entry.size or 0) <= LARGEST_README]
    named = listing.query.get("readme", "")
    if not context.match.site.target.listing.readme or not (listing.first or named):
        return "", None
    # An extra, which is imported with the configuration that asks for it.
    from tornado_proxy.pages.readme import find_readme, is_markdown  # noqa: PLC0415

    name = (named if named in names and is_markdown(named) else find_readme(names)) or ""
    first = context.file(await context.ask(RequestPath(f"{context.request.path}{name}"))) if name else None
    if first is not None:
        with suppress(StorageError, PageFailed, TimeoutError):
            async with asyncio.timeout(limits.README_WITHIN):
                text = await read_text(context.store, first.key, LARGEST_README)
                return name, await _rendered(name, text, context)
    return name, None


_RENDERED: dict[tuple[str, str], Markup] = {}  # the last READMEs


async def _rendered(name: str, text: str, context: RequestContext) -> Markup:
    """Returns a README as HTML, which goes on to be rendered for others if this listing waits no longer."""
    from tornado_proxy.pages.readme import render_readme  # noqa: PLC0415 - as above

    if (kept := _RENDERED.get((name, text))) is not None:
        return kept
    place = await context.readmes.take(context.match.site.target.name)

    def render() -> Markup:
        return _RENDERED.get((name, text)) or render_readme(name, text)

    def keep(rendering: asyncio.Future[Markup]) -> None:
        context.readmes.give_back(place)
        if not rendering.cancelled() and rendering.exception() is None:
            _RENDERED[name, text] = rendering.result()
            if len(_RENDERED) > READMES_KEPT:
                del _RENDERED[next(iter(_RENDERED))]

    rendering = asyncio.ensure_future(in_own_thread(render))
    rendering.add_done_callback(keep)
    return await asyncio.shield(rendering)


def _number(text: str) -> int:
    """Returns the number that a limit is, 0 for what is none: that asks for no page."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _folder_data(prefix: str, listing: Listing, context: RequestContext) -> FolderListData:
    target = context.match.site.target
    entries = []
    # As in s3-proxy: directories first, both in S3's order.
    for each in sorted(listing.entries, key=lambda entry: listing.directories_first and not entry.is_directory):
        names = each.name, listing.href(each) or "", f"{prefix}{each.name}"
        file = (each.size or 0, each.etag or "", each.last_modified or NEVER)
        entries.append(FolderEntry(*names, "FOLDER") if each.is_directory else FolderEntry(*names, "FILE", *file))
    following = listing.next_href or ""
    return FolderListData(context.request, context.user, tuple(entries), target.bucket.name, target.name, following)


class DirectoryPage(msgspec.Struct, frozen=True):
    """The entries of a page; `unused` names the parameters of the request that did not lead to it."""

    entries: tuple[Entry, ...]
    next_token: str | None
    exists: bool  # whether the directory has anything that its viewer may request, shown here or not
    is_sorted: bool = False
    unused: tuple[str, ...] = ()


class Directory:
    """A directory, that of the request or at another path; only its entries that start with `begins` of the request.

    What its viewer may not see changes nothing: no page is shorter, and no token counts it.
    """

    def __init__(self, prefix: ObjectKey, context: RequestContext, path: RequestPath | None = None) -> None:
        self._prefix, self._context, self._path = prefix, context, path or context.request.path
        self._begins = context.request.parameters.get("begins", "")
        self._token = context.request.parameters.get("after", "")

    async def page(self, limit: int, order: Order | None = None) -> DirectoryPage:
        """Returns `limit` entries, or the last ones: of the whole directory in order, if it is not too large for that.

        After `MOST_LISTS` answers of the store, a page is as it is then: closed entries cannot hold it for ever.
        """
        found = (await self._sorted_page(order, limit) if order else None) or await self._next_page(limit)
        # Always after a search without a result, so that the work does not tell whether closed names follow its text.
        return replace(found, exists=await self.exists()) if self._begins and not found.entries else found

    async def exists(self) -> bool:
        """Whether the directory has its own object or an entry that its viewer may request, hidden or not."""
        at_once = 1 if self._context.shows_all else limits.LISTED_AT_ONCE
        async with aclosing(self._answers(None, at_once, "")) as answers:
            async for found in answers:
                if found.is_marked or await self._context.opened(self._path, found.entries, 1):
                    return True
        return found.next_after is not None  # it was too much to read

    async def parts(self, most: int, order: Order | None) -> AsyncGenerator[Page, None]:
        """Yields all entries, in order or answer after answer of the store; raises `DirectoryTooLarge`.

        A page is marked if there is the directory's own object or an entry that is not shown.
        """
        count, left = 0, limits.READ_FOR_EACH_ENTRY * max(most, limits.FEWEST_ENTRIES_READ)
        if order is not None:
            most = min(most, limits.MOST_SORTED)
            page = await self._sorted_page(order, most)
            if page is None or page.next_token is not None:
                raise DirectoryTooLarge(most)
            count = len(page.entries)
            yield Page(page.entries, is_marked=page.exists)
        else:
            async with aclosing(self._answers(None, limits.LISTED_AT_ONCE, self._begins, sys.maxsize)) as answers:
                async for found in answers:
                    entries = await self._visible(found.entries, most + 1 - count)
                    count, left = count + len(entries), left - len(found.entries)
                    if count > most or left < 0:
                        raise DirectoryTooLarge(most)
                    is_marked = found.is_marked or await self._has_hidden(found.entries)
                    yield Page(tuple(entries), is_marked=is_marked)
        if self._begins and not count:
            yield Page((), is_marked=await self.exists())

    async def _next_page(self, limit: int) -> DirectoryPage:
        """Returns the entries after the one that the token names."""
        after = self._place("")
        shows_all, exists = self._context.shows_all, False
        seen: list[Entry] = []
        # As many as are shown would tell, by the time that it takes, how many of the next ones are closed.
        at_once = min(limit, limits.LISTED_AT_ONCE) if shows_all else limits.LISTED_AT_ONCE
        unused = () if after else ("after", "via")
        async with aclosing(self._answers(after or None, at_once, self._begins)) as answers:
            async for found in answers:
                # One more than shown: a page that follows has an entry.
                seen += await self._visible(found.entries, limit + 1 - len(seen))
                exists, place = exists or found.is_marked or await self._has_hidden(found.entries), found.next_after
                if len(seen) > limit or (shows_all and len(seen) == limit and place):
                    place = seen[limit - 1].name
                    break
        if after and not seen and not place:  # what followed is no longer there
            self._token = ""
            return await self._next_page(limit)
        following = self._sealed("", place) if place else None
        return DirectoryPage(tuple(seen[:limit]), following, bool(exists or seen or place), unused=unused)

    async def _sorted_page(self, order: Order, limit: int) -> DirectoryPage | None:
        """Returns a page of all entries in order, whose token counts those before it; None if there are too many."""
        scope, context = f"{order.by} {order.descending}", self._context
        entries: list[Entry] = []
        async with aclosing(self._answers(None, limits.LISTED_AT_ONCE, self._begins)) as answers:
            async for found in answers:
                entries += found.entries
                if context.shows_all and len(entries) > limits.MOST_SORTED:
                    return None
        if len(entries) > limits.MOST_SORTED:
            entries = await self._visible(entries, limits.MOST_SORTED + 1)
        if found.next_after is not None or len(entries) > limits.MOST_SORTED:
            return None
        start = int(self._place(scope) or 0)
        # The token counts what the viewer sees; one more shows that a page follows.
        seen = await self._visible(await asyncio.to_thread(order.applied, entries), start + limit + 1)
        start = start if start < len(seen) else 0
        end = start + limit
        token = self._sealed(scope, str(end)) if end < len(seen) else None
        exists = bool(seen) or found.is_marked or await self._has_hidden(entries)
        return DirectoryPage(tuple(seen[start:end]), token, exists, True, () if start else ("after", "via"))

    async def _visible(self, entries: Sequence[Entry], most: int) -> list[Entry]:
        site = self._context.match.site
        shown = (each for each in entries if site.shows(each.name)) if site.hides else entries
        return await self._context.opened(self._path, shown, most)

    async def _has_hidden(self, entries: Sequence[Entry]) -> bool:
        site = self._context.match.site
        hidden = [each for each in entries if not site.shows(each.name)] if site.hides else ()
        return bool(hidden and await self._context.opened(self._path, hidden, 1))

    def _sealed(self, order: str, place: str) -> str:
        return self._context.parts.page_tokens.seal(place, *self._scope(order))

    def _place(self, order: str) -> str:
        """Returns the place that the token of the request names; empty for a token of another scope, or of none."""
        return self._context.parts.page_tokens.unseal(self._token, *self._scope(order)) or ""

    def _scope(self, order: str) -> tuple[str, ...]:
        return self._context.match.site.target.name, self._prefix, self._begins, order

    async def _answers(
        self, after: str | None, limit: int, begins: str, most: int = limits.MOST_LISTS
    ) -> AsyncGenerator[Page, None]:
        """Yields answers of the store, at most `most`; many of them take a turn among the walks."""
        async with AsyncExitStack() as stack:
            for number in range(most):
                if number == limits.LISTS_WITHOUT_TURN:
                    target = self._context.match.site.target.name
                    await stack.enter_async_context(self._context.walks.taken(target))
                found = await self._listed(after, limit, begins)
                yield found
                if (after := found.next_after) is None:
                    return

    async def _listed(self, after: str | None, limit: int, begins: str) -> Page:
        """Returns a page of the store; a search begins after what sorts just before all that it can find."""
        store = self._context.store
        if not begins:
            return await store.list(self._prefix, after, limit)
        if "\0" in begins or len(begins.encode()) > LONGEST_OBJECT_KEY:
            return Page(())  # no key has such a name
        found = await store.list(self._prefix, after or _before(begins), limit)
        entries = tuple(takewhile(lambda each: each.name.startswith(begins), found.entries))
        return Page(entries, found.next_after if len(entries) == len(found.entries) else None)


def _before(begins: str) -> str:
    """Returns a name that sorts before all that start with a text, and after nearly all others before them.

    It has no character that XML cannot express (XML 1.0 2.2): several S3s repeat the name in their answer as it is.
    """
    code = ord(begins[-1]) - 1
    if code < ord(" "):
        return begins[:-1]
    last = 0xD7FF if 0xD800 <= code < 0xE000 else 0xFFFD if 0xFFFE <= code <= 0xFFFF else code
    return f"{begins[:-1]}{chr(last)}\U0010ffff"
