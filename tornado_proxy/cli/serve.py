"""Serve the buckets that a configuration names, until told to stop."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from pathlib import Path

from tornado_proxy.cli.diagnostics import show
from tornado_proxy.cli.status import ExitStatus
from tornado_proxy.service.loading import Loaded, load
from tornado_proxy.service.logs import configure_logging
from tornado_proxy.service.process import CannotListen, open_sockets, serve

_LOG = logging.getLogger("tornado_proxy")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="the configuration, in YAML")
    parser.add_argument("--check", action="store_true", help="read configuration and rules, say what is wrong, and end")


def run(arguments: argparse.Namespace) -> int:
    """Serve; the result is an exit status."""
    if not arguments.config.is_file():
        print(f"tornado-proxy: there is no file `{arguments.config}`", file=sys.stderr)
        return ExitStatus.FAILED
    loaded = load(arguments.config, os.environ)
    show(loaded.diagnostics)
    if not loaded.usable:
        return ExitStatus.FINDINGS
    if arguments.check:
        return ExitStatus.CLEAN
    return run_server(loaded)


def run_server(loaded: Loaded) -> int:
    """Serve what was loaded until the process is told to stop."""
    settings = loaded.settings
    assert settings is not None
    configure_logging(settings.log)
    try:
        sockets = open_sockets(settings.server)
    except CannotListen as error:
        print(f"tornado-proxy: {error}", file=sys.stderr)
        return ExitStatus.FAILED
    asyncio.run(serve(loaded, sockets, lambda url: _LOG.info("listening on %s", url)))
    return ExitStatus.CLEAN

