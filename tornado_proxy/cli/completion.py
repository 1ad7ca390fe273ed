"""Print a script that completes command lines in a shell."""

from __future__ import annotations

import argparse

from tornado_proxy.cli.main import COMMANDS
from tornado_proxy.cli.options import all_options
from tornado_proxy.cli.shells import SHELLS
from tornado_proxy.cli.status import ExitStatus


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=tuple(SHELLS), help="the shell that is to read the script")


def run(arguments: argparse.Namespace) -> int:
    """Print the script; it is true for this version of the command."""
    for line in SHELLS[arguments.shell](COMMANDS, all_options()):
        print(line)
    return ExitStatus.CLEAN
