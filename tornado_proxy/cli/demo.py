"""The command that serves sample objects from an S3 in the process, with the gallery of rules, on loopback."""

from __future__ import annotations

import argparse
import logging
import shlex
import shutil
import sys
import textwrap
from dataclasses import replace
from functools import partial

from tornado_proxy.cli.output import CommandError, ExitStatus, show
from tornado_proxy.cli.serve import explained
from tornado_proxy.config.server import Listener, Log
from tornado_proxy.service.demo import PASSWORD, gallery, open_demo_sockets, read_demo, sample_s3
from tornado_proxy.service.logs import configure_logging
from tornado_proxy.service.process import Launch
from tornado_proxy.service.process import run as run_process
from tornado_proxy.service.runtime import end_process, run_event_loop
from tornado_proxy.service.serving import SingleProcess
from tornado_proxy.service.snapshot import compile_snapshot
from tornado_proxy.service.sockets import CannotListen, Sockets, open_sockets
from tornado_proxy.telemetry.log import EVENTS


def demo_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument(
        "--port", type=_port, help="the port on loopback; 0 is any free one (default: 8080 if it is free)"
    )
    parser.add_argument("--quiet", action="store_true", help="do not log requests")


def run_demo(arguments: argparse.Namespace) -> int:
    """Serves the demo until it is stopped."""
    try:
        with sample_s3() as endpoint:
            return _serve(arguments, endpoint)
    except ModuleNotFoundError as error:
        advice = "install it with `pip install '.[demo]'` in a checkout"
        raise CommandError(f"the extra `demo` is missing ({error.name}); {advice}") from error


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > 0xFFFF:
        raise argparse.ArgumentTypeError(f"`{text}` is not a port, which is a number from 0 to 65535")
    return int(text)


def _serve(arguments: argparse.Namespace, endpoint: str) -> int:
    read = partial(read_demo, endpoint)
    loaded = compile_snapshot(read())
    show(loaded.diagnostics)
    if not loaded.usable or loaded.settings is None:
        return ExitStatus.FINDINGS
    try:
        sockets = _open(loaded.settings.server, arguments.port)
        admin = open_demo_sockets(loaded.settings.internal_server)
    except CannotListen as error:
        raise CommandError(str(error)) from error
    configure_logging(Log(level="warning" if arguments.quiet else "info"))
    # The requests and edits that a newcomer makes are shown; that the process serves, the text below says better.
    logging.getLogger("tornado_proxy").setLevel(logging.WARNING)
    logging.getLogger(EVENTS).setLevel(logging.INFO)
    logging.getLogger("tornado_proxy.access").setLevel(logging.WARNING if arguments.quiet else logging.INFO)
    launch = Launch(loaded, sockets, admin, read, _announce, explain=explained)
    run_event_loop(_run(launch), loaded.settings.server.event_loop)
    return end_process(ExitStatus.CLEAN)


def _open(listener: Listener, port: int | None) -> Sockets:
    """Opens the given port, or else the usual one or any that is free."""
    return open_demo_sockets(listener) if port is None else open_sockets(replace(listener, port=port))


def _announce(url: str, admin: str) -> None:
    print(_welcome(url, admin), flush=True)


async def _run(launch: Launch) -> None:
    await run_process(launch, SingleProcess(launch.loaded))


def _command() -> str:
    """Returns how a shell calls this program, which may not be on the PATH."""
    return "tornado-proxy" if shutil.which("tornado-proxy") else f"{shlex.quote(sys.executable)} -m tornado_proxy"


def _welcome(url: str, admin: str) -> str:
    return textwrap.dedent(f"""\
        The demo is ready. Open this in a browser:

          {url}/
          {url}/releases/      a listing, with previews and downloads of directories
          {url}/team/home/     files to upload and delete, for ann, whose password is {PASSWORD}

        or try, in another terminal:

          curl -s {url}/press/spring.html                # an old address: the rewrite `press` knows the new key
          curl -sI {url}/releases/latest/tool.tar.gz     # `latest` is a link that one edit moves on
          curl -s '{url}/releases/nightly/?format=text'  # a listing, the first of its pages
          curl -s -H 'Accept: application/json' {url}/releases/
          curl -s -r 0-9 {url}/releases/2.1.0/notes.txt  # a range
          curl -s -u ann:{PASSWORD} {url}/team/home/plan.txt       # ben, with the same password, has another plan
          curl -s -u ann:{PASSWORD} -X PUT -F file=@README.md {url}/team/home/
          curl -s -u ann:{PASSWORD} -X DELETE {url}/team/home/README.md

        Why a path leads where it does:

          {_command()} explain /team/home/plan.txt --config {gallery() / "demo.yaml"} --user ann

        The rules are in {gallery()}: edit one, save it, and ask again.
        What is in force, and what it does: {admin}/-/
        Stop with Ctrl-C.
        """)
