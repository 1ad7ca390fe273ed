"""A directory as an archive: finds all files that its viewer may read, then streams them.

The files are not compressed: large ones in S3 usually are already, and this way the length is known in advance. Clients
use the length to show progress, and to notice that a download was cut.
"""

from __future__ import annotations

import asyncio
import re
import struct
import zipfile
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import ExitStack, aclosing, suppress
from datetime import UTC, datetime
from posixpath import splitext
from tarfile import BLOCKSIZE, PAX_FORMAT, TarInfo
from typing import NamedTuple
from unicodedata import normalize

import msgspec
from msgspec.structs import replace

from tornado_proxy.pages.listing import link_to
from tornado_proxy.routing.plan import Browse
from tornado_proxy.routing.request import ObjectKey, RequestError
from tornado_proxy.semantics.conditions import UNCONDITIONAL, Conditions
from tornado_proxy.semantics.fields import Headers, attachment
from tornado_proxy.semantics.request import RequestPath
from tornado_proxy.storage.errors import Busy, ObjectMissing, PreconditionFailed
from tornado_proxy.storage.store import Entry, ObjectInfo, Store
from tornado_proxy.web import limits
from tornado_proxy.web.answer import Answer, Streamed, Whole
from tornado_proxy.web.generation import RequestContext

_VERSION = re.compile(r";(?=[0-9]*\Z)")

EARLIEST = datetime(1980, 1, 1, tzinfo=UTC)  # the first time that a ZIP file can express; it stands for an unknown one
_LATEST = datetime(2107, 12, 31, tzinfo=UTC)


class ArchiveTooLarge(RequestError):
    """A directory with more files or bytes than an archive may hold."""

    status = 403
    public_message = "This directory is too large to be one file"


class ArchiveMember(msgspec.Struct, frozen=True):
    """A file of an archive: its path in there, its size in bytes, and its object."""

    path: str
    size: int
    modified: datetime
    key: ObjectKey
    etag: str | None


async def archive(context: RequestContext, name: str) -> Answer:
    """Returns the archive of a directory; raises `ArchiveTooLarge` before anything is sent.

    HEAD does not say how long it is, which only a walk through the directory would show.
    """
    archive_format = FORMATS[name]
    headers: Headers = (
        ("Content-Type", archive_format.content_type),
        ("Content-Disposition", attachment(f"{_directory_name(context)}.{name}")),
        ("Cache-Control", "no-cache"),
        ("X-Content-Type-Options", "nosniff"),
    )
    if context.request.method == "HEAD":
        return Whole(200, headers)
    target = context.match.site.target.name
    with ExitStack() as place:
        place.callback(context.archives.give_back, await context.archives.take(target))
        async with context.walks.taken(target):
            members = await _DirectoryWalk(context).members()
            length = await asyncio.to_thread(archive_format.length, members)
        content = archive_format.write(members, context.store)
        return stream((("Content-Length", str(length)), *headers), content, place.pop_all().close)


def _directory_name(context: RequestContext) -> str:
    name = context.request.path.rstrip("/").rpartition("/")[2]
    return _safe(name) or context.match.site.target.name


def _safe(path: str) -> str:
    """Returns a path that is safe to unpack.

    A backslash separates directories on Windows, a colon names a drive, and `a//b` is unpacked as `a/b`. Info-ZIP's
    unzip takes the end of `a;1` for a version of VMS, and unpacks it as `a`. No name is longer than file systems take.
    """
    path = _VERSION.sub("_", path)
    path = path.replace("\\", "_").replace(":", "_").replace("//", "/_/").replace("//", "/_/")
    return "/".join(map(_fitting, path.split("/")))


def _fitting(name: str, mark: str = "") -> str:
    """Returns a name with a mark before its ending, of no more bytes than file systems take."""
    stem, ending = splitext(name)
    if len(ending.encode()) > limits.LONGEST_ENDING:
        stem, ending = name, ""
    room = limits.LONGEST_UNPACKED - len(f"{mark}{ending}".encode())
    return stem.encode()[:room].decode(errors="ignore") + mark + ending


def distinct(paths: Sequence[str]) -> list[str]:
    """Returns paths for an archive: safe to unpack, and each only once, so that no file replaces another one.

    A file cannot have the name of a directory, and some systems take names for one that differ in case, in the form of
    Unicode, or in dots and spaces at the end. A safe path stays unless it meets another one; others are numbered.
    """
    safe = list(map(_safe, paths))
    taken = set[str]()
    for path in safe:
        parent = _folded(path.rpartition("/")[0])
        while parent and parent not in taken:
            taken.add(parent)
            parent = parent.rpartition("/")[0]
    chosen, copies, met = {}, Counter[str](), list[int]()
    for at in sorted(range(len(paths)), key=lambda at: safe[at] != paths[at]):
        if (folded := _folded(safe[at])) in taken:
            met.append(at)
        else:
            taken.add(folded)
            chosen[at] = safe[at]
    for at in met:
        while (folded := _folded(chosen.setdefault(at, safe[at]))) in taken:
            copies[safe[at]] += 1
            directory, slash, name = safe[at].rpartition("/")
            chosen[at] = f"{directory}{slash}{_fitting(name, f' ({copies[safe[at]] + 1})')}"
        taken.add(folded)
    return [chosen[at] for at in range(len(paths))]


