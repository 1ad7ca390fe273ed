"""A directory as an archive: lists all files that its viewer may read, then streams them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from tornado_proxy.gateway.answer import Answer, Streamed, Whole
from tornado_proxy.gateway.archive_formats import EARLIEST, FORMATS, ArchiveFormat, ArchiveMember
from tornado_proxy.gateway.errors import ArchiveTooLarge
from tornado_proxy.pages.listing import link_to
from tornado_proxy.routing.access import lets_pass
from tornado_proxy.routing.decide import plan_beside
from tornado_proxy.routing.plan import Browse, Serve, Sign
from tornado_proxy.routing.request import ObjectKey, RequestPath
from tornado_proxy.semantics.conditions import UNCONDITIONAL, Conditions, ContentRange
from tornado_proxy.storage.errors import ObjectMissing, StorageError
from tornado_proxy.storage.store import Entry, ObjectInfo, Store

if TYPE_CHECKING:
    from tornado_proxy.gateway.perform import RequestContext

_PIECE = 64 * 1024  # bytes that are sent at once, where members are small
_TURN = 100  # entries after which others get a turn


@dataclass(frozen=True, slots=True)
class _Source:
    """A member of the archive and its object."""

    member: ArchiveMember
    key: ObjectKey
    etag: str | None


async def archive(context: RequestContext, name: str) -> Answer:
    """Returns the archive of a directory; raises `ArchiveTooLarge` before anything is sent."""
    content_type, make = FORMATS[name]
    sources = await _DirectoryWalk(context).sources()
    members = [each.member for each in sources]
    written = await asyncio.to_thread(make, members)
    headers = (
        ("Content-Type", content_type),
        ("Content-Length", str(written.length)),
        ("Content-Disposition", _disposition(f"{_directory_name(context)}.{name}")),
        ("Cache-Control", "no-cache"),
        ("X-Content-Type-Options", "nosniff"),
    )
    if context.request.method == "HEAD":
        written.close()
        return Whole(200, headers)
    return Streamed(200, headers, OpenedArchive(sources, written, context.store))


def _directory_name(context: RequestContext) -> str:
    name = context.request.path.rstrip("/").rpartition("/")[2]
    return _safe(name) or context.match.site.target.name


def _safe(path: str) -> str:
    """Returns a path that is safe to unpack: a backslash separates directories on Windows, a colon names a drive."""
    return path.replace("\\", "_").replace(":", "_")


def _disposition(file_name: str) -> str:
    """Returns the Content-Disposition that saves a file under a name (RFC 6266, RFC 8187)."""
    ascii_only = "".join(
        each if each.isascii() and each.isprintable() and each not in '"\\%' else "_" for each in file_name
    )
    return f"attachment; filename=\"{ascii_only}\"; filename*=UTF-8''{quote(file_name, safe='')}"


class _DirectoryWalk:
    """Finds all files below a directory that a viewer may read; decides about each path as about a request."""

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._limits = context.match.site.target.listing.archive
        self._found: list[_Source] = []
        self._seen = self._size = 0

    async def sources(self) -> Sequence[_Source]:
        """Yields all files, directory after directory."""
        top = self._context.request.path
        waiting, name = [top], _directory_name(self._context)
        while waiting:
            path = waiting.pop()
            prefix, entries = await self._entries(path)
            for number, entry in enumerate(entries):
                if number % _TURN == 0:
                    await asyncio.sleep(0)
                if link_to(path, entry.name) is None or not self._is_open(path + entry.name):
                    continue
                if entry.is_directory:
                    waiting.append(RequestPath(path + entry.name))
                else:
                    found = await self._source(RequestPath(path + entry.name), prefix, entry)
                    self._add(f"{name}/{path[len(top) :]}{entry.name}", found)
        return self._found

    def _is_open(self, path: str) -> bool:
        context = self._context
        guard = context.match.site.access.guard(RequestPath(path), "GET")
        return lets_pass(guard, context.guard, context.user)

    async def _entries(self, path: RequestPath) -> tuple[str, list[Entry]]:
        """The prefix of a directory's keys, and what its listing shows.

        That is its index document alone, where that would be shown in its place.
        """
        context, token = self._context, None
        plan = plan_beside(context.match, context.request, path, context.user)
        found = next((each for each in plan if isinstance(each, Browse)), None)
        entries: list[Entry] = []
        while found is not None:
            page = await context.store.list(found.prefix, token)
            self._count(len(page.entries))
            entries += page.entries
            token = page.next_token
            if token is None:
                break
        index = context.match.site.target.actions.get.index_document
        shown = [each for each in entries if each.name == index] if path != context.request.path else []
        hidden = context.match.site.hidden
        seen = [each for each in entries if not (hidden and hidden.search(each.name.removesuffix("/")))]
        return found.prefix if found else "", shown or seen

    def _count(self, entries: int) -> None:
        self._seen += entries
        if self._seen > self._limits.max_files:
            raise ArchiveTooLarge(f"the directory holds more than {self._limits.max_files} files and directories")

    async def _source(
        self, path: RequestPath, prefix: str, entry: Entry
    ) -> tuple[ObjectKey, Entry | ObjectInfo] | None:
        """The object that a GET of a path would find, with its entry or info; None without one."""
        context = self._context
        first = plan_beside(context.match, context.request, path, context.user)[0]
        if not isinstance(first, Serve | Sign):
            return None
        if first.key == prefix + entry.name:
            return first.key, entry
        with suppress(ObjectMissing):
            return first.key, await context.store.head(first.key, UNCONDITIONAL)
        return None

    def _add(self, name: str, found: tuple[ObjectKey, Entry | ObjectInfo] | None) -> None:
        if found is None or found[1].size is None:
            return
        key, info = found
        self._size += info.size or 0
        if self._size > self._limits.max_size:
            raise ArchiveTooLarge(f"the files of the directory have more than {self._limits.max_size} bytes")
        member = ArchiveMember(_safe(name), info.size or 0, info.last_modified or EARLIEST)
        self._found.append(_Source(member, key, info.etag))


class OpenedArchive:
    """An archive as an object that is read to its end or closed before; it holds one object of the store at a time."""

    def __init__(self, sources: Sequence[_Source], written: ArchiveFormat, store: Store) -> None:
        self.info = ObjectInfo(written.length)
        self.content_range: ContentRange | None = None
        self._sources = sources
        self._written = written
        self._store = store
        self._running: AsyncGenerator[bytes, None] | None = None

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """The archive, piece by piece; raises `StorageError` where an object is not what was listed any more."""
        self._running = self._pieces()
        return self._running

    async def close(self) -> None:
        """Closes the object that is being read."""
        if self._running is not None:
            await self._running.aclose()

    async def _pieces(self) -> AsyncGenerator[bytes, None]:
        held = bytearray()
        with closing(self._written) as written:
            for source in self._sources:
                held += written.begin(source.member)
                async with aclosing(self._content(source)) as content:
                    async for chunk in content:
                        held += written.write(chunk)
                        if len(held) >= _PIECE:
                            yield bytes(held)
                            held.clear()
                held += written.finish()
            yield bytes(held + written.end())

    async def _content(self, source: _Source) -> AsyncGenerator[bytes, None]:
        conditions = Conditions.from_headers({"If-Match": source.etag} if source.etag else {})
        opened = await self._store.open(source.key, conditions)
        size = 0
        try:
            async for chunk in opened.chunks():
                size += len(chunk)
                if size > source.member.size:
                    break
                yield chunk
        finally:
            await opened.close()
        if size != source.member.size:
            raise StorageError(f"`{source.key}` is not as large as it was when it was listed")
