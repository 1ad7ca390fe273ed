"""What every line of a log is made of: nothing in it ends it or steers a terminal, in text as in JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

Field = str | int | float | bool | None


def moment(seconds: float) -> str:
    """A Unix time as RFC 3339 writes it, in UTC and to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def harmless(text: str) -> str:
    """A text with each character escaped that could end the line or steer a terminal; scripts stay readable."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def quoted(text: str) -> str:
    """A JSON string, harmless."""
    return harmless(json.dumps(text, ensure_ascii=False))


def json_line(line: Mapping[str, Field]) -> str:
    """A JSON object, harmless."""
    pairs = (f"{quoted(name)}: {quoted(v) if isinstance(v, str) else json.dumps(v)}" for name, v in line.items())
    return "{" + ", ".join(pairs) + "}"


def _escaped(character: str) -> str:
    """As JSON has it, in units of UTF-16; by hand, since Python opens a file for that codec when it is needed first."""
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
