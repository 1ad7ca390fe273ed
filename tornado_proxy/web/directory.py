"""Reads the entries of a directory that a viewer sees: page by page, sorted over all pages, or by their beginning."""

from __future__ import annotations

import asyncio
from itertools import takewhile

import msgspec

from tornado_proxy.pages.listing import Order
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.storage.errors import Busy
from tornado_proxy.storage.store import Entry, Page, to_token
from tornado_proxy.web.context import RequestContext

_MOST_PAGES = 100  # of the store, for one page of a listing
_READ_AT_ONCE = 1000  # the most that S3 lists in one answer

MOST_SORTED = 10_000
"""The most entries of a directory that is sorted over all its pages."""


class DirectoryPage(msgspec.Struct, frozen=True):
    """The entries of a page; `unused` names the parameters of the request that did not lead to it."""

    entries: tuple[Entry, ...]
    next_token: str | None
    exists: bool
    is_sorted: bool = False
    unused: tuple[str, ...] = ()


class Directory:
    """The directory of a request; if the request has `begins`, only its entries whose names start with that."""

    def __init__(self, prefix: ObjectKey, context: RequestContext) -> None:
        self._prefix, self._context = prefix, context
        self._begins = context.request.parameters.get("begins", "")
        self._token = context.request.parameters.get("after") or None

    async def page(self, limit: int, order: Order | None = None, *, fill: bool = False) -> DirectoryPage:
        """Returns at most `limit` entries that the viewer sees.

        Sorts the whole directory up to `MOST_SORTED` entries, else one page of the store, or several to `fill` it.
        """
        return (await self._sorted_page(order, limit) if order else None) or await self._next_page(limit, fill=fill)

    async def _next_page(self, limit: int, *, fill: bool) -> DirectoryPage:
        """Returns the entries after the token, which names the last one that was seen: the viewer can read it there."""
        token, exists = self._token, False
        seen: list[Entry] = []
        for _ in range(_MOST_PAGES):
            found = await self._listed(token, limit - len(seen))
            seen += await self._context.visible(found.entries)
            token, exists = found.next_token, exists or found.exists
            if token is None or len(seen) == limit or (seen and not fill):
                return DirectoryPage(tuple(seen), to_token(seen[-1].name) if token else None, exists)
        raise Busy(f"the first {_MOST_PAGES} pages of `{self._prefix}` have nothing that the viewer may see")

    async def _sorted_page(self, order: Order, limit: int) -> DirectoryPage | None:
        """Returns a page of all entries in order, whose token counts those before it; None if there are too many."""
        found = await self._listed(None, _READ_AT_ONCE)
        entries, token = [*found.entries], found.next_token
        if token is not None:
            client = await self._context.walks.take()
            try:
                while token is not None and len(entries) < MOST_SORTED:
                    more = await self._listed(token, _READ_AT_ONCE)
                    entries += more.entries
                    token = more.next_token
            finally:
                self._context.walks.give_back(client)
        if token is not None or len(entries) > MOST_SORTED:
            return None
        return await self._slice(await asyncio.to_thread(order.applied, entries), limit, exists=found.exists)

    async def _slice(self, entries: list[Entry], limit: int, *, exists: bool) -> DirectoryPage:
        """Returns the page after the entries that the token counts."""
        text = self._token or ""
        start = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
        start = start if start < len(entries) else 0
        seen: list[Entry] = []
        end = start
        while end < len(entries) and len(seen) < limit:
            end, begin = min(end + limit - len(seen), len(entries)), end
            seen += await self._context.visible(entries[begin:end])
        token = str(end) if end < len(entries) else None
        return DirectoryPage(tuple(seen), token, exists, True, () if start else ("after", "via"))

    async def _listed(self, token: str | None, limit: int) -> Page:
        """Returns a page of the store; a search begins after what sorts just before all that it can find."""
        begins, store = self._begins, self._context.store
        if not begins:
            return await store.list(self._prefix, token, limit)
        found = await store.list(self._prefix, token or to_token(_before(begins)), limit)
        entries = tuple(takewhile(lambda each: each.name.startswith(begins), found.entries))
        more = found.next_token if len(entries) == len(found.entries) else None
        return Page(entries, more, exists=found.exists or bool(found.entries))


def _before(begins: str) -> str:
    """Returns a name that sorts before all that start with a text, and after nearly all others before them."""
    code = ord(begins[-1]) - 1
    # Surrogates are no characters of a name.
    return f"{begins[:-1]}{chr(0xD7FF if 0xD800 <= code < 0xE000 else max(code, 1))}\U0010ffff"
