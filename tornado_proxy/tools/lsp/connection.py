"""The client's messages, from standard input to the server, until the client leaves or makes no sense.

Pygls's own loop waits for good at a header that it cannot read, and cannot be interrupted while it reads.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import BinaryIO

from pygls.io_ import StdoutWriter

from tornado_proxy.tools.lsp.frames import Frames
from tornado_proxy.tools.lsp.protocol import RulesProtocol
from tornado_proxy.tools.lsp.server import RulesServer

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
