"""The process's log: to standard error, as lines of text or of JSON, which the journal takes as they are."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from tornado_proxy.config.model import Log
from tornado_proxy.service.log_writer import LogWriter
from tornado_proxy.telemetry.lines import Field, harmless, json_line, moment
from tornado_proxy.telemetry.shortages import shortage

STANDARD_ERROR = 2  # the descriptor: Python's object for it buffers, and may be replaced
ACCESS = "tornado_proxy.access"


class _Text(logging.Formatter):
    """`time level message`, the lines of a traceback indented below; an access line is complete as it is."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name == ACCESS:
            return record.getMessage()
        line = f"{moment(record.created)} {record.levelname.lower()} {harmless(record.getMessage())}"
        traceback = self.formatException(record.exc_info).split("\n") if record.exc_info else []
        return "\n  ".join((line, *map(harmless, traceback)))


class _Json(logging.Formatter):
    """One object a line, with the `fields` of what was logged; an access line is one already."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name == ACCESS:
            return record.getMessage()
        fields: Mapping[str, Field] = getattr(record, "fields", {})
        line = {"time": moment(record.created), "level": record.levelname.lower(), "message": record.getMessage()}
        traceback = {"traceback": self.formatException(record.exc_info)} if record.exc_info else {}
        return json_line({**line, **fields, **traceback})


_FORMATTERS = {"text": _Text, "json": _Json}


class Shortages(logging.Filter):
    """Tells on one line of descriptors or memory that the system has not, and not more often than once a second.

    What fails then fails everywhere and at once, in libraries too; where it did says nothing of why.
    """

    every = 1.0  # seconds

    def __init__(self) -> None:
        super().__init__()
        self._until = 0.0  # Unix time, seconds
        self._left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is logged; one that tells of a shortage loses its traceback."""
        missing = shortage(record.exc_info[1]) if record.exc_info else None
        if missing is None:
            return True
        if record.created < self._until:
            self._left_out += 1
            return False
        before = f" ({self._left_out} times more since this was told last)" if self._left_out else ""
        self._until, self._left_out = record.created + self.every, 0
        first, *_ = record.getMessage().split("\n")
        record.msg, record.args, record.exc_info = "%s: %s%s", (first, missing, before), None
        return True


class Outlet(logging.Handler):
    """Hands lines to a writer, so that nobody who logs waits for whoever reads standard error."""

    patience = 1.0  # seconds that the end of the process waits for a reader

    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self.addFilter(Shortages())
        self._writer = LogWriter(STANDARD_ERROR, lambda count: formatter.format(_lost(count)))

    def emit(self, record: logging.LogRecord) -> None:
        """Have a record written."""
        try:
            self._writer.put(self.format(record))
        except Exception:  # noqa: BLE001 - what cannot be logged is said, and stops nobody (logging.Handler)
            self.handleError(record)

    def flush(self) -> None:
        """Wait for what is not written yet, and not for ever; `logging.shutdown` calls this at the end."""
        self._writer.drain(self.patience)

    def close(self) -> None:
        """Take no more, and leave what is unread; whoever cannot, flushes first, as `logging.shutdown` does."""
        self._writer.close(0)
        super().close()


def _lost(count: int) -> logging.LogRecord:
    message = "%d lines of the log are lost: they came faster than they were read"
    return logging.LogRecord("tornado_proxy", logging.WARNING, "", 0, message, (count,), None)


def configure_logging(log: Log) -> None:
    """Send the log to standard error in the form that the configuration asks for."""
    flush_logging()
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
        if isinstance(old, Outlet):
            old.close()
    root.addHandler(Outlet(_FORMATTERS[log.format]()))
    # What a library warns of, such as a Python that it will not support for ever, is a line as any other.
    logging.captureWarnings(True)
    # Libraries speak up only when something is wrong.
    root.setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[log.level.upper()]))
    logging.getLogger("tornado_proxy").setLevel(log.level.upper())
    # It warns of every connection that it closes because enough others are kept.
    logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)


def flush_logging() -> None:
    """Wait for what is not written yet, and not for ever."""
    for handler in logging.getLogger().handlers:
        handler.flush()
