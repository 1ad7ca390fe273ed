"""Ask the running service to reload, wait until it has, and fail where it refuses the files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from tornado_proxy.cli.admin import DEFAULT_URL, AdminListener, add_tls_arguments, admin_url
from tornado_proxy.cli.inputs import CommandError, add_timeout, load_settings
from tornado_proxy.cli.output import ExitStatus
from tornado_proxy.lang.excerpt import visible


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="the service's configuration, which says where its admin listener is",
    )
    parser.add_argument(
        "--admin",
        type=admin_url,
        metavar="URL",
        help=f"the admin listener, or `unix:FILE` (default: that of `--config`, else {DEFAULT_URL})",
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing unless the reload fails")
    add_timeout(parser, 80, "the reload may take")
    add_tls_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Reload; 1 if the service refuses the files, 2 if it cannot be asked."""
    try:
        url = arguments.admin or (_configured(arguments.config) if arguments.config else urlsplit(DEFAULT_URL))
        listener = AdminListener.of(url, arguments)
        status, report = listener.ask("POST", "/-/reload", arguments.timeout)
    except CommandError as error:
        return error.report("reload")
    if status not in (200, 422):
        print(
            f"tornado-proxy reload: {listener.url.geturl()} answered {status}: {visible(str(report))}", file=sys.stderr
        )
        return ExitStatus.FAILED
    if status == 422 or not arguments.quiet:
        print(*_diagnostics(report), sep="", end="", file=sys.stderr)
    if status == 422:
        print(f"refused: generation {report['generation']} stays in force", file=sys.stderr)
        return ExitStatus.FINDINGS
    for name in report["restartNeededFor"]:
        print(f"`{visible(name)}` changed, and needs a restart to take effect", file=sys.stderr)
    if not arguments.quiet:
        loaded = f", loaded at {report['loadedAt']}" if report["outcome"] == "unchanged" else ""
        print("\n".join([f"generation {report['generation']} is in force{loaded}", *map(visible, report["changes"])]))
    return ExitStatus.CLEAN


def _diagnostics(report: dict[str, Any]) -> list[str]:
    lines = []
    for each in report["diagnostics"]:
        place = f"{each['file']}:{each['line']}:{each['column']}: " if each["file"] else ""
        lines.append(visible(f"{place}{each['severity']}[{each['code']}] {each['message']}") + "\n")
        if each["help"]:
            lines.append(f"  help: {visible(each['help'])}\n")
    return lines


def _configured(path: Path) -> SplitResult:
    """The admin listener that a configuration names; raises `CommandError`.

    Where the configuration has mistakes, they are reported here: the service would refuse it too.
    """
    listener = load_settings(path).internal_server
    if not listener.port:
        raise CommandError(
            ExitStatus.FAILED, "`internalServer.port` is 0, any free port: name the listener with `--admin`"
        )
    host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(listener.address, listener.address)  # noqa: S104 - where it listens
    shown = f"[{host}]" if ":" in host else host
    return urlsplit(f"{'https' if listener.speaks_tls else 'http'}://{shown}:{listener.port}")
