"""A request of HTTP/2 and its answer: the head as values, and the `HTTPConnection` that the application sees."""

from __future__ import annotations

import asyncio
import re
from asyncio import Future
from collections import deque
from collections.abc import Awaitable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, cast

from h2.errors import ErrorCodes
from hpack.struct import HeaderTuple, NeverIndexedHeaderTuple
from tornado.httputil import (
    HTTPHeaders,
    HTTPOutputError,
    HTTPServerConnectionDelegate,
    RequestStartLine,
    ResponseStartLine,
)

from tornado_proxy.routing.request import RequestError
from tornado_proxy.wire import incoming
from tornado_proxy.wire.limits import LEAST_RATE, MOST_HEADERS
from tornado_proxy.wire.stream import NEVER, STAND_IN, ClientConnection, Stream

RawFields = Sequence[tuple[bytes, bytes]]

_VERSION = "HTTP/2.0"
_PSEUDO = frozenset({b":method", b":scheme", b":authority", b":path"})
_METHOD = re.compile(incoming.TOKEN.encode())
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+")  # RFC 9113 8.2: no upper case
_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_PATH = re.compile(rb"/[\x21-\x7e\x80-\xff]*|\*")  # RFC 9113 8.3.1: no address with an authority of its own
# RFC 9113 8.2.2: what frames or names a connection of HTTP/1 has no meaning here, and means something behind others.
_OF_CONNECTIONS = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"})
_FIELD_OVERHEAD = 32  # bytes that each field counts in addition (RFC 9113 6.5.2)

# What differs from answer to answer would only push the rest out of the table by which answers are compressed.
_UNIQUE = frozenset({b"content-length", b"etag", b"last-modified", b"location", b"set-cookie", b"x-request-id"})


class Head(NamedTuple):
    """The head of a request; `length` is that of its body, None if it is not announced."""

    line: RequestStartLine
    fields: incoming.Fields
    has_body: bool = False
    length: int | None = None
    expects_continue: bool = False


def read_head(raw: RawFields, limit: int, *, has_body: bool) -> Head:
    """Reads a head, by the rules of one of HTTP/1.1; raises `HeadTooLarge`, `MalformedMessage`."""
    if sum([len(name) + len(value) + _FIELD_OVERHEAD for name, value in raw]) > limit:
        raise incoming.HeadTooLarge(f"the head is longer than {limit} bytes")
    if len(raw) > MOST_HEADERS:
        raise incoming.HeadTooLarge(f"more than {MOST_HEADERS} headers")
    pseudo, ordinary = _parted(raw)
    pairs = _read_fields(ordinary)
    joined = incoming.Fields(pairs).joined
    method, target, host = _read_line(pseudo, joined.get("Host"))
    if "Host" not in joined:
        pairs, joined["Host"] = (("Host", host), *pairs), host
    length = incoming.content_length(joined["Content-Length"]) if "Content-Length" in joined else None
    if length and not has_body:
        raise incoming.MalformedMessage("the body is not as long as its Content-Length")
    if has_body and length is None:
        # How the application learns that a body of any length follows (RFC 9112 6).
        pairs, joined["Transfer-Encoding"] = (*pairs, ("Transfer-Encoding", "chunked")), "chunked"
    expects_continue = has_body and joined.get("Expect", "").lower() == "100-continue"
    return Head(
        RequestStartLine(method, target, _VERSION), incoming.Fields(pairs, joined), has_body, length, expects_continue
    )


def stand_in(raw: RawFields, *, has_body: bool) -> Head:
    """Stands in for a head that cannot be read."""
    line = STAND_IN._replace(method="HEAD") if (b":method", b"HEAD") in raw else STAND_IN
    return Head(line, incoming.Fields(), has_body)


def check_trailers(raw: RawFields) -> None:
    """Raises `MalformedMessage` for invalid trailers, which are dropped (RFC 9110 6.5.1)."""
    pseudo, ordinary = _parted(raw)
    if pseudo:
        raise incoming.MalformedMessage("the trailers have a pseudo-header")
    _read_fields(ordinary)


def _parted(raw: RawFields) -> tuple[dict[bytes, bytes], RawFields]:
    """Returns the pseudo-headers, which come first, and the others."""
    pseudo: dict[bytes, bytes] = {}
    for at, (name, value) in enumerate(raw):
        if not name.startswith(b":"):
            return pseudo, raw[at:]
        if name not in _PSEUDO or name in pseudo:
            raise incoming.MalformedMessage("a pseudo-header is unknown or there twice")
        pseudo[name] = value
    return pseudo, ()


