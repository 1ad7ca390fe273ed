"""The application inside another Tornado program: built from a configuration file, and reloaded when files change."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from tornado_proxy.rules.diagnostic import Diagnostic, render
from tornado_proxy.service.building import Unbuildable
from tornado_proxy.service.reloading import Reloader
from tornado_proxy.service.runtime import guarded
from tornado_proxy.service.serving import SingleProcess
from tornado_proxy.service.snapshot import SnapshotReader, compile_snapshot, tolerant_of_dates
from tornado_proxy.service.trials import run_rule_tests
from tornado_proxy.service.watching import follow
from tornado_proxy.web.handlers import ProxyApplication


class ConfigurationError(Exception):
    """A configuration that cannot be used; the text shows each mistake with its place."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("\n".join(map(render, diagnostics)))
        self.diagnostics = diagnostics


def application(config: str | Path) -> ProxyApplication:
    """Returns the application of a configuration file, and follows edits until its `close` is awaited.

    Call it on a running event loop. The listeners of the configuration are not opened: the program serves the
    application as it likes. Raises `ConfigurationError`.
    """
    reader = SnapshotReader(Path(config).absolute(), dict(os.environ))
    configuration = tolerant_of_dates(run_rule_tests(compile_snapshot(reader())), None, time.time())
    if not configuration.usable:
        raise ConfigurationError(configuration.diagnostics)
    try:
        serving = SingleProcess(configuration)
    except Unbuildable as error:
        raise ConfigurationError(error.diagnostics) from None
    reloader = Reloader(serving, reader, serving.emit, renew=reader.renewed)

    async def run() -> None:
        await serving.start((), inherited=False)
        await guarded("following edits", partial(follow, reloader))

    running = asyncio.get_running_loop().create_task(run())

    async def close() -> None:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        await serving.wind_down(serving.configuration.settings.server.grace_period)

    serving.application.closing.push_async_callback(close)
    return serving.application
