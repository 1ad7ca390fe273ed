"""The one place that writes to a client: head and body in pieces, each flushed before the next is made."""

from __future__ import annotations

from collections.abc import Iterator
from http.client import responses
from typing import assert_never

from tornado.httputil import HTTPHeaders, ResponseStartLine

from tornado_proxy.gateway.answer import Answer, Headers, Streamed, Whole
from tornado_proxy.gateway.connection import Connection
from tornado_proxy.gateway.errors import ClientDisconnected

_PIECE = 64 * 1024  # bytes; a client is expected to take this much within the send timeout


class Reply:
    """An answer on its way: nothing may be changed once it has `started`."""

    def __init__(self, connection: Connection, headers: Headers, *, is_head: bool) -> None:
        self.started = False
        self.sent = 0  # bytes of the body
        self._connection = connection
        self._headers = headers
        self._is_head = is_head

    async def send(self, answer: Answer) -> None:
        """Write a whole answer; raises `ClientDisconnected`, and what the body of a streamed one raises."""
        match answer:
            case Whole():
                await self._write(answer, answer.body)
            case Streamed():
                await self._stream(answer)
            case _:
                assert_never(answer)
        self._connection.finish()

    def cut(self) -> None:
        """Close the connection: the only way to say that what was sent is not the whole."""
        self._connection.close()

    def broken_by(self) -> ClientDisconnected:
        """Why the client gets no more."""
        mistake = self._connection.mistake
        return mistake if isinstance(mistake, ClientDisconnected) else ClientDisconnected("the connection was cut")

    async def _stream(self, answer: Streamed) -> None:
        try:
            async for chunk in answer.opened.chunks():
                await self._write(answer, chunk)
            if not self.started:
                await self._write(answer, b"")
        finally:
            await answer.opened.close()

    async def _write(self, answer: Answer, chunk: bytes) -> None:
        for piece in _pieces(b"" if self._is_head else chunk):
            if self.started:
                await self._connection.write(piece)
            else:
                self.started = True
                await self._connection.write_headers(_start_line(answer.status), self._all_headers(answer), piece)
            self.sent += len(piece)

    def _all_headers(self, answer: Answer) -> HTTPHeaders:
        headers = HTTPHeaders()
        for name, value in (*self._headers, *answer.headers):
            # Several times cheaper than `add`, which checks what the connection checks as a whole.
            if name not in headers:
                headers[name] = value
            else:
                headers.add(name, value)
        return headers


def _start_line(status: int) -> ResponseStartLine:
    return ResponseStartLine("HTTP/1.1", status, responses.get(status, "Unknown"))


def _pieces(chunk: bytes) -> Iterator[bytes]:
    if len(chunk) <= _PIECE:
        yield chunk
        return
    for start in range(0, len(chunk), _PIECE):
        yield chunk[start : start + _PIECE]
