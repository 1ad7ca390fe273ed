"""The admin listener from its start to its end, beside a service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from socket import socket
from ssl import SSLContext
from typing import TYPE_CHECKING

from tornado_proxy.config.model import Settings
from tornado_proxy.service.reload.background import in_background
from tornado_proxy.service.run.process import Process
from tornado_proxy.telemetry.events import ReloadReport
from tornado_proxy.wire.tls import make_context

if TYPE_CHECKING:
    from tornado_proxy.admin.administration import Administration
    from tornado_proxy.admin.server import AdminServer

_LARGEST_BODY = 1024 * 1024  # bytes: a draft of rules in a form


@asynccontextmanager
async def admin_listener(process: Process, sockets: Sequence[socket]) -> AsyncIterator[None]:
    """Answers operators on listening sockets."""
    administration, server = await in_background(_prepared, process)

    def renew(report: ReloadReport) -> None:
        if report.is_new:
            server.ssl_options = _tls(process.serving.configuration.settings)

    process.bus.add(renew, ReloadReport)
    server.add_sockets(sockets)
    sampling = asyncio.get_running_loop().create_task(administration.sample())
    try:
        yield
    finally:
        sampling.cancel()
        server.stop()
        await server.close_all_connections()


def _prepared(process: Process) -> tuple[Administration, AdminServer]:
    """Makes the server; clients' first requests do not wait for these imports."""
    from tornado_proxy.admin.administration import Administration  # noqa: PLC0415
    from tornado_proxy.admin.application import admin_application  # noqa: PLC0415
    from tornado_proxy.admin.server import AdminServer  # noqa: PLC0415

    administration = Administration(process)
    # Tornado reads `ssl_options` for each connection, so that a renewed context can replace it. Whether it speaks TLS
    # at all is fixed here.
    tls = _tls(process.serving.configuration.settings)
    return administration, AdminServer(admin_application(administration), ssl_options=tls, max_body_size=_LARGEST_BODY)


def _tls(settings: Settings) -> SSLContext | None:
    ssl = settings.internal_server.ssl
    return make_context(ssl) if ssl and ssl.enabled else None
