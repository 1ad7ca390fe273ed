"""A request as it arrives: its head, then its body piece by piece.

Where a request ends is decided here, by Content-Length and Transfer-Encoding alone (RFC 9112 6), and whatever another
parser could read otherwise is refused. llhttp is not asked: it ends a request after its head where `Connection` and
`Upgrade` offer another protocol, and does not say where a body in chunks has ended.
"""

from __future__ import annotations

import re

from tornado.httputil import RequestStartLine

from tornado_proxy.routing.request import RequestError
from tornado_proxy.wire.headers import Fields, Pairs, spelt

# RFC 9112 3; `routing.request.read_address` decides which targets are valid.
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"  # noqa: S105 - a grammar rule, no secret
_LINE = re.compile(rf"({_TOKEN}) ([\x21-\x7e\x80-\xff]+) HTTP/1\.([0-9])\r\n")
# RFC 9112 5, without folded lines.
_FIELD = re.compile(rf"({_TOKEN}):([\t\x20-\x7e\x80-\xff]*+)\r\n")
_FIELDS = re.compile(rf"(?:{_FIELD.pattern})*+")
# RFC 3986 3.2.2, but for the comma: several Host headers may have been joined by one (RFC 9112 3.2).
_HOST = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+;=:\[\]]++|%[0-9A-Fa-f]{2})*+")
_LENGTH = re.compile(r"[0-9]{1,18}")
# RFC 9112 7.1, without the spaces that its 7.1.1 allows: parsers disagree about them. The first chunk has no end of
# another one before it.
_QUOTED = rb'"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*+"'
_NAME = _TOKEN.encode()
_CHUNK = rb"([0-9A-Fa-f]{1,16})(?:;%b(?:=(?:%b|%b))?)*+\r\n" % (_NAME, _NAME, _QUOTED)
_CUT_CHUNK = rb"[0-9A-Fa-f]{0,16}(?:;[^\r\n]*+)?\r?"  # what may still become the line of one
_FIRST = (re.compile(_CHUNK), re.compile(_CUT_CHUNK))
_NEXT = (re.compile(rb"\r\n%b" % _CHUNK), re.compile(rb"\r?|\r\n%b" % _CUT_CHUNK))

_MOST_HEADERS = 500
_LONGEST_CHUNK_LINE = 4096  # bytes, with extensions
_LONGEST_TRAILERS = 64 * 1024  # bytes

LEAST_RATE = 1024
"""Bytes a second that a client must send or read, on average over the time in which it may pause."""


class MalformedMessage(RequestError):
    """A head or the framing of a body that breaks the grammar of HTTP (RFC 9112)."""


class HeadTooLarge(RequestError):
    """Request line and headers together are longer than the limit (RFC 6585 5)."""

    status = 431


class ClientDisconnected(RequestError):
    """A client that closed the connection, or stopped taking the answer."""

    status = 499  # nobody sees it; operators know it from nginx


