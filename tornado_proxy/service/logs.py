"""The process's log: to standard error, as lines of text or of JSON, which the journal takes as they are."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from tornado_proxy.config.model import Log

ACCESS = "tornado_proxy.access"


class _Text(logging.Formatter):
    """`time level message`; an access line is complete as it is."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        if record.name == ACCESS:
            return text
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return f"{moment.removesuffix('+00:00')}Z {record.levelname.lower()} {text}"


class _Json(logging.Formatter):
    """One object a line; an access line is one already."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name == ACCESS:
            return record.getMessage()
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": moment, "level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


_FORMATTERS = {"text": _Text, "json": _Json}


def configure_logging(log: Log) -> None:
    """Send the log to standard error in the form that the configuration asks for."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_FORMATTERS[log.format]())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    # Libraries speak up only when something is wrong.
    root.setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[log.level.upper()]))
    logging.getLogger("tornado_proxy").setLevel(log.level.upper())
    # It warns of every connection that it closes because enough others are kept.
    logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)
