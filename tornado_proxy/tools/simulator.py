"""Reads the requests of a log, and simulates them on a server with the same sites."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import zlib
from collections import Counter
from contextlib import nullcontext, suppress
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, cast
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from tornado_proxy.routing.compare import KeptRequest
from tornado_proxy.routing.decide import Decision, simulate
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.routing.request import RequestError, read_request
from tornado_proxy.semantics.request import Request, RequestPath, User

_COMMON = re.compile(r'(?:(\S+) )?\S+ \S+ (\S+) \[[^\]]*\] "([A-Z]+) (\S+)(?: HTTP/[\d.]+)?"')
_PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S*)')
_ADDRESS = re.compile(r"(?:/|https?://)\S*", re.IGNORECASE)

_GZIP = b"\x1f\x8b"


class LoggedRequest(NamedTuple):
    """A request of a log; `address` is as sent: percent-encoded, with its query, each character a byte.

    Of one that a service has `kept`, neither query nor headers are known, nor who the user is.
    """

    address: str
    method: str = "GET"
    host: str = ""
    user: str = ""
    kept: KeptRequest | None = None


def logged(kept: KeptRequest) -> LoggedRequest:
    """Returns a request that a service has kept, whenever it was made."""
    return LoggedRequest(quote(kept.path), kept.method, kept.host, kept=kept._replace(at=0.0))


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

    @property
    def strange_lines(self) -> str:
        """The number of lines without a request, in words."""
        if self.strange == 1:
            return f"1 line without a request: line {self.first_strange}"
        return f"{self.strange:,} lines without a request; the first is line {self.first_strange}"

    @property
    def counts(self) -> dict[str, int | None]:
        """The counts for programs."""
        return {
            "total": self.total,
            "different": len(self.requests),
            "strange_lines": self.strange,
            "first_strange_line": self.first_strange,
        }

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


def read_log(path: Path, *, queries: bool = True) -> RequestLog:
    """Reads a log, also of gzip, or standard input for `-`; raises `UnreadableLog`.

    Without `queries`, requests that differ only by their query count as one.
    """
    log = RequestLog()
    standard = sys.stdin.buffer if path == Path("-") else None
    try:
        with nullcontext(standard) if standard else path.open("rb") as file:
            packed = cast("io.BufferedReader", file).peek(len(_GZIP)).startswith(_GZIP)
            for number, line in enumerate(gzip.GzipFile(fileobj=file) if packed else file, start=1):
                log.add(line.decode("latin-1").strip(), number, queries=queries)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableLog(getattr(error, "strerror", None) or str(error)) from error
    return log


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
    """Who makes requests, if that is required, and what their text does not contain: host, headers, public path."""

    user: User | None = None
    host: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    public_path: str = ""


class Simulator:
    """Decides about logged requests as a server with these mounts would."""

    def __init__(self, mounts: Mounts, defaults: RequestDefaults) -> None:
        self.sites = {each.target.name: each for each in mounts.sites}
        self.mounts = mounts
        self._defaults = defaults

    def read(self, logged: LoggedRequest) -> Request:
        """Reads a logged request; raises `RequestError`."""
        host, defaults = logged.host or self._defaults.host, self._defaults
        request = read_request(logged.address, logged.method, host, defaults.headers)
        return replace(request, public_path=defaults.public_path)

    def user(self, logged: LoggedRequest) -> User | None:
        """Returns the user of a logged request; None if nobody is known to be signed in."""
        return self._defaults.user or (User(logged.user) if logged.user else None)

    def decide(self, logged: LoggedRequest, request: Request, file_name: str | None = None) -> Decision:
        """Decides about a request that was read; `file_name` is that of an upload in its form."""
        user, kept = self.user(logged), logged.kept
        file_name = kept.file_name if kept else file_name
        if kept and user is None and kept.signed_in:
            return simulate(self._for_all_users, request, self._someone(kept), file_name)
        return simulate(self.mounts, request, user, file_name)

    def ask(self, logged: LoggedRequest, file_name: str | None = None) -> Decision:
        """Reads a logged request and decides about it; one that cannot be read is refused."""
        try:
            return self.decide(logged, self.read(logged), file_name)
        except RequestError as error:
            request = Request(logged.method, path=RequestPath(_text(logged.address)))
            return Decision(request, (Refuse(error.status, str(error)),))

    @cached_property
    def _for_all_users(self) -> Mounts:
        opened = []
        for each in self.mounts.sites:
            site = copy(each)
            site.access = each.access.for_all_users()
            opened.append(site)
        return self.mounts.of_sites(opened)

    def _someone(self, kept: KeptRequest) -> User:
        """Returns a user for whom the rules see the same key: of isolated users, the directory has the name."""
        match = self.mounts.find(kept.host, kept.path)
        if match is None or not match.site.target.actions.get.user_isolation:
            return User("someone")
        admins = match.site.target.actions.get.user_isolation_admins
        home = kept.key.removesuffix(match.key[1:] + (kept.file_name or ""))
        return User(home.strip("/") or next(iter(admins), "someone"))
