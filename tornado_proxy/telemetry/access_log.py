"""One line a request, as `key=value` pairs or as JSON; whatever a client sends, it stays one line."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from enum import Enum

from tornado_proxy.telemetry.events import Event, Refused, Served
from tornado_proxy.telemetry.lines import Field, json_line, moment, quoted

_LOG = logging.getLogger("tornado_proxy.access")

# In an address that a library's error names (RFC 3986 3.2.1).
_USER_INFORMATION = re.compile(r"//[^/?#\s@]*@")
_BARE = re.compile(r'[^\s"=\\]+')


class LogForm(Enum):
    """How a line is written."""

    TEXT = "text"
    JSON = "json"


class AccessLog:
    """The listener that writes a line for each request."""

    def __init__(self, form: LogForm = LogForm.TEXT, write: Callable[[str], None] = _LOG.info) -> None:
        self._render = _RENDERERS[form]
        self._write = write

    def __call__(self, event: Event) -> None:
        """Write the line of a request that was answered."""
        if isinstance(event, Served | Refused):
            self._write(self._render(fields(event)))


def fields(event: Served | Refused) -> dict[str, Field]:
    """What a line tells, in order; what is not known is left out."""
    asked = event.asked
    known: dict[str, Field] = {
        "time": moment(asked.at),
        "id": asked.request_id,
        "client": asked.client,
        "method": asked.method,
        "host": asked.host,
        "path": asked.path,
        "status": event.status,
        "sent": event.sent,
        "received": event.received,
        "ms": round(event.seconds * 1000, 1),
        "target": asked.target,
        "key": asked.key,
        "rule": asked.rule,
        "user": asked.user,
        "generation": asked.generation,
        "complete": event.complete if isinstance(event, Served) and not event.complete else None,
        "reason": event.reason and _USER_INFORMATION.sub("//", event.reason),
    }
    return {name: value for name, value in known.items() if value is not None and value != ""}


def _text(line: Mapping[str, Field]) -> str:
    return " ".join(f"{name}={_pair_value(value)}" for name, value in line.items())


def _pair_value(value: Field) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    return value if _BARE.fullmatch(value) and value.isprintable() else quoted(value)


_RENDERERS: dict[LogForm, Callable[[Mapping[str, Field]], str]] = {LogForm.TEXT: _text, LogForm.JSON: json_line}
