"""Bytes of clients and of S3 that other parsers may frame differently, and what h11 and this service read of them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

import h11
from hypothesis import strategies as st
from memory_store import MemoryStore
from serving import WRITABLE, Serving, serve


class Read(NamedTuple):
    """A request that a parser has read to its end."""

    method: str
    path: str
    body: bytes | int  # the number of its bytes, where they are not kept


class Answer(NamedTuple):
    """An answer that a parser has read to its end."""

    status: int
    body: bytes


SMUGGLED = b"DELETE /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"

_METHODS = ("GET", "PUT", "PUT", "PUT", "DELETE", "HEAD", "POST", "OPTIONS", "CONNECT", "PRI", "BREW", "get")
_VERSIONS = ("1.1",), ("1.0", "1.2", "2.0")
_BODIES = (b"", b"", SMUGGLED, b"abc", b"\r\n", b"0\r\n\r\n", b"GET ")
# In each: what is usual first, then what some parser somewhere reads otherwise. `%d` and `%x` are the length.
_LENGTHS = ("Content-Length: %d", "Content-Length:%d", "content-length:\t%d "), (
    "Content-Length: 0%d", "Content-Length: +%d", "Content-Length: -%d", "Content-Length : %d", " Content-Length: %d", "Content-Length: %d, %d",
    "Content-Length: %d,", "Content-Length: %d\x0b", "Content-Length: 0x%x", "Content-Length: %d.0", "Content-Length: 1_%d", "Content-Length: \xb2%d",
    "Content-Length: %d\xa0", "Content_Length: %d", "Content-Length: %d;x", "Content-Length: %d %d", "Content-Length:\r\n %d", "Content-Length: \n%d",
    "X: y\rContent-Length: %d", "X: y\nContent-Length: %d", "Content-Length: 18446744073709551616%d", "Content-Length\x00: %d", "Content-Length: '%d'",
    "Content-Length: ", "\r\nContent-Length: %d",
)  # fmt: skip
_CODINGS = ("Transfer-Encoding: chunked", "Transfer-Encoding:chunked", "transfer-encoding:\tChunked "), (
    "Transfer-Encoding : chunked", " Transfer-Encoding: chunked", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: identity",
    "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, identity", "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked;x=y",
    "Transfer-Encoding: \x0bchunked", "Transfer-Encoding: chunked\x0b", "Transfer-Encoding: \xa0chunked", "Transfer-Encoding:\r\n chunked",
    'Transfer-Encoding: "chunked"', "Transfer_Encoding: chunked", "Transfer-Encoding: ,chunked", "Transfer-Encoding: chunked,", "Transfer-Encoding:",
    "X: y\rTransfer-Encoding: chunked", "X: y\nTransfer-Encoding: chunked", "Transfer-Encoding\t: chunked", "TE: chunked", "\nTransfer-Encoding: chunked",
)  # fmt: skip
_OTHERS = (
    "Connection: upgrade", "Connection: Upgrade, HTTP2-Settings", "Connection: keep-alive, upgrade", "Connection: close, upgrade", "Proxy-Connection: upgrade",
    "Upgrade: websocket", "Upgrade: h2c", "Upgrade: TLS/1.0, HTTP/1.1", "Upgrade:", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA", "Sec-WebSocket-Key: AAAA",
    "Connection: close", "Connection: keep-alive", "Proxy-Connection: keep-alive", "Connection: content-length", "Connection: transfer-encoding, te",
    "Connection:", 'Connection: "close"', "Expect: 100-continue", "Expect: 100-Continue, x", "Expect: 200-ok", "TE: trailers", "Trailer: Expires",
    "X:", "Max-Forwards: 0", "Content-Encoding: gzip", "Content-Type: multipart/byteranges; boundary=b", "X-HTTP-Method-Override: GET", "X: \xff",
), ("X: y\r\n z", "X: \x00", "X: \x7f", "X: \x1f", "X: y\rz", "X y: z", "X", ": x", "Host: h", "\xff: x", "X: y\r\n\tz", "X: \x80\x85")  # fmt: skip
_ENDS = ("\r\n",), ("\n", "\r", "\r\r\n", "\n\r", " \r\n", "\x0b\r\n", "\x85\r\n", "\r\n\r\n")
_CHUNK_LINES = ("%x", "%X", "0%x", "%x;a=b", '%x;a="b;c"', "%x;a"), (
    "%x ", " %x", "%x;", "%x ;a", "+%x", "-%x", "0x%x", "%x\x0b", "%x_", "%x;a\rb", "%x;a\nb", '%x;a="\r\n"', "%x\t", "1000000000000000%x",
    "%x,%x", "%x;\x00", "%x;\xff", "", "%x; a=b", "%x;;a", '%x;a="\\"', '%x;a="b',
)  # fmt: skip
_CHUNK_ENDS = ("\r\n",), ("\n", "\r", "", "\r\r\n", "XX", "\n\r", " \r\n")
_TRAILERS = ("", "", "X: y\r\n"), (
    "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Connection: upgrade\r\nUpgrade: h2c\r\n", "X\r\n", " X: y\r\n", "X : y\r\n",
    "X: y\n", "X: \x00\r\n", "X: y\r\n z\r\n", "Host: other\r\n", "Connection: close\r\n", "\n", "\r",
)  # fmt: skip


def _pick(choices: tuple[tuple[str, ...], tuple[str, ...]], odd: int = 25) -> st.SearchStrategy[str]:
    """One of the usual spellings, or once in `odd` times one of the others."""
    return st.integers(1, odd).flatmap(lambda number: st.sampled_from(choices[number == odd]))


def _with(form: str, number: int) -> bytes:
    return form.replace("%d", str(number)).replace("%x", f"{number:x}").replace("%X", f"{number:X}").encode("latin-1")


@st.composite
def _chunked(draw: Callable, body: bytes) -> bytes:
    pieces = [piece for piece in ((body[:2], body[2:]) if draw(st.booleans()) else (body,)) if piece]
    line, end = (lambda: draw(_pick(_CHUNK_LINES))), (lambda: draw(_pick(_CHUNK_ENDS)).encode())
    chunks = [_with(line(), len(piece)) + end() + piece + end() for piece in pieces]
    return b"".join((*chunks, _with(line(), 0), end(), draw(_pick(_TRAILERS, 8)).encode(), end()))


@st.composite
def _message(draw: Callable, first: str, headers: tuple[bytes, ...], bodies: tuple[bytes, ...]) -> tuple[bytes, bytes]:
    """The head of a message that begins with a line and has some headers, and its framed body."""
    body = draw(st.sampled_from(bodies))
    framing = draw(st.sampled_from(("length", "chunks") * 4 + ("both", "none")))
    count = st.sampled_from((1,) * 9 + (2,))
    lines = [*headers, *(draw(_pick(_OTHERS)).encode("latin-1") for _ in range(draw(st.integers(0, 3))))]
    if framing in ("length", "both"):
        length = len(body) + draw(st.sampled_from((0,) * 20 + (1, -1)))
        lines += [_with(draw(_pick(_LENGTHS, 6)), max(0, length)) for _ in range(draw(count))]
    if framing in ("chunks", "both"):
        lines += [draw(_pick(_CODINGS, 6)).encode("latin-1") for _ in range(draw(count))]
        body = draw(_chunked(body))
    lines = [first.encode("latin-1"), *draw(st.permutations(lines)), b""]
    return b"".join(each + draw(_pick(_ENDS, 60)).encode("latin-1") for each in lines), body


@st.composite
def _request(draw: Callable, number: int) -> bytes:
    line = f"{draw(st.sampled_from(_METHODS))} /{number} HTTP/{draw(_pick(_VERSIONS, 9))}"
    return b"".join(draw(_message(line, (b"Host: h",), _BODIES)))


@st.composite
def conversations(draw: Callable) -> bytes:
    """What one client sends: one to three requests, and one that is only there if it was not read as a body."""
    requests = [draw(_request(number)) for number in range(draw(st.integers(1, 3)))]
    return b"".join((*requests, b"GET /last HTTP/1.1\r\nHost: h\r\n\r\n"))


def read_by_h11(data: bytes) -> list[Read]:
    """The requests that h11 reads; the last one may be incomplete, and then its body is what there was of it."""
    reads: list[Read] = []
    goes_on = True
    while data and goes_on:
        connection = h11.Connection(h11.SERVER)
        connection.receive_data(data)
        connection.receive_data(b"")
        goes_on = False
        with suppress(h11.RemoteProtocolError):
            goes_on = _read_one(connection, reads)
        data = connection.trailing_data[0]
        while data.startswith(b"\r\n"):
            data = data[2:]  # RFC 9112 2.2; h11 reads no empty line before a request
    return reads


def _read_one(connection: h11.Connection, reads: list[Read]) -> bool:
    """Reads a request; whether another one may follow it."""
    while True:
        match connection.next_event():
            case h11.Request(method=method, target=target):
                reads.append(Read(method.decode(), target.decode(), b""))
            case h11.Data(data=piece):
                reads[-1] = reads[-1]._replace(body=reads[-1].body + bytes(piece))
            case h11.EndOfMessage():
                # It keeps no connection of HTTP/1.0 open, as others may.
                is_old = connection.their_http_version == b"1.0"
                connection.send(h11.Response(status_code=400, headers=[("Content-Length", "0")]))
                connection.send(h11.EndOfMessage())
                return is_old or connection.their_state is h11.DONE
            case _:
                return False


class Reader:
    """This service, as a client meets it: bytes go in, and it says which requests it has answered."""

    def __init__(self, site: Serving, store: _Writes) -> None:
        self._site = site
        self._store = store
        self.url = f"http://127.0.0.1:{site.port}"
        self.stored = store.written

    async def read(self, data: bytes) -> list[Read]:
        """The requests that were answered and not refused as malformed, in their order."""
        self._site.events.clear()
        self._store.written.clear()
        loop = asyncio.get_running_loop()
        with socket.create_connection(("127.0.0.1", self._site.port)) as client:
            client.setblocking(False)
            await loop.sock_sendall(client, data)
            with suppress(OSError):
                client.shutdown(socket.SHUT_WR)
                while await loop.sock_recv(client, 1 << 16):
                    pass
        while self._site.application.in_flight:  # noqa: ASYNC110 - only tests wait for this
            await asyncio.sleep(0)
        return [self._read(event) for event in self._site.events if event.status not in (400, 431, 499)]

    def _read(self, event: object) -> Read:
        request = event.request
        is_kept = not event.is_error and request.method == "PUT"
        body = self._store.written[request.path] if is_kept else event.received
        return Read(request.method, request.path, body)


class _Writes(MemoryStore):
    """A store that also notes what was written to each path."""

    def __init__(self) -> None:
        super().__init__()
        self.written: dict[str, bytes] = {}

    async def put(self, key, chunks, *arguments):
        kept = b""

        async def noting():
            nonlocal kept
            async for chunk in chunks:
                kept += chunk
                yield chunk

        result = await super().put(key, noting(), *arguments)
        self.written[f"/{key}"] = kept
        return result


@asynccontextmanager
async def reader() -> AsyncIterator[Reader]:
    """Runs the service with uploads of any name and removals."""
    store = _Writes()
    async with serve(store, actions=WRITABLE) as site:
        yield Reader(site, store)


def disagreement(ours: list[Read], theirs: list[Read]) -> str:
    """What this service has read otherwise than another parser; empty if nothing: it may only have read less."""
    for number, mine in enumerate(ours):
        if number == len(theirs):
            return f"only this service reads {mine}"
        other = theirs[number]
        body = mine.body if isinstance(mine.body, bytes) else len(other.body)
        is_early = number == len(ours) - 1 and isinstance(mine.body, int) and mine.body < len(other.body)
        if (mine.method, mine.path) != other[:2] or (isinstance(mine.body, bytes) and body != other.body):
            return f"this service reads {mine}, the other {other}"
        if isinstance(mine.body, int) and mine.body != len(other.body) and not is_early:
            return f"this service reads {mine.body} bytes, the other {other}"
    return ""


_STATUS_LINES = ("HTTP/1.1 200 OK", "HTTP/1.1 206 Partial Content", "HTTP/1.1 404 Not Found", "HTTP/1.1 204 No Content"), (
    "HTTP/1.1 304 Not Modified", "HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.0 200 OK", "HTTP/1.1 99 Odd", "HTTP/1.1 101 Switching Protocols", "HTTP/1.1  200 OK",
    "HTTP/1.1 2000 OK", "HTTP/1.1 +20 OK", "HTTP/2 200 OK", "http/1.1 200 OK", " HTTP/1.1 200 OK", "HTTP/1.1 200 O\x00K", "HTTP/1.1 200 O\rK", "ICY 200 OK",
)  # fmt: skip
_INTERIM = ("", "", ""), (
    "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Hints\r\nLink: a\r\n\r\n", "HTTP/1.1 103 Hints\r\nContent-Length: 3\r\n\r\n", "\r\n",
)  # fmt: skip
_ANSWER_BODIES = (b"", b"abc", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", b"0\r\n\r\n", b"\r\n")


@st.composite
def _answer(draw: Callable, method: str) -> bytes:
    line = draw(_pick(_STATUS_LINES, 8))
    head, body = draw(_message(line, (), _ANSWER_BODIES))
    is_bodiless = method == "HEAD" or " 204" in line or " 304" in line
    has_body = not is_bodiless or draw(st.integers(0, 9)) == 0
    return draw(_pick(_INTERIM, 8)).encode() + head + (body if has_body else b"")


@st.composite
def dialogues(draw: Callable) -> tuple[bytes, list[str]]:
    """The bytes that S3 sends on a connection, and the methods of the requests; the last request gets no answer."""
    methods = draw(st.lists(st.sampled_from(("GET", "GET", "HEAD")), min_size=1, max_size=3))
    return b"".join([draw(_answer(method)) for method in methods]), [*methods, "GET"]


def read_answers_by_h11(data: bytes, methods: list[str]) -> list[Answer]:
    """The answers that h11 reads to their ends."""
    answers: list[Answer] = []
    connection = h11.Connection(h11.CLIENT)
    connection.receive_data(data)
    connection.receive_data(b"")
    with suppress(h11.ProtocolError):
        for method in methods:
            connection.send(h11.Request(method=method, target="/", headers=[("Host", "h")]))
            connection.send(h11.EndOfMessage())
            answers += _answers_of_one(connection)
            connection.start_next_cycle()
    return answers


def _answers_of_one(connection: h11.Connection) -> list[Answer]:
    """The answer to a request, if it is complete."""
    status, body = 0, b""
    while True:
        match connection.next_event():
            case h11.InformationalResponse():
                pass
            case h11.Response(status_code=status):
                pass
            case h11.Data(data=piece):
                body += bytes(piece)
            case h11.EndOfMessage():
                return [Answer(status, body)]
            case _:
                return []


def disagreement_about_answers(ours: list[Answer], theirs: list[Answer]) -> str:
    """What this service has read otherwise than another parser; empty if nothing: it may only have read less."""
    for number, mine in enumerate(ours):
        if number == len(theirs):
            return f"only this service reads {mine}"
        if mine != theirs[number]:
            return f"this service reads {mine}, the other {theirs[number]}"
    return ""
