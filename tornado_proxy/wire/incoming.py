"""A message as it arrives: the head of a request or of an answer, then its body piece by piece.

Where a message ends is decided here, by Content-Length and Transfer-Encoding alone (RFC 9112 6), and whatever another
parser could read otherwise is refused. llhttp is not asked: it ends a request after its head where `Connection` and
`Upgrade` offer another protocol, and does not say where a body in chunks has ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import inf
from typing import AnyStr

from tornado.httputil import HTTPHeaders, RequestStartLine

from tornado_proxy.routing.request import RequestError
from tornado_proxy.wire import limits

# RFC 9112 3; `routing.request.read_address` decides which targets are valid.
TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"  # noqa: S105 - a grammar rule, no secret
_LINE = re.compile(rf"({TOKEN}) ([\x21-\x7e\x80-\xff]+) HTTP/1\.([0-9])\r\n")
# RFC 9112 4; servers leave out the reason, some with the space before it.
_STATUS = re.compile(rb"HTTP/1\.(?P<minor>[0-9]) (?P<status>[1-9][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*+)?\r\n")
# RFC 9112 5, without folded lines.
_FIELD = re.compile(rf"({TOKEN}):([\t\x20-\x7e\x80-\xff]*+)\r\n")
_FIELDS = re.compile(rf"(?:{_FIELD.pattern})*")
# The headers of an answer stay bytes: S3 has UTF-8 in some of them.
_RAW_FIELD, _RAW_FIELDS = (re.compile(each.pattern.encode()) for each in (_FIELD, _FIELDS))
# RFC 3986 3.2.2, but for the comma: several Host headers may have been joined by one (RFC 9112 3.2).
HOST = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+;=:\[\]]++|%[0-9A-Fa-f]{2})*")
_LENGTH = re.compile(r"[0-9]{1,18}")
# RFC 9112 7.1, without the spaces that its 7.1.1 allows: parsers disagree about them. No CRLF precedes the
# first chunk.
_QUOTED = rb'"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"'
_NAME = TOKEN.encode()
_CHUNK = rb"([0-9A-Fa-f]{1,16})(?:;%b(?:=(?:%b|%b))?)*\r\n" % (_NAME, _NAME, _QUOTED)
_CUT_CHUNK = rb"[0-9A-Fa-f]{0,16}(?:;[^\r\n]*+)?\r?"  # what may still become the line of one
_FIRST = (re.compile(_CHUNK), re.compile(_CUT_CHUNK))
_NEXT = (re.compile(rb"\r\n%b" % _CHUNK), re.compile(rb"\r?|\r\n%b" % _CUT_CHUNK))

TOO_SLOW = f"the client read less than {limits.LEAST_RATE} bytes a second"

Pairs = tuple[tuple[str, str], ...]


def spelt(name: str) -> str:
    """Returns the name of a header as it is usually spelt: each word with a capital."""
    return _kept(name) if len(name) <= limits.LONGEST_NAME_KEPT else _capitalized(name)


def _capitalized(name: str) -> str:
    return "-".join([word.capitalize() for word in name.split("-")])


_kept = lru_cache(limits.HEADER_NAMES_KEPT)(_capitalized)


class Fields(HTTPHeaders):
    """Header fields in order, which do not change; a look-up takes the name in any case, and joins values by a comma.

    `HTTPHeaders` checks and copies each field, which costs more than all else that a small file needs. The maker of
    these has checked them: `pairs` are kept as they are, and so is the mapping that it may have `joined` already.
    """

    def __init__(self, pairs: Pairs = (), joined: dict[str, str] | None = None) -> None:
        self._pairs = pairs
        self._joined = joined

    def get_all(self) -> Pairs:
        """Returns all names and values, in order."""
        return self._pairs

    def get_list(self, name: str) -> list[str]:
        """Returns the values of a name, in order."""
        return [value for each, value in self._pairs if spelt(each) == spelt(name)]

    def add(self, name: str, value: str, **_options: object) -> None:
        """Raises `TypeError`."""
        raise TypeError(f"`{name}: {value}` cannot be added to the head of a message")

    __setitem__ = add

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override] # no other default is used
        """Returns the value of a name."""
        return (self._joined or self.joined).get(_kept(name), default)

    def __getitem__(self, name: str) -> str:
        return self.joined[spelt(name)]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and spelt(name) in self.joined

    def __iter__(self) -> Iterator[str]:
        return iter(self.joined)

    def __len__(self) -> int:
        return len(self.joined)

    @property
    def joined(self) -> dict[str, str]:
        """The fields as a mapping, with names spelt like `Content-Type`."""
        if self._joined is None:
            joined: dict[str, str] = {}
            for sent, value in self._pairs:
                name = spelt(sent)
                joined[name] = f"{joined[name]},{value}" if name in joined else value
            self._joined = joined
        return self._joined


class MalformedMessage(RequestError):
    """A head or the framing of a body that breaks the grammar of HTTP (RFC 9112)."""


class HeadTooLarge(RequestError):
    """Request line and headers together are longer than the limit (RFC 6585 5)."""

    status = 431


class ClientDisconnected(RequestError):
    """A client that closed the connection, or stopped taking the answer."""

    status = 499  # nobody sees it; operators know it from nginx

    def __init__(self, reason: str = "the client closed the connection") -> None:
        super().__init__(reason)


def content_length(text: str) -> int:
    """Returns the number of bytes that a Content-Length announces; raises `MalformedMessage`."""
    if not _LENGTH.fullmatch(text):
        raise MalformedMessage("the Content-Length is invalid, or there are several")
    return int(text)


class MessageParser:
    """Reads one message: its head once, then `read_body` with what follows, until the message is `complete`.

    `keeps_alive` says whether another message may follow on the connection (RFC 9112 9.3). `remaining` are the bytes
    that are missing of the body, or of its chunk.
    """

    keeps_alive = False
    complete = True
    remaining: float = 0
    _chunk: tuple[re.Pattern[bytes], re.Pattern[bytes]] | None = None  # the next line of a body in chunks
    _in_trailers = False

    @property
    def is_plain(self) -> bool:
        """Whether the rest of the body is the next bytes, as many as are missing."""
        return not self.complete and self._chunk is None

    def read_body(self, received: bytearray) -> bytes:
        """Takes what belongs to the body from the front of what was received; raises `MalformedMessage`.

        Returns nothing if more must be received first, or if the message is complete.
        """
        if self._chunk is None:
            piece = self.cut_body(received)
            del received[: len(piece)]
            return piece
        pieces: list[bytes] = []
        at = 0
        while not self._in_trailers:
            if self.remaining:
                with memoryview(received) as view:
                    pieces.append(self.cut_body(view[at:]))
                at += len(pieces[-1])
            size = None if self.remaining else self._begin_chunk(received, at)
            if size is None:
                break
            at += size
        del received[:at]
        if self._in_trailers:  # which are dropped, as RFC 9110 6.5.1 allows
            end = 0 if received.startswith(b"\r\n") else received.find(b"\r\n\r\n") + 2
            if end != 1:
                _read_lines(bytes(received[:end]), _RAW_FIELD, _RAW_FIELDS)
                del received[: end + 2]
                self.complete = True
            elif len(received) > limits.LONGEST_TRAILERS:
                raise MalformedMessage("the trailers are too long")
        return b"".join(pieces)

    def cut_body(self, received: bytearray | memoryview) -> bytes:
        """Returns what belongs to the body, which is not in chunks, from the front of what was received."""
        remaining = self.remaining
        if len(received) < remaining:
            self.remaining -= len(received)
            return bytes(received)
        with memoryview(received) as view:
            piece = bytes(view[: int(remaining)])
        self.remaining, self.complete = 0, self._chunk is None
        return piece

    def _frame(self, length: str | None, coding: str | None, *, is_old: bool) -> None:
        """Finds out by Content-Length and Transfer-Encoding how the body is delimited (RFC 9112 6.3)."""
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
            self.remaining = content_length(length)
            self.complete = self.remaining == 0

    def _begin_chunk(self, received: bytearray, at: int) -> int | None:
        """Returns the length of the line before the next chunk; None if the line has not arrived."""
        assert self._chunk is not None
        whole, cut = self._chunk
        line = whole.match(received, at)
        if line is None:
            if len(received) - at > limits.LONGEST_CHUNK_LINE:
                raise MalformedMessage("the line of a chunk is malformed or too long")
            if not cut.fullmatch(received, at):
                raise MalformedMessage("the line of a chunk is malformed")
            return None
        self._chunk, self.remaining = _NEXT, int(line[1], 16)
        self._in_trailers = self.remaining == 0
        return line.end() - at


class RequestParser(MessageParser):
    """Reads one request: `read_head` once, then its body.

    `method` and `version` are known once the request line was read, even where the rest of the head cannot be.
    `expects_continue` says whether the client waits for a 100 before it sends its body; one of HTTP/1.0 does not (RFC
    9110 10.1.1).
    """

    method = ""
    version = "HTTP/1.1"
    expects_continue = False

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
        lines = _read_lines(text[line.end() : -2], _FIELD, _FIELDS)
        fields = Fields(tuple([(spelt(name), value.strip(" \t")) for name, value in lines]))
        is_old, headers = self.version == "HTTP/1.0", fields.joined
        host, options = headers.get("Host"), headers.get("Connection")
        # RFC 9112 3.2
        if host is None and not is_old:
            raise MalformedMessage("the Host header is missing")
        if host is not None and not HOST.fullmatch(host):
            raise MalformedMessage("the Host header is invalid, or there are several")
        # What follows a CONNECT may be another protocol's, whose bytes somebody else chose.
        self.keeps_alive = _keeps_alive(options, is_old=is_old) and self.method != "CONNECT"
        if "Content-Length" in headers or "Transfer-Encoding" in headers:
            self._frame(headers.get("Content-Length"), headers.get("Transfer-Encoding"), is_old=is_old)
            expected = headers.get("Expect", "").lower()
            self.expects_continue = expected == "100-continue" and not self.complete and not is_old
        return RequestStartLine(self.method, target, self.version), fields


class ResponseParser(MessageParser):
    """Reads one answer: `read_head` for each interim one and for the final one, then its body.

    `status` is 0 before the final head was read. Header names are in lower case; repeated ones have their values joined
    by commas.
    """

    def __init__(self, *, is_head_only: bool) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.ends_with_connection = False
        self._is_head_only = is_head_only

    def read_head(self, head: bytes) -> None:
        """Reads a status line and the headers, with the empty line; raises `HeadTooLarge`, `MalformedMessage`.

        Some interim answers (RFC 9110 15.2) may come before the final one; none changes the protocol, which no request
        asks for.
        """
        line = _STATUS.match(head)
        if line is None or line["status"] == b"101":
            raise MalformedMessage("malformed status line")
        if not head.endswith(b"\r\n\r\n"):
            raise MalformedMessage("a line ends without a carriage return")
        lines = _read_lines(head[line.end() : -2], _RAW_FIELD, _RAW_FIELDS)
        headers = {name.lower(): value.strip(b" \t") for name, value in lines}
        if len(headers) < len(lines):
            headers = _joined(lines)
        status, is_old = int(line["status"]), line["minor"] == b"0"
        if status < 200:
            return
        self.status, self.headers = status, headers
        options = _text(headers.get(b"connection"))
        self.keeps_alive = _keeps_alive(options, is_old=is_old)
        length, coding = _text(headers.get(b"content-length")), _text(headers.get(b"transfer-encoding"))
        self._frame(length, coding, is_old=is_old)
        if self._is_head_only or status in (204, 304):
            self.remaining, self._chunk, self.complete = 0, None, True
        elif length is None and coding is None:
            self.remaining, self.complete = inf, False
            self.ends_with_connection, self.keeps_alive = True, False


def _joined(lines: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Returns headers of which some are repeated."""
    headers: dict[bytes, list[bytes]] = {}
    for name, value in lines:
        headers.setdefault(name.lower(), []).append(value.strip(b" \t"))
    return {name: b", ".join(values) for name, values in headers.items()}


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")


