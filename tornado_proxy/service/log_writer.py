"""Lines on their way to a descriptor: whoever has one to write never waits for whoever reads.

`logging.handlers.QueueListener` would do this too, but for its end: it waits for a stuck reader for ever.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterator, Sequence

ROOM = 4 * 1024 * 1024  # bytes of lines that may wait: some 10,000 requests


class LogWriter:
    """Writes lines on a thread of its own, in order.

    At most `room` bytes wait, and as many are being written; lines beyond are dropped, and where they would stand is
    what `lost` says of their number. The thread is a daemon, so that the process ends whoever does not read.
    """

    def __init__(self, descriptor: int, lost: Callable[[int], str], room: int = ROOM) -> None:
        self._descriptor = descriptor
        self._say_lost = lost
        self._room = room
        self._writable = select.poll()
        self._writable.register(descriptor, select.POLLOUT)
        self._changed = threading.Condition()
        self._waiting: list[bytes] = []
        self._size = 0  # bytes that wait
        self._lost = 0  # lines dropped after those that wait
        self._writing = False
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<LogWriter to {self._descriptor}, {len(self._waiting)} lines wait>"

    def put(self, line: str) -> None:
        """Have a line written, or dropped where there is no room."""
        data = f"{line}\n".encode(errors="backslashreplace")
        with self._changed:
            if self._closed:
                return
            if self._waiting and self._size + len(data) > self._room:
                self._lost += 1
                return
            self._waiting.append(data)
            self._size += len(data)
            if not self._writing:
                self._changed.notify_all()

    def drain(self, patience: float) -> bool:
        """Wait until everything is written, for so many seconds at most; whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._writing, patience)

    def close(self, patience: float) -> None:
        """Write what waits, for so many seconds at most, and take no more."""
        written = self.drain(patience)
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if written:
            self._thread.join(patience)

    def _run(self) -> None:
        while lines := self._next():
            for piece in _pieces(lines):
                self._write(piece)

    def _next(self) -> Sequence[bytes]:
        """Everything that waits, once there is something; nothing at the end."""
        with self._changed:
            self._writing = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting or self._closed)
            self._writing = bool(self._waiting)
            lines, self._waiting, self._size = self._waiting, [], 0
            if self._lost:
                lines.append(f"{self._say_lost(self._lost)}\n".encode())
                self._lost = 0
            return lines

    def _write(self, piece: bytes) -> None:
        left = memoryview(piece)
        while left:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:
                # The descriptor is shared, and whoever shares it may have it not block.
                self._writable.poll()
            except OSError:
                return  # the reader has gone, or the disk is full: nobody can be told


def _pieces(lines: Sequence[bytes]) -> Iterator[bytes]:
    """Lines together, as far as a pipe takes them without those of another process in between (POSIX, `write`)."""
    piece: list[bytes] = []
    size = 0
    for line in lines:
        if piece and size + len(line) > select.PIPE_BUF:
            yield b"".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += len(line)
    if piece:
        yield b"".join(piece)