def _read_line(pseudo: dict[bytes, bytes], host: str | None) -> tuple[str, str, str]:
    """Returns method, target and host (RFC 9113 8.3.1)."""
    method, path, authority = pseudo.get(b":method", b""), pseudo.get(b":path"), pseudo.get(b":authority")
    if not _METHOD.fullmatch(method):
        raise incoming.MalformedMessage("the method is missing or invalid")
    named = host if authority is None else authority.decode("latin-1")
    if named is None:
        raise incoming.MalformedMessage("neither `:authority` nor Host")
    if not incoming.HOST.fullmatch(named) or host not in (None, named):
        raise incoming.MalformedMessage("the authority is invalid, or is not the one of Host")
    if method == b"CONNECT":
        if path is not None or b":scheme" in pseudo:
            raise incoming.MalformedMessage("a CONNECT has a path or a scheme")
        return "CONNECT", named, named
    if pseudo.get(b":scheme") not in (b"https", b"http"):
        raise incoming.MalformedMessage("the scheme is missing or unknown")
    if path is None or not _PATH.fullmatch(path) or (path == b"*" and method != b"OPTIONS"):
        raise incoming.MalformedMessage("the path is missing or invalid")
    return method.decode(), path.decode("latin-1"), named


def _read_fields(raw: RawFields) -> tuple[tuple[str, str], ...]:
    """Returns the headers; those of cookies become one (RFC 9113 8.2.3)."""
    pairs: list[tuple[str, str]] = []
    cookies: list[bytes] = []
    for name, value in raw:
        if not _NAME.fullmatch(name):
            raise incoming.MalformedMessage("a header has an invalid name")
        if not _VALUE.fullmatch(value) or value.strip(b" \t") != value:
            raise incoming.MalformedMessage("a header has an invalid value")
        if name in _OF_CONNECTIONS or (name == b"te" and value.lower() != b"trailers"):
            raise incoming.MalformedMessage("a header is about the connection")
        if name == b"cookie":
            cookies.append(value)
        else:
            pairs.append((incoming.spelt(name.decode()), value.decode("latin-1")))
    if cookies:
        pairs.append(("Cookie", b"; ".join(cookies).decode("latin-1")))
    return tuple(pairs)