def _read_lines(lines: AnyStr, field: re.Pattern[AnyStr], fields: re.Pattern[AnyStr]) -> list[tuple[AnyStr, AnyStr]]:
    """Returns the names and values in these lines of headers; raises `MalformedMessage`, `HeadTooLarge`."""
    if not fields.fullmatch(lines):
        raise MalformedMessage(_defect(lines))
    headers: list[tuple[AnyStr, AnyStr]] = field.findall(lines)
    if len(headers) > limits.MOST_HEADERS:
        raise HeadTooLarge(f"more than {limits.MOST_HEADERS} headers")
    return headers


def _defect(headers: str | bytes) -> str:
    """Returns what is wrong in the first malformed line of headers, without quoting it."""
    lines = headers if isinstance(headers, str) else headers.decode("latin-1")
    well = _FIELDS.match(lines)
    line = lines[well.end() if well else 0 :]
    if line[:1] in (" ", "\t"):
        return "a header is folded, or has no name"
    return "a header has an invalid " + ("value" if re.match(f"{TOKEN}:", line) else "name")


def _keeps_alive(connection: str | None, *, is_old: bool) -> bool:
    if connection is None:
        return not is_old
    options = {option.strip().lower() for option in connection.split(",")}
    return "close" not in options and (not is_old or "keep-alive" in options)
