"""Reads the client's messages from standard input for the server, until the client leaves or sends nonsense.

Pygls's own loop waits for ever at a header that it cannot read, and cannot be interrupted while it reads.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO

from pygls.io_ import StdoutWriter

from tornado_proxy.tools.lsp.server import RulesProtocol, RulesServer

LARGEST = 256 * 1024 * 1024
"""The most bytes that a message may have."""

_LONGEST_HEADER = 16 * 1024
_HEADER_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"(?:^|\r\n)content-length[ \t]*:[ \t]*(\d{1,12})[ \t]*(?=\r\n|$)", re.IGNORECASE)


class BadFrame(Exception):
    """The stream cannot be split into messages; the text says why."""


@dataclass(slots=True)
class Frames:
    """Takes a stream apart, however it is cut."""

    _left: bytearray = field(default_factory=bytearray)
    _length: int | None = None  # of the message whose header has been read

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The messages that a piece of the stream completes; raises `BadFrame`."""
        self._left += chunk
        while (message := self._next()) is not None:
            yield message

    def _next(self) -> bytes | None:
        if self._length is None:
            self._length = self._header()
        if self._length is None or len(self._left) < self._length:
            return None
        message = bytes(self._left[: self._length])
        del self._left[: self._length]
        self._length = None
        return message

    def _header(self) -> int | None:
        """The length in a header; None where the header is not whole yet."""
        end = self._left.find(_HEADER_END, 0, _LONGEST_HEADER)
        if end < 0:
            if len(self._left) >= _LONGEST_HEADER:
                raise BadFrame(f"a message's header is longer than {_LONGEST_HEADER} bytes")
            return None
        found = _LENGTH.search(bytes(self._left[:end]))
        if found is None:
            raise BadFrame("a message's header has no `Content-Length` that is a number")
        if int(found[1]) > LARGEST:
            raise BadFrame(f"a message has {int(found[1])} bytes, more than {LARGEST}")
        del self._left[: end + len(_HEADER_END)]
        return int(found[1])


_PIECE = 65_536
_AHEAD = 16  # pieces that are read before those before them are worked on


def serve(server: RulesServer, given: BinaryIO, answers: BinaryIO) -> None:
    """Answer until the client leaves; raises `BadFrame`, and `KeyboardInterrupt` at once."""
    server.protocol.set_writer(StdoutWriter(answers))
    try:
        asyncio.run(_serve(server, given.fileno()))
    except SystemExit:
        pass  # how pygls ends at the notification `exit`
    finally:
        server.shutdown()


async def _serve(server: RulesServer, descriptor: int) -> None:
    protocol = server.protocol
    assert isinstance(protocol, RulesProtocol)
    frames = Frames()
    async for piece in _pieces(descriptor):
        for body in frames.feed(piece):
            protocol.handle_body(body)


async def _pieces(descriptor: int) -> AsyncIterator[bytes]:
    """What can be read, to its end.

    The thread that reads is a daemon, which no end of the process waits for; it holds no lock of a buffered stream.
    """
    pieces: asyncio.Queue[bytes] = asyncio.Queue()
    ahead = threading.Semaphore(_AHEAD)
    loop = asyncio.get_running_loop()

    def read() -> None:
        piece = b"x"
        # A loop that was interrupted takes nothing more.
        with suppress(RuntimeError):
            while piece:
                ahead.acquire()
                piece = os.read(descriptor, _PIECE)
                loop.call_soon_threadsafe(pieces.put_nowait, piece)

    threading.Thread(target=read, name="standard input", daemon=True).start()
    while piece := await pieces.get():
        ahead.release()
        yield piece