def content_length(text: str) -> int:
    """Returns the number of bytes that a Content-Length announces; raises `MalformedMessage`."""
    if not _LENGTH.fullmatch(text):
        raise MalformedMessage("the Content-Length is invalid, or there are several")
    return int(text)


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
        self.complete = True
        self._remaining = 0  # bytes of the body, or of its chunk
        self._chunk: tuple[re.Pattern[bytes], re.Pattern[bytes]] | None = None  # the next line of a body in chunks
        self._in_trailers = False

    def read_head(self, head: bytes, limit: int) -> tuple[RequestStartLine, Fields]:
        """Reads the request line and the headers, with the empty line; raises `HeadTooLarge`, `MalformedMessage`."""
        text = head.decode("latin-1")
        line = _LINE.match(text)
        if line is not None:
            self.method, target, minor = line.groups()
            self.version = "HTTP/1.0" if minor == "0" else "HTTP/1.1"
        if len(head) > limit:
            raise HeadTooLarge(f"the head is longer than {limit} bytes")
        if line is None:
            raise MalformedMessage("malformed request line")
        if not head.endswith(b"\r\n\r\n"):
            raise MalformedMessage("a line ends without a carriage return")
        is_old = self.version == "HTTP/1.0"
        pairs = _read_fields(text[line.end() : -2])
        joined = dict(pairs)
        fields = Fields(pairs, joined if len(joined) == len(pairs) else None)
        self.headers = headers = fields.joined
        host, options = headers.get("Host"), headers.get("Connection")
        # RFC 9112 3.2
        if host is None and not is_old:
            raise MalformedMessage("the Host header is missing")
        if host is not None and not _HOST.fullmatch(host):
            raise MalformedMessage("the Host header is invalid, or there are several")
        # What follows a CONNECT may be another protocol's, whose bytes somebody else chose.
        keeps_alive = not is_old if options is None else _keeps_alive(options, is_old=is_old)
        self.keeps_alive = keeps_alive and self.method != "CONNECT"
        self._frame(is_old=is_old)
        has_body = not self.complete
        self.expects_continue = has_body and not is_old and headers.get("Expect", "").lower() == "100-continue"
        return RequestStartLine(self.method, target, self.version), fields

    def read_body(self, received: bytearray) -> bytes:
        """Takes what belongs to the body from the front of what was received; raises `MalformedMessage`.

        Returns nothing if more must be received first, or if the request is complete.
        """
        if self._chunk is not None:
            return self._read_chunks(received)
        piece = self._take(received, 0)
        del received[: len(piece)]
        self.complete = self._remaining == 0
        return piece

    def _frame(self, *, is_old: bool) -> None:
        """Finds out how the body is delimited (RFC 9112 6.3)."""
        length, coding = self.headers.get("Content-Length"), self.headers.get("Transfer-Encoding")
        if coding is not None:
            if length is not None:
                raise MalformedMessage("both Content-Length and Transfer-Encoding")
            if is_old:
                # RFC 9112 6.1: what stands before such a message may have read its length otherwise.
                raise MalformedMessage("Transfer-Encoding in HTTP/1.0")
            if coding.lower() != "chunked":
                raise MalformedMessage("unsupported Transfer-Encoding")
            self._chunk, self.complete = _FIRST, False
        elif length is not None:
            self._remaining = content_length(length)
            self.complete = self._remaining == 0

    def _read_chunks(self, received: bytearray) -> bytes:
        pieces: list[bytes] = []
        at = 0
        while not self._in_trailers:
            if self._remaining:
                pieces.append(self._take(received, at))
                at += len(pieces[-1])
            size = None if self._remaining else self._begin_chunk(received, at)
            if size is None:
                break
            at += size
        del received[:at]
        if self._in_trailers:
            self._read_trailers(received)
        return b"".join(pieces)

    def _take(self, received: bytearray, at: int) -> bytes:
        with memoryview(received) as view:
            piece = bytes(view[at : at + self._remaining])
        self._remaining -= len(piece)
        return piece

    def _begin_chunk(self, received: bytearray, at: int) -> int | None:
        """Returns the length of the line before the next chunk; None if the line has not arrived."""
        assert self._chunk is not None
        whole, cut = self._chunk
        line = whole.match(received, at)
        if line is None:
            if len(received) - at > _LONGEST_CHUNK_LINE:
                raise MalformedMessage("the line of a chunk is malformed or too long")
            if not cut.fullmatch(received, at):
                raise MalformedMessage("the line of a chunk is malformed")
            return None
        self._chunk, self._remaining = _NEXT, int(line[1], 16)
        self._in_trailers = self._remaining == 0
        return line.end() - at

    def _read_trailers(self, received: bytearray) -> None:
        """Takes the trailers, which are dropped, as RFC 9110 6.5.1 allows."""
        end = 0 if received.startswith(b"\r\n") else received.find(b"\r\n\r\n") + 2
        if end == 1:
            if len(received) > _LONGEST_TRAILERS:
                raise MalformedMessage("the trailers are too long")
            return
        _read_fields(received[:end].decode("latin-1"))
        del received[: end + 2]
        self.complete = True


def _read_fields(lines: str) -> Pairs:
    """Returns the headers of these lines; raises `MalformedMessage`, `HeadTooLarge`."""
    if not _FIELDS.fullmatch(lines):
        raise MalformedMessage(_defect(lines))
    fields = _FIELD.findall(lines)
    if len(fields) > _MOST_HEADERS:
        raise HeadTooLarge(f"more than {_MOST_HEADERS} headers")
    return tuple([(spelt(name), value.strip(" \t")) for name, value in fields])


def _defect(lines: str) -> str:
    """Returns what is wrong in the first malformed line of headers, without quoting it."""
    well = _FIELDS.match(lines)
    line = lines[well.end() if well else 0 :]
    if line[:1] in (" ", "\t"):
        return "a header is folded, or has no name"
    return "a header has an invalid " + ("value" if re.match(f"{_TOKEN}:", line) else "name")


def _keeps_alive(connection: str, *, is_old: bool) -> bool:
    options = {option.strip().lower() for option in connection.split(",")}
    return "close" not in options and (not is_old or "keep-alive" in options)
