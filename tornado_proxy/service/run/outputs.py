"""Where the lines of the log go: a descriptor, which may lead to a file that is rotated, or to systemd's journal."""

from __future__ import annotations

import logging
import os
import select
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

STANDARD_ERROR = 2  # the descriptor: Python's object for it buffers, and may be replaced

_LOG = logging.getLogger("tornado_proxy")


def is_journal(environment: Mapping[str, str]) -> bool:
    """Whether standard error leads to systemd's journal (systemd.exec(5), JOURNAL_STREAM)."""
    try:
        status = os.fstat(STANDARD_ERROR)
    except OSError:
        return False
    return environment.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def _file_behind(descriptor: int) -> Path | None:
    try:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        is_there = stat.S_ISREG(os.fstat(descriptor).st_mode) and path.samefile(f"/proc/self/fd/{descriptor}")
    except OSError:
        return None
    return path if is_there else None


# Looked up at the start, before a rotation renames the file.
_LOG_FILE = _file_behind(STANDARD_ERROR)


def _largest_write(descriptor: int) -> int:
    """Returns how many bytes one write can take without another process's lines in between.

    For a pipe that is `PIPE_BUF` (POSIX, `write`). A file is locked, and Linux takes so much as one piece for a socket.
    """
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:  # it is closed
        is_pipe = True
    return select.PIPE_BUF if is_pipe else 32 * 1024


class StreamOutput:
    """Writes to a descriptor; if its file was renamed or removed, as logrotate does, to a new one of the same name."""

    def __init__(self, descriptor: int, file: Path | None = None) -> None:
        self._descriptor = descriptor
        self._file = file
        self._writable = select.poll()
        self._writable.register(descriptor, select.POLLOUT)
        self._most = _largest_write(descriptor)
        self._is_cut = False  # whether a part of a line was written last

    @classmethod
    def of_standard_error(cls) -> StreamOutput:
        """Returns the output to standard error."""
        return cls(STANDARD_ERROR, _LOG_FILE)

    def write(self, lines: Sequence[bytes]) -> int:
        """Writes lines; waits while the reader is slow. Returns how many a full disk, or no reader, did not take."""
        if self._file is not None:
            self._follow(self._file)
        return sum(self._write(piece) for piece in _pieces(lines, self._most))

    def _follow(self, file: Path) -> None:
        before = os.fstat(self._descriptor)
        try:
            with suppress(FileNotFoundError):
                if os.path.samestat(file.stat(), before):
                    return
            # No link: whoever may write to the folder must not choose another file for it.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            opened = os.open(file, flags, stat.S_IMODE(before.st_mode))
        except OSError as error:
            self._file = None
            _LOG.error("the log goes on in the file that was renamed: `%s` cannot be opened: %s", file, error.strerror)
            return
        # What writes by itself, such as a traceback at the end of the process, follows too.
        os.dup2(opened, self._descriptor)
        os.close(opened)

    def _write(self, piece: bytes) -> int:
        piece = b"\n" + piece if self._is_cut else piece
        left = memoryview(piece)
        while left:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:
                # Another process that shares the descriptor may have made it non-blocking.
                self._writable.poll()
            except OSError:
                # What follows a line that was cut must not be read as its end.
                if 0 < len(left) < len(piece):
                    self._is_cut = piece[-len(left) - 1] != ord("\n")
                return bytes(left).count(b"\n") - (self._is_cut and len(left) == len(piece))
        self._is_cut = False
        return 0


def _pieces(lines: Sequence[bytes], most: int) -> Iterator[bytes]:
    """Joins lines up to a size."""
    piece: list[bytes] = []
    size = 0
    for line in lines:
        if piece and size + len(line) > most:
            yield b"".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += len(line)
    if piece:
        yield b"".join(piece)
