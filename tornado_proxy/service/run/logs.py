"""The process's log: lines of text or JSON, which a thread writes, so that nobody waits.

`logging.handlers.QueueListener` would do this too, but its end waits for a stuck reader for ever.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence

from tornado_proxy.config.server import Log
from tornado_proxy.service.limits import LOG_GATHERED_FOR, LOG_ROOM
from tornado_proxy.service.run.outputs import StreamOutput, is_journal
from tornado_proxy.telemetry.events import ErrorServed, Served
from tornado_proxy.telemetry.log import Field, access_log, harmless, json_text, moment

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
