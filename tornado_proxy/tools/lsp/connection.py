"""The client's messages, from standard input to the server: whatever comes in has an answer or ends the session.

Pygls's own loop waits for good at a header that it cannot read, leaves requests without an answer whose parameters
are wrong, and cannot be interrupted while it reads.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, BinaryIO

from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcInvalidRequest, JsonRpcParseError
from pygls.io_ import StdoutWriter
from pygls.protocol import LanguageServerProtocol

from tornado_proxy.tools.lsp.frames import Frames

if TYPE_CHECKING:
    from tornado_proxy.tools.lsp.server import RulesServer

_PIECE = 65_536
_AHEAD = 16  # pieces that are read before those before them are worked on


class RulesProtocol(LanguageServerProtocol):
    """Pygls's protocol, which also answers what it cannot understand."""

    def handle_body(self, body: bytes) -> None:
        """Do what a message asks for; one that makes no sense is answered with an error (JSON-RPC 2.0, section 5.1)."""
        try:
            fields = json.loads(body)
        except ValueError:
            self._refuse(None, JsonRpcParseError())
            return
        if not isinstance(fields, dict) or "jsonrpc" not in fields:
            self._refuse(None, JsonRpcInvalidRequest())
            return
        try:
            message = self.structure_message(fields)
        except JsonRpcException:
            # There is nobody to tell about a notification, nor about an answer.
            if "id" in fields and "method" in fields:
                self._refuse(fields["id"], JsonRpcInvalidParams())
            return
        self.handle_message(message)

    def _refuse(self, identifier: Any, error: JsonRpcException) -> None:
        known = identifier if isinstance(identifier, (int, str)) else None
        self._send_data({"jsonrpc": self.VERSION, "id": known, "error": error.to_response_error()})


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
    pieces: asyncio.Queue[bytes] = asyncio.Queue(_AHEAD)
    loop = asyncio.get_running_loop()

    def read() -> None:
        piece = b"x"
        while piece:
            piece = os.read(descriptor, _PIECE)
            asyncio.run_coroutine_threadsafe(pieces.put(piece), loop).result()

    threading.Thread(target=read, name="standard input", daemon=True).start()
    while piece := await pieces.get():
        yield piece
