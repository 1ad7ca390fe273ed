"""One client's connection: Tornado's HTTP/1, but for what it would answer without us.

Tornado writes a bare status line for a head that it cannot parse, and closes without a word when a head is too long.
Here such a head is handed on with its mistake, to be answered, counted and logged as any other request. The private
methods that this takes are pinned by tests.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from tornado.http1connection import HTTP1Connection, HTTP1ConnectionParameters, is_transfer_encoding_chunked
from tornado.httputil import (
    HTTPHeaders,
    HTTPInputError,
    HTTPServerConnectionDelegate,
    RequestStartLine,
    parse_request_start_line,
)
from tornado.iostream import IOStream, SSLIOStream, StreamClosedError, UnsatisfiableReadError

from tornado_proxy.config.model import Limits
from tornado_proxy.gateway.errors import HeadTooLarge, MalformedMessage
from tornado_proxy.routing.errors import RequestError

# What stands in for a head with a mistake; the connection ends with its answer.
_STAND_IN = "GET / HTTP/1.1"
_STAND_IN_HEADERS = {"Host": "", "Connection": "close"}

_LONGEST_HEAD = 1024 * 1024  # bytes; up to here a head that is too long gets an answer
_NO_LIMIT = 2**63 - 1  # bytes; uploads are bounded as they arrive, by what their target allows
_LENGTH = re.compile(r"([0-9]{1,18})(?:,[ \t]*\1)*")

# What Tornado says begins with the first of a pair; the second is told instead.
_WORDS = (
    ("Malformed HTTP request line", "the request line breaks the grammar of HTTP"),
    ("Unexpected HTTP version", "the request is of another version of HTTP"),
    ("Invalid header name", "a header's name holds a character that none may"),
    ("Invalid header value", "a header's value holds a character that none may"),
    ("header line cannot start with whitespace", "a header goes on in a second line"),
    ("no colon in header line", "a header has no colon"),
    ("Missing Host header", "there is no Host"),
    ("Multiple host headers", "there is more than one Host"),
    ("Invalid Host header", "the Host is none"),
    ("Invalid query string", "the query has too many parameters"),
    ("Message with both", "the body has both a Content-Length and a Transfer-Encoding"),
    ("Unsupported Transfer-Encoding", "the Transfer-Encoding is not `chunked`"),
)
_ANY_OTHER = "the head breaks the grammar of HTTP"


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end, in the words that Tornado's request asks its connection for."""

    remote_ip: str
    protocol: str


class Connection(HTTP1Connection):
    """One request and its answer on a connection that may carry more."""

    def __init__(self, stream: IOStream, peer: Peer, limits: Limits) -> None:
        parameters = HTTP1ConnectionParameters(
            max_header_size=max(_LONGEST_HEAD, limits.max_header_size),
            header_timeout=limits.idle_timeout,
            max_body_size=_NO_LIMIT,
        )
        super().__init__(stream, is_client=False, params=parameters, context=peer)
        self.mistake: RequestError | None = None
        self.started = False  # whether a head has arrived
        self._limit = limits.max_header_size
        self._is_last = False

    def close_after_answer(self) -> None:
        """Take no more requests: the answer says `Connection: close`, unless its head is under way already."""
        self._is_last = True
        self._disconnect_on_finish = True

    def _can_keep_alive(self, start_line: RequestStartLine, headers: HTTPHeaders) -> bool:
        # RFC 9110 7.6.1: `close` may be one option of several, where Tornado looks for it alone.
        options = {option.strip().lower() for option in headers.get("Connection", "").split(",")}
        return not self._is_last and "close" not in options and super()._can_keep_alive(start_line, headers)

    def _parse_headers(self, data: bytes) -> tuple[str, HTTPHeaders]:
        self.started = True
        try:
            return self._checked(data)
        except RequestError as error:
            self.mistake = error
        except HTTPInputError as error:
            self.mistake = malformed(error)
        return _STAND_IN, HTTPHeaders(_STAND_IN_HEADERS)

    def _checked(self, data: bytes) -> tuple[str, HTTPHeaders]:
        if len(data) > self._limit:
            raise HeadTooLarge(f"the head is longer than {self._limit} bytes")
        start_line, headers = super()._parse_headers(data)
        _settle_expectation(parse_request_start_line(start_line).version, headers)
        # RFC 9112 6: Tornado looks at the framing only once the request has begun.
        is_transfer_encoding_chunked(headers)
        if "Content-Length" in headers and not _LENGTH.fullmatch(headers["Content-Length"]):
            raise MalformedMessage("the Content-Length is no number")
        return start_line, headers


def malformed(error: HTTPInputError) -> MalformedMessage:
    """What Tornado found wrong, in words of ours: its own repeat what was sent, credentials too."""
    said = str(error)
    return MalformedMessage(next((ours for theirs, ours in _WORDS if said.startswith(theirs)), _ANY_OTHER))


def _settle_expectation(version: str, headers: HTTPHeaders) -> None:
    """RFC 9110 10.1.1: HTTP/1.0 expects nothing, and else case does not count, where Tornado knows one case."""
    if headers.get("Expect", "").lower() == "100-continue":
        del headers["Expect"]
        if version != "HTTP/1.0":
            headers["Expect"] = "100-continue"


class ServerConnection:
    """A client's connection, served request by request until one side closes it."""

    def __init__(self, stream: IOStream, address: object, limits: Limits) -> None:
        self._stream = stream
        self._limits = limits
        self._peer = Peer(_ip(address), "https" if isinstance(stream, SSLIOStream) else "http")
        self._closing = False
        self._current = self._await_request()

    async def serve(self, delegate: HTTPServerConnectionDelegate) -> None:
        """Serve requests; `delegate` is asked to start each."""
        try:
            while await self._current.read_response(delegate.start_request(self, self._current)):
                if self._closing:
                    break
                self._current = self._await_request()
                await asyncio.sleep(0)  # a client that pipelines must not keep the others waiting
        except (StreamClosedError, UnsatisfiableReadError):
            pass
        finally:
            self._stream.close()

    def _await_request(self) -> Connection:
        return Connection(self._stream, self._peer, self._limits)

    def wind_down(self) -> None:
        """Serve one request more at most: the one under way, or one that is on its way."""
        self._closing = True
        self._current.close_after_answer()

    def close_if_idle(self) -> None:
        """Close at once, unless a request is under way."""
        if not self._current.started:
            self._stream.close()

    def cut(self) -> None:
        """Close at once, whatever is under way."""
        self._stream.close()


def _ip(address: object) -> str:
    """The IP address of a socket's peer; nothing for a Unix socket, whose peers have none."""
    return str(address[0]) if isinstance(address, tuple) and address else ""
