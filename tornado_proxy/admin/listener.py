"""The admin listener beside a service; it answers even if requests have taken every other descriptor of the process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from socket import AF_UNIX, socket
from ssl import SSLContext
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream

from tornado_proxy.admin.administration import Administration
from tornado_proxy.admin.application import admin_application
from tornado_proxy.admin.limits import LARGEST_BODY, SPARE
from tornado_proxy.config.model import Settings
from tornado_proxy.service.run.process import Process
from tornado_proxy.telemetry.events import ReloadReport
from tornado_proxy.wire.server import Acceptor
from tornado_proxy.wire.tls import make_context


@asynccontextmanager
async def admin_listener(process: Process, sockets: Sequence[socket]) -> AsyncIterator[None]:
    """Answers operators on listening sockets."""
    administration = Administration(process)
    # Tornado reads `ssl_options` for each connection, so that a renewed context can replace it. Whether it speaks TLS
    # at all is fixed here.
    tls = _tls(process.serving.configuration.settings)
    server = AdminServer(admin_application(administration), ssl_options=tls, max_body_size=LARGEST_BODY)

    def renew(report: ReloadReport) -> None:
        if report.is_new:
            server.ssl_options = _tls(process.serving.configuration.settings)

    process.bus.add(renew, ReloadReport)
    server.add_sockets(sockets)
    sampling = process.start_task("taking samples for the status page", administration.sample)
    try:
        yield
    finally:
        sampling.cancel()
        server.stop()
        await server.close_all_connections()


def _tls(settings: Settings) -> SSLContext | None:
    ssl = settings.internal_server.ssl
    return make_context(ssl) if ssl and ssl.enabled else None


class AdminServer(HTTPServer):
    """An HTTP server that keeps back a few descriptors for its connections.

    Sockets in the file system have no TLS: their permissions say who may use them.
    """

    def initialize(self, *arguments: Any, **options: Any) -> None:
        """Takes what `HTTPServer` takes; called by Tornado."""
        super().initialize(*arguments, **options)
        self._acceptor = Acceptor("connections to the admin listener", self._handle_connection, self._make_room)
        self._wanted = SPARE
        self._spare: list[int] = []

    def add_sockets(self, sockets: Iterable[socket]) -> None:
        """Accepts connections on sockets that do not block."""
        IOLoop.current()  # imports modules, for which there may be no descriptor later
        self._fill()
        self._acceptor.add_sockets(sockets)

    def stop(self) -> None:
        """Accepts no more, and closes the sockets."""
        self._acceptor.stop(leave_queue=True)
        self._wanted = 0
        while self._spare:
            os.close(self._spare.pop())

    def on_close(self, server_conn: object) -> None:
        """Keeps the descriptor of a connection that has ended; called by Tornado."""
        super().on_close(server_conn)
        asyncio.get_running_loop().call_soon(self._fill)

    def _handle_connection(self, connection: socket, address: Any) -> None:
        if connection.family == AF_UNIX:
            self.handle_stream(IOStream(connection), address)
        else:
            super()._handle_connection(connection, address)
        self._fill()

    def _make_room(self) -> bool:
        """Gives up a spare descriptor; if a thread takes it before the connection does, the next one is given up."""
        if not self._spare:
            return False
        os.close(self._spare.pop())
        return True

    def _fill(self) -> None:
        with suppress(OSError):
            while len(self._spare) < self._wanted:
                self._spare.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
