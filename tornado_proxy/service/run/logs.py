"""The process's log: its format, text or JSON, its level, and the descriptor that it goes to."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from tornado_proxy.config.server import Log
from tornado_proxy.telemetry.events import ErrorServed, Served
from tornado_proxy.telemetry.log import Field, Outlet, StreamOutput, access_log, harmless, json_text, moment

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


def configure_logging(log: Log) -> None:
    """Sends the log to standard error, or to the journal behind it, in the configured format."""
    root, in_journal = close_logging(), is_journal(os.environ)
    if log.format == "text":
        formatter: logging.Formatter = _JournalText() if in_journal else _Text()
    else:
        formatter = _JournalJson() if in_journal else _Json()
    root.addHandler(Outlet(formatter, StreamOutput(STANDARD_ERROR, _LOG_FILE)))
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
