"""Serve the buckets that a configuration names, until told to stop."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from functools import partial
from pathlib import Path

from tornado_proxy.cli.diagnostics import show
from tornado_proxy.cli.status import ExitStatus
from tornado_proxy.config.model import Settings
from tornado_proxy.service.fleet import Fleet
from tornado_proxy.service.listening import CannotListen, Sockets, named, open_sockets
from tornado_proxy.service.loading import compile_sources
from tornado_proxy.service.logs import configure_logging
from tornado_proxy.service.process import Launch
from tornado_proxy.service.process import run as run_process
from tornado_proxy.service.serving import Serving, Solo
from tornado_proxy.service.sources import Sources, read_settled
from tornado_proxy.service.systemd import Notifier, inherited_sockets

_LOG = logging.getLogger("tornado_proxy")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="the configuration, in YAML")
    parser.add_argument("--name-generation", action="store_true", help="name the generation in a header of each answer")
    parser.add_argument(
        "--workers", type=_count, default=1, metavar="N", help="processes that answer requests (default: 1)"
    )
    parser.add_argument("--check", action="store_true", help="read configuration and rules, say what is wrong, and end")


def run(arguments: argparse.Namespace) -> int:
    """Serve; the result is an exit status."""
    if not arguments.config.is_file():
        print(f"tornado-proxy: there is no file `{arguments.config}`", file=sys.stderr)
        return ExitStatus.FAILED
    environment = dict(os.environ)
    sources = read_settled(arguments.config, environment)
    loaded = compile_sources(sources)
    show(loaded.diagnostics)
    if not loaded.usable or loaded.settings is None:
        return ExitStatus.FINDINGS
    if arguments.check:
        return ExitStatus.CLEAN
    configure_logging(loaded.settings.log)
    try:
        launch = Launch(
            loaded,
            *_sockets(loaded.settings),
            read=partial(read_settled, arguments.config, environment),
            announce=_announce,
            notifier=Notifier.from_environment(environment),
        )
    except CannotListen as error:
        print(f"tornado-proxy: {error}", file=sys.stderr)
        return ExitStatus.FAILED
    asyncio.run(_serve(launch, sources, arguments))
    return ExitStatus.CLEAN


async def _serve(launch: Launch, sources: Sources, arguments: argparse.Namespace) -> None:
    serving: Serving
    if arguments.workers > 1:
        serving = Fleet(sources, launch.sockets, arguments.workers, name_generation=arguments.name_generation)
    else:
        serving = Solo(launch.loaded, launch.sockets, name_generation=arguments.name_generation)
    await run_process(launch, serving)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"`{text}` is no number of processes")
    return int(text)


def _announce(url: str, admin: str) -> None:
    _LOG.info("the admin listener is %s", admin)
    _LOG.info("listening on %s", url)


def _sockets(settings: Settings) -> tuple[Sockets, Sockets]:
    """The sockets for requests and for the admin listener: the service manager's, or those of the configuration."""
    inherited = inherited_sockets(os.environ, os.getpid())
    given = inherited.get("http") or inherited.get("unknown")
    admin = inherited.get("admin")
    return (
        named(given) if given else open_sockets(settings.server),
        named(admin) if admin else open_sockets(settings.internal_server),
    )
