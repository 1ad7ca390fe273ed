"""The one place that writes to a client: head and body in pieces, each flushed before the next is made."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import assert_never, cast

from tornado.iostream import StreamClosedError
from tornado.web import RequestHandler

from tornado_proxy.gateway.answer import Answer, Headers, Streamed, Whole
from tornado_proxy.gateway.body import Body
from tornado_proxy.gateway.connection import Connection
from tornado_proxy.gateway.errors import Departed

_PIECE = 64 * 1024  # bytes; a client is expected to take so many within the send timeout

# A connection that is closed over unread bytes is reset, and its client may never see the answer (RFC 9112 9.6).
_LINGER_IDLE = 5.0  # seconds
_LINGER_TOTAL = 30.0  # seconds


class Reply:
    """An answer on its way: nothing may be changed once it has `started`."""

    def __init__(self, handler: RequestHandler, body: Body, headers: Headers, send_timeout: float) -> None:
        self.started = False
        self.sent = 0  # bytes of the body
        self._handler = handler
        self._connection = cast("Connection", handler.request.connection)
        self._body = body
        self._headers = headers
        self._send_timeout = send_timeout

    async def send(self, answer: Answer) -> None:
        """Write a whole answer; raises `Departed`, and what the body of a streamed one raises."""
        self._prepare(answer)
        match answer:
            case Whole():
                await self._write(answer.body)
            case Streamed():
                await self._stream(answer)
            case _:
                assert_never(answer)
        await self._finish()

    def cut(self) -> None:
        """Close the connection: the only way to say that what was sent is not the whole."""
        self._connection.close()

    def _prepare(self, answer: Answer) -> None:
        handler = self._handler
        handler.clear()
        handler.set_status(answer.status)
        for name, value in (*self._headers, *answer.headers):
            handler.add_header(name, value)
        if self._body.outstanding:
            # The answer comes before the body: ask for no more of it, and take no further request.
            handler.request.headers.pop("Expect", None)
            self._connection.close_after_answer()

    async def _stream(self, answer: Streamed) -> None:
        try:
            async for chunk in answer.opened.chunks():
                await self._write(chunk)
            if not self.started:
                await self._write(b"")
        finally:
            await answer.opened.close()

    async def _write(self, chunk: bytes) -> None:
        # Tornado leaves the body of a HEAD's answer out; it must not be counted either.
        for piece in _pieces(b"" if self._handler.request.method == "HEAD" else chunk):
            self._handler.write(piece)
            await self._flush()
            self.sent += len(piece)

    async def _flush(self) -> None:
        self.started = True
        try:
            async with asyncio.timeout(self._send_timeout):
                await self._handler.flush()
        except TimeoutError:
            raise Departed(f"the client took nothing for {self._send_timeout:g} seconds") from None
        except StreamClosedError:
            raise Departed("the client went away") from None

    async def _finish(self) -> None:
        # Tornado keeps no connection whose request it has not read to its end.
        self._body.discard()
        await self._body.drained(_LINGER_IDLE, _LINGER_TOTAL)
        self._handler.finish()


def _pieces(chunk: bytes) -> Iterator[bytes]:
    if len(chunk) <= _PIECE:
        yield chunk
        return
    for start in range(0, len(chunk), _PIECE):
        yield chunk[start : start + _PIECE]