class Http2Stream(Stream):
    """A request of HTTP/2 and its answer.

    `number` is the stream's. `is_read` is whether the request has arrived completely, `is_open` whether neither side
    has reset the stream; `deadline` is when the client must have taken more of the answer.
    """

    _connection: Any  # an `Http2Connection`, whose module imports this one

    def __init__(self, connection: ClientConnection, number: int, head: Head, mistake: RequestError | None) -> None:
        super().__init__(connection, mistake, has_body=head.has_body)
        self.number = number
        self.is_read = not head.has_body
        self.is_malformed = isinstance(mistake, incoming.MalformedMessage)  # and ends with an error (RFC 9113 8.1.1)
        self.is_open = True
        self.has_ended = False  # whether the end of the answer was sent
        self.deadline = NEVER
        self._head = head
        self._awaits_continue = head.expects_continue
        self._arrived = 0  # bytes of the body
        self._incoming = bytearray()  # of the body
        self._held = 0  # bytes of the windows that it takes, and what the application is taking
        self._taking: Future[object] | None = None  # while the application takes no more of the body
        self._unsent: deque[memoryview] = deque()
        self._sent = 0  # bytes since the deadline was set
        self._drained: Future[None] | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether a part of the answer has yet to be sent."""
        return bool(self._unsent)

    @property
    def is_sent(self) -> bool:
        """Whether the whole answer was sent."""
        return not self._unsent and (self.writing == "done" or not self._remaining)

    # What the application calls.

    def write_headers(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders, chunk: bytes | None = None
    ) -> Future[None]:
        """Writes the head of an answer and the first piece of its body.

        Raises `ValueError` for a line end in a header. The future is done when the next piece may follow, or has
        `ClientDisconnected`.
        """
        assert isinstance(start_line, ResponseStartLine)
        status, fields = start_line.code, headers.get_all()
        length = dict(fields).get("Content-Length")
        has_body = self._head.line.method != "HEAD" and status not in (204, 304)
        self._remaining = (NEVER if length is None else int(length)) if has_body else 0
        encoded = _encoded(status, fields)
        self.writing = "body"
        self._connection.send_head(self, encoded)
        return self.write(chunk or b"")

    def write(self, chunk: bytes) -> Future[None]:
        """Writes a piece of an answer's body; the future is that of `write_headers`."""
        if chunk and self._remaining:
            if len(chunk) > self._remaining:
                raise HTTPOutputError("the body is longer than its Content-Length")
            self._remaining -= len(chunk)
            self._unsent.append(memoryview(chunk))
        if self.writing == "done" or not self.is_open:
            self._unsent.clear()
            return self._failed()
        self._connection.send(self)
        if not self._unsent:
            sent: Future[None] = self._connection.sent
            return sent
        if self._drained is None or self._drained.done():
            self._drained = asyncio.get_running_loop().create_future()
        return self._drained

    def finish(self) -> None:
        """Ends an answer; raises `HTTPOutputError` if its body is shorter than announced, and resets the stream."""
        if self.writing == "done":
            return
        self.writing = "done"
        if 0 < self._remaining < NEVER and self.is_open:
            self._connection.end(self, ErrorCodes.INTERNAL_ERROR)
            raise HTTPOutputError(f"the body is {self._remaining} bytes shorter than its Content-Length")
        self._connection.send(self)

    def close(self) -> None:
        """Resets the stream: the client sees that the answer is not complete."""
        if self.writing != "done":
            self.writing = "done"
            self._unsent.clear()
            self._connection.end(self, ErrorCodes.INTERNAL_ERROR)

    # What the connection calls.

    def start(self, application: HTTPServerConnectionDelegate) -> None:
        """Hands the request to the application."""
        until_taken = self.begin(application, self._head.line, self._head.fields)
        if self.reading == "done":
            self.end_body()
        elif self.reading == "body":
            self._take(until_taken, 0)

    def receive(self, data: bytes, size: int, *, ends: bool) -> None:
        """Takes a piece of the body, and the bytes that it takes of the windows."""
        self._held += size
        self._arrived += len(data)
        if self.reading == "body":
            self._incoming += data
        self.advance(ends=ends)

    def advance(self, *, ends: bool) -> None:
        """Goes on with what has arrived of the body; `ends` at the end of the request."""
        self.is_read = ends
        length = self._head.length
        if self.is_malformed:
            self.release()
        elif length is not None and (self._arrived > length or (ends and self._arrived < length)):
            self.break_malformed("the body is not as long as its Content-Length")
        elif ends and self.has_ended and self.writing == "done":
            self._connection.end(self)
        elif self.reading == "body":
            self._deliver()
        elif not self.has_ended:  # else the client shall read the answer before it sends more
            self.release()

    def break_malformed(self, reason: str) -> None:
        """Ends a request whose rest breaks the rules of HTTP."""
        self.is_malformed = True
        if self.has_ended:
            self._connection.end(self)
        else:
            self.break_off(incoming.MalformedMessage(reason))

    def break_off(self, mistake: RequestError) -> None:
        """Ends a request whose rest will not arrive, or whose client has left."""
        self._incoming.clear()
        if not self.has_ended:
            self.release()
        super().break_off(mistake)

    def release(self) -> None:
        """Opens the windows by what will not be taken."""
        held, self._held = self._held, 0
        self._connection.consume(self.number, held)

    def lose(self, mistake: incoming.ClientDisconnected) -> None:
        """Ends a request that the client takes no answer to any more."""
        self.is_open = False
        self.deadline = NEVER
        self._unsent.clear()
        self.mistake = self.mistake or mistake
        self.wake()
        self.break_off(self.mistake)

    def take(self, most: int) -> memoryview:
        """Returns the next piece of the answer, and forgets it."""
        piece = self._unsent[0]
        if len(piece) <= most:
            self._unsent.popleft()
        else:
            self._unsent[0] = piece[most:]
            piece = piece[:most]
        self._sent += len(piece)
        return piece

    def keeps_pace(self, patience: float) -> bool:
        """Whether the client took enough since the last look, in a time of `patience` seconds."""
        sent, self._sent = self._sent, 0
        return sent >= LEAST_RATE * patience

    def wake(self) -> None:
        """Lets the writer of the answer go on."""
        drained, self._drained = self._drained, None
        if drained is None or drained.done():
            return
        if self.is_open:
            drained.set_result(None)
        else:
            self._fail(drained)

    def _deliver(self) -> None:
        """Passes on the body as far as the application takes it."""
        while self._taking is None and self._held and self.delegate is not None:
            data, size = bytes(self._incoming), self._held
            self._incoming.clear()
            self._take(self.delegate.data_received(data) if data else None, size)
        if self._taking is None and self.is_read and self.reading == "body" and not self._incoming:
            self.end_body()

    def _take(self, until_taken: object, size: int) -> None:
        """Opens the windows by what the application takes, once it has."""
        if until_taken is None:
            self._taken(size, None)
        else:
            self._taking = asyncio.ensure_future(cast("Awaitable[object]", until_taken))
            self._taking.add_done_callback(partial(self._taken, size))

    def _taken(self, size: int, taking: Future[object] | None) -> None:
        if self._held:
            self._held -= size
            self._connection.consume(self.number, size)
        # What nobody takes after a refusal counts as taken.
        if self._awaits_continue and not self._arrived and self.writing == "head":
            self._connection.send_continue(self)
        self._awaits_continue = False
        if taking is not None:
            self._taking = None
            if not taking.cancelled():
                taking.result()
            self._deliver()


def _encoded(status: int, fields: Iterable[tuple[str, str]]) -> list[HeaderTuple]:
    """Returns the fields of an answer's head as they are sent; raises `ValueError` for a line end."""
    encoded = [HeaderTuple(b":status", b"%d" % status)]
    for name, value in fields:
        kind, key = _kind(name)
        encoded.append(kind(key, value.encode("latin-1")))
    if b"\n" in (text := b"".join([value for _, value in encoded])) or b"\r" in text:
        raise ValueError("a header of an answer has several lines")
    return encoded


@lru_cache(256)
def _kind(name: str) -> tuple[type[HeaderTuple], bytes]:
    key = name.lower().encode("latin-1")
    return (NeverIndexedHeaderTuple if key in _UNIQUE else HeaderTuple), key
