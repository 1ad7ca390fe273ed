"""Reads requests from access logs and lists of paths: each distinct request once, with its count.

Each line is read on its own: a common or combined log line (with the virtual host in front,
if there is one), one of our own access lines (pairs or JSON), or a percent-encoded path or address. All else holds no
request and is counted. A file may be compressed with gzip.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple, cast
from urllib.parse import quote

_COMMON = re.compile(r'(?:(\S+) )?\S+ \S+ (\S+) \[[^\]]*\] "([A-Z]+) (\S+)(?: HTTP/[\d.]+)?"')
_PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S*)')
_ADDRESS = re.compile(r"(?:/|https?://)\S*", re.IGNORECASE)

_GZIP = b"\x1f\x8b"

_OFTEN = 8192
"""Lines between two reports of progress."""


class LoggedRequest(NamedTuple):
    """A request as a log has it; `address` is as sent: percent-encoded, with its query, each character a byte."""

    address: str
    method: str = "GET"
    host: str = ""
    user: str = ""


class UnreadableLog(Exception):
    """A log that cannot be read; the text says why."""


@dataclass(slots=True)
class RequestLog:
    """Distinct requests with their counts; `strange` lines hold no request, `first_strange` is the first of them."""

    requests: Counter[LoggedRequest] = field(default_factory=Counter)
    strange: int = 0
    first_strange: int | None = None  # a line's number, from 1

    @property
    def total(self) -> int:
        """The number of requests."""
        return self.requests.total()


@contextmanager
def open_log(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file for reading, `-` for standard input; raises `UnreadableLog`."""
    if path == Path("-"):
        yield sys.stdin.buffer
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise UnreadableLog(error.strerror) from error
    with file:
        yield file


def read_log(file: IO[bytes], progress: Callable[[float], None], *, queries: bool = True) -> RequestLog:
    """Reads a log; `progress` is called with the part of the file that was read, from 0 to 1. Raises `UnreadableLog`.

    Without `queries`, requests that differ by their query alone count as one.
    """
    log = RequestLog()
    size = _size(file)
    try:
        for number, line in enumerate(_lines(file), start=1):
            text = line.decode("latin-1").strip()
            request = read_line(text)
            if request is not None:
                log.requests[request if queries else _without_query(request)] += 1
            elif text and not text.startswith("#"):
                log.strange += 1
                log.first_strange = log.first_strange or number
            if size and number % _OFTEN == 0:
                progress(min(1, file.tell() / size))
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableLog(str(error)) from error
    return log


def _without_query(request: LoggedRequest) -> LoggedRequest:
    return request._replace(address=request.address.partition("?")[0]) if "?" in request.address else request


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    buffered = cast("io.BufferedReader", file)
    if buffered.peek(len(_GZIP)).startswith(_GZIP):
        with gzip.open(file) as unpacked:
            yield from unpacked
    else:
        yield from file


def _size(file: IO[bytes]) -> int:
    """Returns the bytes of a file; 0 for a pipe, whose size is unknown."""
    return os.fstat(file.fileno()).st_size if file.seekable() else 0


def read_line(line: str) -> LoggedRequest | None:
    """Reads the request of a line, whose bytes are characters (latin-1); None where it holds no request."""
    if line.startswith("{"):
        return _from_fields(_json_fields(line))
    common = _COMMON.match(line)
    if common is not None:
        host, user, method, address = common.groups()
        return LoggedRequest(address, method, host or "", "" if user == "-" else _text(user))
    if _ADDRESS.fullmatch(line):
        return LoggedRequest(line)
    return _from_fields(_pairs(line))


def _json_fields(line: str) -> dict[str, object]:
    try:
        fields = json.loads(_text(line))
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _pairs(line: str) -> dict[str, object]:
    try:
        return {
            name: json.loads(value) if value.startswith('"') else value for name, value in _PAIR.findall(_text(line))
        }
    except ValueError:
        return {}


def _from_fields(fields: dict[str, object]) -> LoggedRequest | None:
    """Returns a request of our own access log, which has no query, and a decoded path if it could be decoded."""
    path, method = fields.get("path"), fields.get("method")
    if not (isinstance(path, str) and isinstance(method, str) and path.startswith("/")):
        return None
    address = path if _is_as_sent(fields) else quote(path, errors="replace")
    return LoggedRequest(address, method, str(fields.get("host") or ""), str(fields.get("user") or ""))


def _is_as_sent(fields: dict[str, object]) -> bool:
    """Returns whether the path is raw: a request that was refused before it had a target had a malformed address."""
    return str(fields.get("status")) == "400" and "target" not in fields


def _text(sent: str) -> str:
    return sent.encode("latin-1").decode(errors="replace")
