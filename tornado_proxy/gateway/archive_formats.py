"""Archives written as their members arrive: nothing is kept of a member but its name, and the length is known before.

Members are stored as they are. What S3 holds in bulk is compressed already, and only what is stored has a known length,
by which a client sees progress and notices that a download was cut.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from tarfile import BLOCKSIZE, PAX_FORMAT, TarInfo
from types import MappingProxyType
from typing import IO, Protocol

EARLIEST = datetime(1980, 1, 1, tzinfo=UTC)
"""The first moment that a ZIP file can say, which stands for one that is not known."""

_LATEST = datetime(2107, 12, 31, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A file of an archive: its path in there, and its size in bytes."""

    path: str
    size: int
    modified: datetime = EARLIEST


class ArchiveFormat(Protocol):
    """The bytes of an archive, member after member; `length` is how many there will be."""

    length: int

    def begin(self, member: ArchiveMember) -> bytes:
        """What stands in front of a member's content."""
        ...

    def write(self, chunk: bytes) -> bytes:
        """A piece of the content."""
        ...

    def finish(self) -> bytes:
        """What stands behind the content."""
        ...

    def end(self) -> bytes:
        """What stands behind the last member."""
        ...

    def close(self) -> None:
        """Writes no more, even in the middle."""
        ...


class TarArchive:
    """A tar archive in the form of POSIX.1-2001 (pax)."""

    def __init__(self, members: Sequence[ArchiveMember]) -> None:
        self.length = sum(len(_tar_header(each)) + each.size + _padding(each.size) for each in members) + 2 * BLOCKSIZE
        self._size = 0

    def begin(self, member: ArchiveMember) -> bytes:
        """The header, preceded by one for what has no room in it."""
        self._size = member.size
        return _tar_header(member)

    def write(self, chunk: bytes) -> bytes:
        """The chunk as it is."""
        return chunk

    def finish(self) -> bytes:
        """What fills the last block."""
        return bytes(_padding(self._size))

    def end(self) -> bytes:
        """Two empty blocks."""
        return bytes(2 * BLOCKSIZE)

    def close(self) -> None:
        """Nothing is held."""


def _tar_header(member: ArchiveMember) -> bytes:
    info = TarInfo(member.path)
    info.size, info.mtime = member.size, int(member.modified.timestamp())
    return info.tobuf(PAX_FORMAT, "utf-8", "replace")


def _padding(size: int) -> int:
    return -size % BLOCKSIZE


class ZipArchive:
    """A ZIP archive of stored files, whose checksums stand behind their contents (APPNOTE 4.3.9)."""

    def __init__(self, members: Sequence[ArchiveMember]) -> None:
        self.length = _zip_length(members)
        self._sink = _Sink()
        self._zip = zipfile.ZipFile(self._sink, "w")  # type: ignore[call-overload]  # a stream that only writes
        self._member: IO[bytes] | None = None

    def begin(self, member: ArchiveMember) -> bytes:
        """The local header."""
        moment = min(max(member.modified.astimezone(UTC), EARLIEST), _LATEST)
        info = zipfile.ZipInfo(member.path, moment.timetuple()[:6])
        info.external_attr = 0o644 << 16
        self._member = self._zip.open(info, "w", force_zip64=_needs_zip64(member))
        return self._sink.taken()

    def write(self, chunk: bytes) -> bytes:
        """The chunk as it is; its checksum is noted."""
        assert self._member is not None
        self._member.write(chunk)
        return self._sink.taken()

    def finish(self) -> bytes:
        """The data descriptor."""
        assert self._member is not None
        self._member.close()
        return self._sink.taken()

    def end(self) -> bytes:
        """The central directory."""
        self._zip.close()
        return self._sink.taken()

    def close(self) -> None:
        """Ends what was begun, without a reader."""
        if self._member is not None:
            self._member.close()
        self._zip.close()


class _Sink:
    """A stream that hands over what was written, without a position."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def taken(self) -> bytes:
        """What was written since the last call."""
        found = b"".join(self._parts)
        self._parts.clear()
        return found


def _needs_zip64(member: ArchiveMember) -> bool:
    return member.size > zipfile.ZIP64_LIMIT


# The fixed parts of the records (APPNOTE 4.3.7, 4.3.9, 4.3.12, 4.3.14 to 4.3.16), and the extra field of ZIP64 (4.5.3).
_LOCAL, _DESCRIPTOR, _DESCRIPTOR64, _CENTRAL, _END, _END64 = 30, 16, 24, 46, 22, 56 + 20
_EXTRA, _NUMBER = struct.calcsize("<HH"), struct.calcsize("<Q")


def _zip_length(members: Sequence[ArchiveMember]) -> int:
    """The length of the archive that `zipfile` writes of members to a stream."""
    at = directory = 0
    for each in members:
        name, is_large = len(each.path.encode()), _needs_zip64(each)
        extra_numbers = (2 if is_large else 0) + (1 if at > zipfile.ZIP64_LIMIT else 0)
        directory += _CENTRAL + name + (_EXTRA + extra_numbers * _NUMBER if extra_numbers else 0)
        local = _LOCAL + name + (_EXTRA + 2 * _NUMBER if is_large else 0)
        at += local + each.size + (_DESCRIPTOR64 if is_large else _DESCRIPTOR)
    beyond = len(members) > zipfile.ZIP_FILECOUNT_LIMIT or max(at, directory) > zipfile.ZIP64_LIMIT
    return at + directory + _END + (_END64 if beyond else 0)


FORMATS: Mapping[str, tuple[str, Callable[[Sequence[ArchiveMember]], ArchiveFormat]]] = MappingProxyType(
    {"zip": ("application/zip", ZipArchive), "tar": ("application/x-tar", TarArchive)}
)
"""The types and the writers of archives, by what `?format=` calls them."""
