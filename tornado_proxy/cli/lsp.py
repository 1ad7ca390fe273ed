"""Speak the Language Server Protocol on standard input and output: what editors start."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from tornado_proxy.cli.inputs import CommandError, load_settings
from tornado_proxy.cli.output import ExitStatus
from tornado_proxy.service.runtime import end_process

if TYPE_CHECKING:
    from tornado_proxy.config.model import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "paths",
        type=Path,
        nargs="*",
        metavar="PATH",
        help="rule files and directories of them that are read together (default: those of `--config`, else the "
        "directory that an open file stands in)",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="a configuration, which allows more checks")
    parser.add_argument("--stdio", action="store_true", help="nothing else is spoken: many editors add this by habit")


def run(arguments: argparse.Namespace) -> int:
    """Serve until the editor leaves; 2 where there is nothing to serve with."""
    try:
        from tornado_proxy.tools.lsp.server import rules_server  # noqa: PLC0415 - pygls is an extra
    except ModuleNotFoundError as error:
        advice = "install it with `pip install '.[lsp]'` in a checkout"
        print(f"tornado-proxy lsp: the extra `lsp` is missing ({error.name}); {advice}", file=sys.stderr)
        return ExitStatus.FAILED
    try:
        settings = load_settings(arguments.config) if arguments.config else None
    except CommandError as error:
        return error.report("lsp")
    # Editors show what comes on standard error; pygls would log every message.
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    # Pygls reads in a thread that waits for the editor, so an interrupt could not end the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    rules_server(version("tornado-proxy"), _places(arguments.paths, settings), settings).start_io()
    return end_process(ExitStatus.CLEAN)


def _places(given: list[Path], settings: Settings | None) -> list[Path]:
    return given or (list(settings.rules) if settings else [])