def _folded(path: str) -> str:
    """Returns what a path has in common with all that Windows and macOS take for the same one."""
    return "/".join(normalize("NFC", normalize("NFD", each).casefold()).rstrip(". ") for each in path.split("/"))


class _DirectoryWalk:
    """Finds all files below a directory that a viewer may read; decides about each path as about a request."""

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._limits = context.match.site.target.listing.archive
        self._chosen = frozenset(text for name, text in context.request.query if name == "name")
        self._found: list[ArchiveMember] = []
        self._read = self._count = self._size = 0

    async def members(self) -> Sequence[ArchiveMember]:
        """Returns all files, directory after directory; of the first, only the entries that the request names."""
        top = self._context.request.path
        waiting, name = [top], _directory_name(self._context)
        while waiting:
            path = waiting.pop()
            prefix, entries = await self._entries(path)
            for number, entry in enumerate(entries):
                if number % limits.DECISIONS_A_TURN == 0:
                    await asyncio.sleep(0)
                below = RequestPath(path + entry.name)
                is_left_out = self._chosen and path == top and entry.name not in self._chosen
                if is_left_out or link_to(path, entry.name) is None:
                    continue
                if entry.is_directory:
                    waiting.append(below)
                elif member := await self._object(below, prefix, entry):
                    self._add(f"{name}/{below[len(top) :]}", *member)
        paths = await asyncio.to_thread(distinct, [each.path for each in self._found])
        return [replace(each, path=path) for each, path in zip(self._found, paths, strict=True)]

    async def _entries(self, path: RequestPath) -> tuple[str, list[Entry]]:
        """Returns the prefix of a directory's keys, and what its listing shows.

        A subdirectory with an index document shows that document only.
        """
        context, after = self._context, None
        is_top = path == context.request.path
        decision = context.decision if is_top else context.beside(path)
        listing = next((each for each in decision.plan if isinstance(each, Browse)), None)
        if listing is None or not context.decision.admits(decision):
            return "", []
        if not is_top:
            self._count_one()
        entries: list[Entry] = []
        while True:
            page = await context.store.list(listing.prefix, after)
            entries += page.entries
            self._read += len(page.entries)
            if self._read > limits.READ_FOR_EACH_ENTRY * max(self._limits.max_files, limits.FEWEST_ENTRIES_READ):
                raise ArchiveTooLarge(
                    f"the directory has far more entries than {self._limits.max_files}, most are closed"
                )
            if (after := page.next_after) is None:
                break
        site = context.match.site
        index, shown = site.target.actions.get.index_document, list[Entry]()
        if index and not is_top and context.file(context.beside(RequestPath(f"{path}{index}"))):
            shown = await self._index(listing.prefix, index, entries)
        return listing.prefix, shown or [each for each in entries if site.shows(each.name)]

    async def _index(self, prefix: str, index: str, entries: Sequence[Entry]) -> list[Entry]:
        directory, _, rest = index.partition("/")
        matching = [each for each in entries if each.name == (f"{directory}/" if rest else directory)]
        if not (rest and matching):
            return matching
        with suppress(ObjectMissing):
            info = await self._context.store.head(ObjectKey(prefix + index), UNCONDITIONAL)
            return [Entry(index, info.size, info.last_modified, info.etag)]
        return []

    async def _object(
        self, path: RequestPath, prefix: str, entry: Entry
    ) -> tuple[ObjectKey, Entry | ObjectInfo] | None:
        """Returns the object that a GET of a path would find, with its entry or info; None without one."""
        if (first := self._context.file(self._context.beside(path))) is None:
            return None
        if first.key == prefix + entry.name:
            return first.key, entry
        with suppress(ObjectMissing):
            return first.key, await self._context.store.head(first.key, UNCONDITIONAL)
        return None

    def _count_one(self) -> None:
        """Counts a file or a directory that the viewer may read; what is closed must not be told by a number."""
        self._count += 1
        if self._count > self._limits.max_files:
            raise ArchiveTooLarge(f"the directory has more than {self._limits.max_files} files and directories")

    def _add(self, path: str, key: ObjectKey, info: Entry | ObjectInfo) -> None:
        self._count_one()
        size = info.size or 0
        self._size += size
        if self._size > self._limits.max_size:
            raise ArchiveTooLarge(f"the files of the directory have more than {self._limits.max_size} bytes")
        self._found.append(ArchiveMember(path, size, info.last_modified or EARLIEST, key, info.etag))


def stream(headers: Headers, written: AsyncGenerator[bytes, None], on_close: Callable[[], None]) -> Streamed:
    """Returns an answer that is written while it is sent, such as an archive; `on_close` is called once."""

    async def close() -> None:
        on_close()
        await written.aclose()

    return Streamed(200, headers, _in_pieces(written), close)


