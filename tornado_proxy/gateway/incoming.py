"""A request as it arrives: its head, its body on the way, and the task that answers it.

llhttp reads the headers and the chunks, strictly; the request line is read here. llhttp knows a fixed list of methods,
and has its own view of addresses and of HTTP/1.0. It is therefore given the line of a POST instead, whose body has no
rules of its own.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import httptools

from tornado_proxy.routing.request import RequestError
from tornado_proxy.semantics.forwarded import Origin

# RFC 9112 3; `routing.request.read_address` decides which targets are valid.
_LINE = re.compile(
    rb"(?P<method>[!#$%&'*+.^_`|~0-9A-Za-z-]+) (?P<target>[\x21-\x7e\x80-\xff]+) HTTP/1\.(?P<minor>[0-9])\r\n"
)
# RFC 3986 3.2.2, but for the comma: several Host headers may have been joined by one (RFC 9112 3.2).
_HOST = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+;=:\[\]]|%[0-9A-Fa-f]{2})*")
_LINE_OF_POST = b"POST / HTTP/1.1\r\n"

_MOST_HEADERS = 500
_MOST_FRAMING = 128 * 1024  # bytes of chunk extensions or trailers without a byte of the body

LEAST_RATE = 1024
"""Bytes a second that a client must send or read, on average over the time in which it may pause."""

# The spelling of names is remembered, since clients send few and short ones.
_NAMES_KEPT = 1024
_LONGEST_NAME_KEPT = 64


class MalformedMessage(RequestError):
    """A head or the framing of a body that breaks the grammar of HTTP (RFC 9112)."""


class HeadTooLarge(RequestError):
    """Request line and headers together are longer than the limit (RFC 6585 5)."""


class BodyTimeout(RequestError):
    """A client that stopped sending its body, or sends it too slowly."""


class ClientDisconnected(RequestError):
    """A client that closed the connection, or stopped taking the answer."""


class RequestHead(NamedTuple):
    """The head of a request: its line, and its headers, whose names are spelt like `Content-Type`.

    `headers` has the values of one name joined by a comma, `fields` has them one by one as they came. `has_body` says
    whether a body was announced that is not empty.
    """

    method: str
    target: str
    version: str
    headers: Mapping[str, str]
    fields: tuple[tuple[str, str], ...]
    has_body: bool = False

    def value(self, name: str) -> str:
        """Returns the value of a header, whose name is spelt like `Content-Type`; empty without one."""
        return self.headers.get(name, "")


class RequestParser:
    """Reads one request: `read_head` once, then `read_body` with what follows, until the request is `complete`.

    `method` and `version` are known once the request line was read, even where the rest of the head cannot be.
    `keeps_alive` says whether another request may follow on the connection (RFC 9112 9.3), `expects_continue` whether
    the client waits for a 100 before it sends its body; one of HTTP/1.0 does not (RFC 9110 10.1.1).
    """

    def __init__(self) -> None:
        self.method = ""
        self.version = "HTTP/1.1"
        self.headers: dict[str, str] = {}
        self.keeps_alive = False
        self.expects_continue = False
        self.complete = False
        self.surplus = False  # whether bytes of another request followed a chunked body
        self._pieces: list[bytes] = []
        self._remaining: int | None = None  # bytes of a body whose length is announced; None where it is chunked
        self._fields: list[tuple[str, str]] = []
        self._in_body = False
        self._framing = 0  # bytes since the last of the body
        self._llhttp = httptools.HttpRequestParser(self)

    def read_head(self, head: bytes, limit: int) -> RequestHead:
        """Reads the request line and the headers, with the empty line; raises `HeadTooLarge`, `MalformedMessage`."""
        line = _LINE.match(head)
        if line is None:
            raise MalformedMessage("malformed request line")
        method, target, minor = line.groups()
        self.method = method.decode()
        self.version = "HTTP/1.0" if minor == b"0" else "HTTP/1.1"
        if len(head) > limit:
            raise HeadTooLarge(f"the head is longer than {limit} bytes")
        self._execute(_LINE_OF_POST + head[line.end() :])
        self._in_body = True
        headers, is_old, has_body = self.headers, self.version == "HTTP/1.0", not self.complete
        host, options = headers.get("Host"), headers.get("Connection")
        # RFC 9112 3.2
        if host is None and not is_old:
            raise MalformedMessage("the Host header is missing")
        if host is not None and not _HOST.fullmatch(host):
            raise MalformedMessage("the Host header is invalid, or there are several")
        self.keeps_alive = not is_old if options is None else _keeps_alive(options, is_old=is_old)
        if has_body:
            self._begin_body(is_old=is_old)
        return RequestHead(self.method, target.decode("latin-1"), self.version, headers, tuple(self._fields), has_body)

    def read_body(self, received: bytearray) -> bytes:
        """Takes what belongs to the body from the front of what was received; raises `MalformedMessage`."""
        if self._remaining is not None:
            with memoryview(received) as view:
                piece = bytes(view[: self._remaining])
            del received[: len(piece)]
            self._remaining -= len(piece)
            self.complete = self._remaining == 0
            return piece
        self._execute(bytes(received))
        self._framing += len(received)
        received.clear()
        piece = b"".join(self._pieces)
        self._pieces.clear()
        if piece:
            self._framing = 0
        elif self._framing > _MOST_FRAMING:
            raise MalformedMessage("chunk extensions or trailers too long")
        return piece

    def _begin_body(self, *, is_old: bool) -> None:
        self.expects_continue = not is_old and self.headers.get("Expect", "").lower() == "100-continue"
        coding = self.headers.get("Transfer-Encoding")
        if coding is None:
            self._remaining = int(self.headers["Content-Length"])
        elif coding.lower() != "chunked":
            raise MalformedMessage("unsupported Transfer-Encoding")
        elif is_old:
            # RFC 9112 6.1: what stands before such a message may have read its length otherwise.
            raise MalformedMessage("Transfer-Encoding in HTTP/1.0")

    def _execute(self, data: bytes) -> None:
        try:
            self._llhttp.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # Upgrades are not made: the request counts as it stands (RFC 9110 7.8).
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, HeadTooLarge):
                raise error.__context__ from None
            # Errors after the end of a chunked body do not belong to this request.
            if not self.complete:
                raise MalformedMessage(str(error)) from error

    # What llhttp calls.

    def on_message_begin(self) -> None:
        """Notices another request behind this one."""
        self.surplus = self.complete

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keeps a header; trailers are dropped, as RFC 9110 6.5.1 allows."""
        if self._in_body or self.complete:
            return
        text = value.decode("latin-1").strip(" \t")
        known = _known_name(name) if len(name) <= _LONGEST_NAME_KEPT else _spelt(name)
        self._fields.append((known, text))
        self.headers[known] = f"{self.headers[known]},{text}" if known in self.headers else text
        if len(self._fields) > _MOST_HEADERS:
            raise HeadTooLarge(f"more than {_MOST_HEADERS} headers")

    def on_body(self, piece: bytes) -> None:
        """Keeps a piece of a chunk."""
        self._pieces.append(piece)

    def on_message_complete(self) -> None:
        """Notes the end of the message."""
        self.complete = True


