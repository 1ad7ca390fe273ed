"""The one place that writes to a client: head and body in pieces, each flushed before the next is made."""

from __future__ import annotations

from typing import assert_never

from tornado_proxy.gateway.answer import Answer, Headers, Streamed, Whole
from tornado_proxy.gateway.connection import Connection
from tornado_proxy.gateway.errors import ClientDisconnected


class Reply:
    """An answer on its way: nothing may be changed once it has `started`."""

    def __init__(self, connection: Connection, headers: Headers) -> None:
        self.started = False
        self.sent = 0  # bytes of the body
        self._connection = connection
        self._headers = headers

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
            if answer.is_chunked:
                await self._connection.write(b"0\r\n\r\n")
        finally:
            await answer.opened.close()

    async def _write(self, answer: Answer, chunk: bytes) -> None:
        piece = b"" if self._connection.is_head else chunk
        framed = b"%x\r\n%b\r\n" % (len(piece), piece) if answer.is_chunked and piece else piece  # RFC 9112 7.1
        if self.started:
            await self._connection.write(framed)
        else:
            self.started = True
            await self._connection.write_head(answer.status, (*self._headers, *answer.headers), framed)
        self.sent += len(piece)