async def _in_pieces(written: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    held = bytearray()
    async for piece in written:
        held += piece
        if len(held) >= limits.PIECE_OF_ARCHIVE:
            yield bytes(held)
            held.clear()
    yield bytes(held)


async def _content(store: Store, member: ArchiveMember) -> AsyncGenerator[bytes, None]:
    """Yields the content of a member; raises `Busy` if its object has changed since it was listed.

    The client, which sent no condition, can ask again if it has got nothing yet.
    """
    changed = f"`{member.key}` has changed since it was listed"
    conditions = Conditions.from_headers({"If-Match": member.etag} if member.etag else {})
    try:
        opened = await store.open(member.key, conditions)
    except (PreconditionFailed, ObjectMissing) as error:
        raise Busy(changed) from error
    size = 0
    try:
        async for chunk in opened.chunks():
            size += len(chunk)
            if size > member.size:
                break
            yield chunk
    finally:
        await opened.close()
    if size != member.size:
        raise Busy(changed)


async def _tar(members: Sequence[ArchiveMember], store: Store) -> AsyncGenerator[bytes, None]:
    """Yields a tar archive in the format of POSIX.1-2001 (pax)."""
    for member in members:
        yield _tar_header(member)
        async with aclosing(_content(store, member)) as content:
            async for chunk in content:
                yield chunk
        yield bytes(_padding(member.size))
    yield bytes(2 * BLOCKSIZE)


def _tar_header(member: ArchiveMember) -> bytes:
    info = TarInfo(member.path)
    info.size, info.mtime = member.size, int(member.modified.timestamp())
    return info.tobuf(PAX_FORMAT, "utf-8", "replace")


def _padding(size: int) -> int:
    return -size % BLOCKSIZE


async def _zip(members: Sequence[ArchiveMember], store: Store) -> AsyncGenerator[bytes, None]:
    """Yields a ZIP archive, in which each checksum follows its content (APPNOTE 4.3.9)."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w") as written:  # type: ignore[call-overload]  # a stream that only writes
        for member in members:
            moment = min(max(member.modified.astimezone(UTC), EARLIEST), _LATEST)
            info = zipfile.ZipInfo(member.path, moment.timetuple()[:6])
            info.external_attr = 0o644 << 16
            with written.open(info, "w", force_zip64=_needs_zip64(member)) as file:
                async with aclosing(_content(store, member)) as content:
                    async for chunk in content:
                        file.write(chunk)
                        yield sink.taken()
    yield sink.taken()


class _Sink(bytearray):
    """A stream that hands over what was written; without a position, so that `zipfile` never goes back."""

    def write(self, data: bytes) -> int:
        self.extend(data)
        return len(data)

    def flush(self) -> None:
        """Does nothing; `zipfile` calls it."""

    def taken(self) -> bytes:
        """Returns what was written since the last call."""
        written = bytes(self)
        self.clear()
        return written


def _needs_zip64(member: ArchiveMember) -> bool:
    return member.size > zipfile.ZIP64_LIMIT


# The fixed parts of the records (APPNOTE 4.3.7, 4.3.9, 4.3.12, 4.3.14 to 4.3.16), and the extra field of ZIP64 (4.5.3).
_LOCAL, _DESCRIPTOR, _DESCRIPTOR64, _CENTRAL, _END, _END64 = 30, 16, 24, 46, 22, 56 + 20
_EXTRA, _NUMBER = struct.calcsize("<HH"), struct.calcsize("<Q")


def _zip_length(members: Sequence[ArchiveMember]) -> int:
    """Returns the length of the archive that `zipfile` writes of members to a stream."""
    at = directory = 0
    for each in members:
        name, is_large = len(each.path.encode()), _needs_zip64(each)
        extra_numbers = (2 if is_large else 0) + (1 if at > zipfile.ZIP64_LIMIT else 0)
        directory += _CENTRAL + name + (_EXTRA + extra_numbers * _NUMBER if extra_numbers else 0)
        local = _LOCAL + name + (_EXTRA + 2 * _NUMBER if is_large else 0)
        at += local + each.size + (_DESCRIPTOR64 if is_large else _DESCRIPTOR)
    beyond = len(members) > zipfile.ZIP_FILECOUNT_LIMIT or max(at, directory) > zipfile.ZIP64_LIMIT
    return at + directory + _END + (_END64 if beyond else 0)


class ArchiveFormat(NamedTuple):
    """A format of archives: its type, its writer, and the length in bytes of what the writer yields."""

    content_type: str
    write: Callable[[Sequence[ArchiveMember], Store], AsyncGenerator[bytes, None]]
    length: Callable[[Sequence[ArchiveMember]], int]


FORMATS: Mapping[str, ArchiveFormat] = {
    "zip": ArchiveFormat("application/zip", _zip, _zip_length),
    "tar": ArchiveFormat(
        "application/x-tar",
        _tar,
        lambda members: (
            sum(len(_tar_header(each)) + each.size + _padding(each.size) for each in members) + 2 * BLOCKSIZE
        ),
    ),
}
"""The formats of archives by their names for `?format=`."""
