"""Reads the requests of a log, and simulates them on a server with the same sites.

Forked workers share the work: they inherit requests and compiled rules, so only results are sent.
"""

from __future__ import annotations

import gzip
import io
import json
import multiprocessing
import os
import re
import signal
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar, cast
from urllib.parse import quote

import msgspec

from tornado_proxy.routing.decide import Decision, simulate
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.routing.request import Request, RequestError, RequestPath, read_request
from tornado_proxy.semantics.request import User

_COMMON = re.compile(r'(?:(\S+) )?\S+ \S+ (\S+) \[[^\]]*\] "([A-Z]+) (\S+)(?: HTTP/[\d.]+)?"')
_PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S*)')
_ADDRESS = re.compile(r"(?:/|https?://)\S*", re.IGNORECASE)

_GZIP = b"\x1f\x8b"

_OFTEN = 8192
"""Lines between two reports of progress."""


class LoggedRequest(NamedTuple):
    """A request of a log; `address` is as sent: percent-encoded, with its query, each character a byte."""

    address: str
    method: str = "GET"
    host: str = ""
    user: str = ""


class UnreadableLog(Exception):
    """A log that cannot be read, with the reason."""


class RequestLog(msgspec.Struct):
    """Distinct requests with their counts; `strange` lines have no request, `first_strange` is the first of them."""

    requests: Counter[LoggedRequest] = msgspec.field(default_factory=Counter)
    strange: int = 0
    first_strange: int | None = None  # a line's number, from 1

    @property
    def total(self) -> int:
        """The number of requests."""
        return self.requests.total()

    def add(self, line: str, number: int, *, queries: bool) -> None:
        """Counts the request of a line; an empty line and a comment are not counted."""
        request = read_line(line)
        if request is not None:
            if not queries and "?" in request.address:
                request = request._replace(address=request.address.partition("?")[0])
            self.requests[request] += 1
        elif line and not line.startswith("#"):
            self.strange += 1
            self.first_strange = self.first_strange or number


def read_log(path: Path, progress: Callable[[float], None], *, queries: bool = True) -> RequestLog:
    """Reads a log, or standard input for `-`; raises `UnreadableLog`.

    `progress` is called with the part of the file that was read, from 0 to 1. Without `queries`, requests that differ
    only by their query count as one.
    """
    log = RequestLog()
    standard = sys.stdin.buffer if path == Path("-") else None
    try:
        with nullcontext(standard) if standard else path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size if file.seekable() else 0
            for number, line in enumerate(_lines(file), start=1):
                log.add(line.decode("latin-1").strip(), number, queries=queries)
                if size and number % _OFTEN == 0:
                    progress(min(1, file.tell() / size))
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableLog(getattr(error, "strerror", None) or str(error)) from error
    return log


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    buffered = cast("io.BufferedReader", file)
    if buffered.peek(len(_GZIP)).startswith(_GZIP):
        with gzip.open(file) as unpacked:
            yield from unpacked
    else:
        yield from file


def read_line(line: str) -> LoggedRequest | None:
    """Reads the request of a line, whose bytes are characters (latin-1); None if it has no request."""
    if line.startswith("{"):
        with suppress(ValueError):
            fields = json.loads(_text(line))
            return _from_fields(fields) if isinstance(fields, dict) else None
        return None
    common = _COMMON.match(line)
    if common is not None:
        host, user, method, address = common.groups()
        return LoggedRequest(address, method, host or "", "" if user == "-" else _text(user))
    if _ADDRESS.fullmatch(line):
        return LoggedRequest(line)
    with suppress(ValueError):
        pairs = _PAIR.findall(_text(line))
        return _from_fields({name: json.loads(value) if value.startswith('"') else value for name, value in pairs})
    return None


def _from_fields(fields: dict[str, object]) -> LoggedRequest | None:
    """Returns a request of our own access log, which has no query, and a decoded path if it could be decoded."""
    path, method = fields.get("path"), fields.get("method")
    if not (isinstance(path, str) and isinstance(method, str) and path.startswith("/")):
        return None
    # A request that was refused before it had a target had a malformed address: its path is raw.
    is_as_sent = str(fields.get("status")) == "400" and "target" not in fields
    address = path if is_as_sent else quote(path, errors="replace")
    return LoggedRequest(address, method, str(fields.get("host") or ""), str(fields.get("user") or ""))


def _text(sent: str) -> str:
    return sent.encode("latin-1").decode(errors="replace")


UPLOAD = "a log does not contain the name of an uploaded file"
"""The reason of an upload whose key is unknown."""


class RequestDefaults(msgspec.Struct, frozen=True):
    """Who makes requests, if that is required, and what their text does not contain: the host and headers."""

    user: User | None = None
    host: str = ""
    headers: tuple[tuple[str, str], ...] = ()


class Simulator:
    """Decides about logged requests as a server with these mounts would."""

    def __init__(self, mounts: Mounts, defaults: RequestDefaults) -> None:
        self.sites = {each.target.name: each for each in mounts.sites}
        self.mounts = mounts
        self._defaults = defaults

    def read(self, logged: LoggedRequest) -> Request:
        """Reads a logged request; raises `RequestError`."""
        host = logged.host or self._defaults.host
        return read_request(logged.address, logged.method, host, self._defaults.headers)

    def decide(self, logged: LoggedRequest, request: Request) -> Decision:
        """Decides about a request that was read."""
        user = self._defaults.user or (User(logged.user) if logged.user else None)
        return simulate(self.mounts, request, user)

    def ask(self, logged: LoggedRequest) -> Decision:
        """Reads a logged request and decides about it; one that cannot be read is refused."""
        try:
            return self.decide(logged, self.read(logged))
        except RequestError as error:
            return refused(logged.address, logged.method, error)


def refused(address: str, method: str, error: RequestError) -> Decision:
    """Returns the decision about a request that cannot be read, whose path is the address as it was sent."""
    return Decision(Request(method, path=RequestPath(address)), (Refuse(error.status, str(error)),))


Item = TypeVar("Item")
Result = TypeVar("Result")

_WORTH_IT = 20_000
"""The number of items below which starting workers takes longer than they save."""

_PORTION = 5_000

_inherited: tuple[Callable[[Sequence[Any]], Any], Sequence[Any]] = (len, ())
"""The work and all items, in a worker."""


def in_portions(
    work: Callable[[Sequence[Item]], Result],
    items: Sequence[Item],
    progress: Callable[[float], None],
    workers: int | None = None,
) -> Iterator[Result]:
    """Yields the result of `work` for each portion, in order; `progress` gets the part that is done, from 0 to 1."""
    starts = range(0, len(items), _PORTION)
    if workers is None:
        workers = len(os.sched_getaffinity(0)) if len(items) >= _WORTH_IT else 1
    done = (work(items[start : start + _PORTION]) for start in starts)
    for number, result in enumerate(done if workers < 2 else _forked(work, items, workers), start=1):
        yield result
        progress(number / len(starts))


def _forked(work: Callable[[Sequence[Item]], Result], items: Sequence[Item], workers: int) -> Iterator[Result]:
    context = multiprocessing.get_context("fork")  # by which nothing is sent to the workers
    with ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(work, items)) as pool:
        yield from pool.map(_portion, range(0, len(items), _PORTION))


def _begin(work: Callable[[Sequence[Any]], Any], items: Sequence[Any]) -> None:
    global _inherited  # noqa: PLW0603 - what each portion of a worker is about
    # Ctrl-C reaches every process of a terminal: the parent process ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _inherited = work, items


def _portion(start: int) -> Any:
    work, items = _inherited
    return work(items[start : start + _PORTION])