def _spelt(name: bytes) -> str:
    """Returns the name of a header as it is usually spelt: each word with a capital."""
    return "-".join([word.capitalize() for word in name.decode("latin-1").split("-")])


_known_name = lru_cache(_NAMES_KEPT)(_spelt)


def _keeps_alive(connection: str, *, is_old: bool) -> bool:
    options = {option.strip().lower() for option in connection.split(",")}
    return "close" not in options and (not is_old or "keep-alive" in options)


class Body:
    """An asynchronous iterator over the chunks of a body, which holds one chunk at most; the slower side sets the pace.

    It is read only when it is wanted, so that a refusal can come first; a body that nobody will read is discarded.
    Within each `timeout` seconds of waiting for the client, as many bytes must arrive as the least rate demands.
    """

    def __init__(self, timeout: float) -> None:
        self.is_wanted = False
        self.ended = False  # whether everything arrived, or nothing more will
        self.received = 0  # bytes
        self._timeout = timeout
        self._patience = timeout  # seconds of waiting that are left
        self._arrived = 0  # bytes since then
        self._chunk: bytes | None = None
        self._error: RequestError | None = None
        self._discarding = False
        self._changed = asyncio.Event()  # set for a moment

    async def until_wanted(self) -> None:
        """Waits until it is asked for or discarded."""
        await self._until(lambda: self.is_wanted)

    def deliver(self, chunk: bytes) -> Awaitable[None] | None:
        """Hands over a chunk; returns None, or an awaitable that is done once there was room for the chunk."""
        self.received += len(chunk)
        if self._chunk is not None:
            return self._deliver_later(chunk)
        self._keep(chunk)
        return None

    def end(self) -> None:
        """Marks the body as complete."""
        self.ended = True
        self._wake()

    def break_off(self, error: RequestError) -> None:
        """Ends a body that is not complete with an error, which its reader gets."""
        if not self.ended:
            self._error = error
            self.end()

    def discard(self) -> None:
        """Drops all chunks, past and future, since nobody will read them."""
        self._discarding = self.is_wanted = True
        self._chunk = None
        self._wake()

    def __aiter__(self) -> Body:
        return self

    async def __anext__(self) -> bytes:
        if self._chunk is None and not self.ended:
            self.is_wanted = True
            self._wake()
            await self._next_chunk()
        chunk, self._chunk = self._chunk, None
        if chunk is None:
            raise self._error or StopAsyncIteration
        self._arrived += len(chunk)
        if self._arrived >= LEAST_RATE * self._timeout:
            self._arrived, self._patience = 0, self._timeout
        self._wake()
        return chunk

    async def _next_chunk(self) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self._patience):
                await self._until(lambda: self._chunk is not None or self.ended)
        except TimeoutError:
            raise BodyTimeout(f"{self._arrived} bytes of the body arrived in {self._timeout:g} seconds") from None
        self._patience -= loop.time() - began

    async def _deliver_later(self, chunk: bytes) -> None:
        await self._until(lambda: self._chunk is None)
        self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        if not self._discarding:
            self._chunk = chunk
            self._wake()

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            await self._changed.wait()

    def _wake(self) -> None:
        """Wakes both sides, so that they look again."""
        self._changed.set()
        self._changed.clear()


NO_BODY = Body(0)
"""The body of each request without one; it has ended from the start."""
NO_BODY.end()


@dataclass(slots=True, eq=False, repr=False)
class Incoming:
    """A request as its connection delivers it, from `peer`; `mistake` is an error in its head.

    `task` answers it. `at` is the Unix time of its arrival in seconds, `started` the same moment by the clock for
    durations.
    """

    id: str
    peer: Origin
    head: RequestHead
    body: Body
    mistake: RequestError | None
    at: float = field(default_factory=time.time)
    started: float = field(default_factory=time.perf_counter)
    task: asyncio.Task[None] | None = None

    def break_off(self, mistake: RequestError) -> None:
        """Ends a request whose rest will not arrive, or whose client has left."""
        self.body.break_off(mistake)
        # The error in its body ends a PUT, so that it can clean up; any other request is cancelled.
        if isinstance(mistake, ClientDisconnected) and self.head.method != "PUT" and self.task is not None:
            # In the next turn: a task that is cancelled before its first step would emit no event.
            asyncio.get_running_loop().call_soon(self.task.cancel)
