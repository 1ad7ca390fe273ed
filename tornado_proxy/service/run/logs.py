"""The process's log: lines of text or JSON, which a thread writes, so that nobody waits.

`logging.handlers.QueueListener` would do this too, but its end waits for a stuck reader for ever.
"""

from __future__ import annotations

import logging
import os
import select
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tornado_proxy.config.server import Log
from tornado_proxy.service.limits import LOG_GATHERED_FOR, LOG_ROOM
from tornado_proxy.telemetry.events import ErrorServed, Served
from tornado_proxy.telemetry.log import Field, access_log, harmless, json_text, moment

_LOG = logging.getLogger("tornado_proxy")

ACCESS = "tornado_proxy.access"


class _Text(logging.Formatter):
    """`time level message`, with the lines of a traceback indented below."""

    def format(self, record: logging.LogRecord) -> str:
        line = f"{moment(record.created)} {record.levelname.lower()} {harmless(record.getMessage())}"
        return "\n  ".join((line, *self.traceback(record)))

    def traceback(self, record: logging.LogRecord) -> list[str]:
        """Returns the lines of a record's traceback."""
        lines = self.formatException(record.exc_info).split("\n") if record.exc_info else []
        return [harmless(line) for line in lines]


class _JournalText(_Text):
    """Lines with a priority (sd-daemon(3)) instead of the time, which the journal adds itself."""

    def format(self, record: logging.LogRecord) -> str:
        lines = (harmless(record.getMessage()), *(f"  {line}" for line in self.traceback(record)))
        return "\n".join(f"<{_priority(record)}>{line}" for line in lines)


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields: Mapping[str, Field] = getattr(record, "fields", {})
        line = {"time": moment(record.created), "level": record.levelname.lower(), "message": record.getMessage()}
        traceback = {"traceback": self.formatException(record.exc_info)} if record.exc_info else {}
        return json_text({**line, **fields, **traceback})


class _JournalJson(_Json):
    """The same with a priority, which the journal takes off."""

    def format(self, record: logging.LogRecord) -> str:
        return f"<{_priority(record)}>{super().format(record)}"


_PRIORITIES = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6), (logging.NOTSET, 7))


def _priority(record: logging.LogRecord) -> int:
    return next(number for level, number in _PRIORITIES if record.levelno >= level)


def _lost(count: int, reason: str) -> logging.LogRecord:
    return logging.LogRecord("tornado_proxy", logging.WARNING, "", 0, f"lost %d log lines: {reason}", (count,), None)


def configure_logging(log: Log) -> None:
    """Sends the log to standard error, or to the journal behind it, in the configured format."""
    root, in_journal = close_logging(), is_journal(os.environ)
    if log.format == "text":
        formatter: logging.Formatter = _JournalText() if in_journal else _Text()
    else:
        formatter = _JournalJson() if in_journal else _Json()
    root.addHandler(Outlet(formatter, StreamOutput.of_standard_error()))
    # Warnings of libraries, such as one about an old Python, are logged too.
    logging.captureWarnings(True)
    set_log_level(log.level)
    logging.getLogger(ACCESS).setLevel(logging.INFO)  # `log.access` alone switches it
    # They warn of each connection that is closed because its pool is full, and of a broken head of S3 with a traceback:
    # that is an error here.
    for name in ("connectionpool", "connection"):
        logging.getLogger(f"urllib3.{name}").setLevel(logging.ERROR)


def set_log_level(level: str) -> None:
    """Logs what is at least as severe as a level; of libraries, only problems."""
    logging.getLogger().setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[level.upper()]))
    logging.getLogger("tornado_proxy").setLevel(level.upper())


def access_listener(log: Log) -> Callable[[Served | ErrorServed], None] | None:
    """Returns a listener that logs each request, or None if that is switched off."""
    write = line_writer() if log.access else None
    if write is None:
        return None
    # In JSON, each line has its level already.
    error_mark = "<3>" if is_journal(os.environ) else "level=error " if log.format == "text" else ""
    return access_log(log.format, write, error_mark if log.access_levels else "")


def line_writer() -> Callable[[str], None] | None:
    """Returns a function that writes a line of the access log, or None if it is switched off."""
    if not logging.getLogger(ACCESS).isEnabledFor(logging.INFO):
        return None
    # A record of `logging` for each request would cost it more than making the line.
    outlets = [each for each in logging.getLogger().handlers if isinstance(each, Outlet)]
    return outlets[0].put if outlets else logging.getLogger(ACCESS).info


