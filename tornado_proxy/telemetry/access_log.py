"""Log lines: one a request, as `key=value` pairs or as JSON; whatever a client sends, it stays one line."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import Enum

from tornado_proxy.telemetry.events import Event, Refused, Served

Field = str | int | float | bool | None


def moment(seconds: float) -> str:
    """A Unix time in RFC 3339, in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def harmless(text: str) -> str:
    """The text with every character escaped that could end the line or control a terminal; scripts stay readable."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def quoted(text: str) -> str:
    """A harmless JSON string."""
    return harmless(json.dumps(text, ensure_ascii=False))


def json_line(line: Mapping[str, Field]) -> str:
    """A harmless JSON object."""
    pairs = (f"{quoted(name)}: {quoted(v) if isinstance(v, str) else json.dumps(v)}" for name, v in line.items())
    return "{" + ", ".join(pairs) + "}"


def _escaped(character: str) -> str:
    """JSON's escape, in UTF-16 units; by hand, since Python loads that codec from a file on first use.

    A process without free descriptors could not log.
    """
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


_LOG = logging.getLogger("tornado_proxy.access")

# In an address that a library's error names (RFC 3986 3.2.1).
_USER_INFORMATION = re.compile(r"//[^/?#\s@]*@")
_BARE = re.compile(r'[^\s"=\\]+')


class LogForm(Enum):
    """The format of a line."""

    TEXT = "text"
    JSON = "json"


class AccessLog:
    """Writes a line for each request."""

    def __init__(self, form: LogForm = LogForm.TEXT, write: Callable[[str], None] = _LOG.info) -> None:
        self._render = _RENDERERS[form]
        self._write = write

    def __call__(self, event: Event) -> None:
        """Writes the line of a request."""
        if isinstance(event, Served | Refused):
            self._write(self._render(fields(event)))


def fields(event: Served | Refused) -> dict[str, Field]:
    """The fields of a line, in order; unknown ones are left out."""
    request = event.request
    known: dict[str, Field] = {
        "time": moment(request.at),
        "id": request.request_id,
        "client": request.client,
        "method": request.method,
        "host": request.host,
        "path": request.path,
        "status": event.status,
        "sent": event.sent,
        "received": event.received,
        "ms": round(event.seconds * 1000, 1),
        "target": request.target,
        "key": request.key,
        "rule": request.rule,
        "user": request.user,
        "generation": request.generation,
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
