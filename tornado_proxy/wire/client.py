"""What connections of clients have in common, in all versions of HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from msgspec.structs import replace
from tornado.httputil import HTTPServerConnectionDelegate

from tornado_proxy.config.server import Limits
from tornado_proxy.semantics.forwarded import Origin
from tornado_proxy.wire.limits import LEAST_RATE, READ_OF_CLIENT
from tornado_proxy.wire.reading import ReadingProtocol
from tornado_proxy.wire.tls import shown_certificate

Notify = Callable[[Any], None]


class ClientConnection(ReadingProtocol):
    """A connection of a client, whose requests `application` answers.

    `peer` is the origin of the requests before any trusted proxy. `on_idle` is called whenever no request is under way
    any more, `on_close` once, when it is closed.
    """

    def __init__(
        self, application: HTTPServerConnectionDelegate, peer: Origin, limits: Limits, on_close: Notify, on_idle: Notify
    ) -> None:
        super().__init__(READ_OF_CLIENT)
        self.peer = peer
        self._application = application
        self._limits = limits
        self._on_close = on_close
        self._on_idle = on_idle
        self._unsent = 0  # bytes, when that was last looked at
        # Of no request: what a request notes, such as its calls to S3, is not for those that the client sends after it.
        self._variables = copy_context()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Notes the certificate of who has connected."""
        super().connection_made(transport)
        self.peer = replace(self.peer, certificate=shown_certificate(transport))

    # What the server asks.

    def wind_down(self) -> None:
        """Serves what is on its way, and no more."""

    def close_if_idle(self) -> None:
        """Takes no further request, and closes at once unless one is being answered."""

    def close(self) -> None:
        """Closes the connection at once."""

    def time(self) -> float:
        """Returns the time of the loop in seconds."""
        return self._loop.time()

    # For subclasses.

    def _unsent_bytes(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def _keeps_pace(self) -> bool:
        """Whether the client has read enough since the last look, `sendTimeout` ago."""
        before, self._unsent = self._unsent, self._unsent_bytes()
        return before - self._unsent >= LEAST_RATE * self._limits.send_timeout