def close_logging() -> logging.Logger:
    """Writes all waiting lines, and removes the handlers and their threads; returns the root logger."""
    flush_logging()
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
        if isinstance(old, Outlet):
            old.close()
    return root


def flush_logging() -> None:
    """Waits at most a second for unwritten lines."""
    for handler in logging.getLogger().handlers:
        handler.flush()


class Outlet(logging.Handler):
    """Writes lines to an output in order, on a daemon thread, so that nobody waits for a stuck reader.

    At most `room` bytes wait, and as many are being written. Further lines are dropped; a line with their number stands
    in their place.
    """

    patience = 1.0  # seconds that the end of the process waits for a reader

    def __init__(self, formatter: logging.Formatter, output: StreamOutput, room: int = LOG_ROOM) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self._output = output
        self._room = room
        self._queue_lock = threading.Lock()
        self._changed = threading.Condition(self._queue_lock)
        self._waiting: list[bytes] = []
        self._size = 0  # bytes that wait
        self._lost = 0  # lines dropped after those that wait
        self._unwritten = 0  # lines that nothing took, as while the disk is full
        self._writing = False
        self._ends = False
        self._hurry = threading.Event()  # the next lines are not gathered
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queues a record, which is written at once: what it tells may come before the end of the process."""
        try:
            self.put(self.format(record))
            self._hurry.set()
        except Exception:  # noqa: BLE001 - as logging.Handler does: report it, and go on
            self.handleError(record)

    def put(self, line: str) -> None:
        """Queues a line, or drops it if there is no room."""
        data = f"{line}\n".encode(errors="backslashreplace")
        with self._queue_lock:  # not by way of the condition, whose methods are Python's
            if self._ends:
                return
            if self._waiting and self._size + len(data) > self._room:
                self._lost += 1
                return
            self._waiting.append(data)
            self._size += len(data)
            if not self._writing:
                self._changed.notify_all()

    def drain(self, patience: float) -> bool:
        """Waits at most `patience` seconds until everything is written; returns whether it is."""
        self._hurry.set()
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._writing, patience)

    def flush(self) -> None:
        """Waits for unwritten lines, for a second at most; `logging.shutdown` calls this at the end."""
        self.drain(self.patience)

    def close(self) -> None:
        """Takes no more lines; flush first, as `logging.shutdown` does, or unwritten ones are lost."""
        is_written = self.drain(0)
        with self._changed:
            self._ends = True
            self._changed.notify_all()
        if is_written:
            self._thread.join(1.0)  # it has nothing left to do
        super().close()

    def _run(self) -> None:
        while lines := self._next():
            self._write(lines)
            # Lines that arrive meanwhile are written together, and do not wake the thread one by one.
            self._hurry.wait(LOG_GATHERED_FOR)
            self._hurry.clear()

    def _write(self, lines: Sequence[bytes]) -> None:
        before = self._unwritten
        lines = [self._report(before, "nothing took them, as on a full disk"), *lines] if before else lines
        self._unwritten = self._output.write(lines)
        if before and self._unwritten == len(lines):
            self._unwritten += before - 1  # the report itself is no loss

    def _report(self, count: int, reason: str) -> bytes:
        return f"{self.format(_lost(count, reason))}\n".encode()

    def _next(self) -> Sequence[bytes]:
        with self._changed:
            self._writing = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting or self._ends)
            self._writing = bool(self._waiting)
            lines, self._waiting, self._size = self._waiting, [], 0
            if self._lost:
                lines.append(self._report(self._lost, "they came faster than they were read"))
                self._lost = 0
            return lines


STANDARD_ERROR = 2  # the descriptor: Python's object for it buffers, and may be replaced


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


class StreamOutput:
    """Writes to a descriptor; if its file was renamed or removed, as logrotate does, to a new one of the same name."""

    def __init__(self, descriptor: int, file: Path | None = None) -> None:
        self._descriptor = descriptor
        self._file = file
        self._writable = select.poll()
        self._writable.register(descriptor, select.POLLOUT)
        try:
            is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
        except OSError:  # it is closed
            is_pipe = True
        # What one write can take without another process's lines in between: a file is locked, and Linux takes so much
        # as one piece for a socket; for a pipe see POSIX, `write`.
        self._most = select.PIPE_BUF if is_pipe else 32 * 1024
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
