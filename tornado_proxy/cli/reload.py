"""Ask the running service to reload, wait until it has, and fail where it refuses the files."""

from __future__ import annotations

import argparse
import http.client
import json
import ssl
import sys
from contextlib import closing
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from tornado_proxy.cli.inputs import CommandError, add_timeout, load_settings
from tornado_proxy.cli.output import ExitStatus
from tornado_proxy.lang.excerpt import visible

_DEFAULT = "http://127.0.0.1:9090"
_SHOWN = 200  # characters of an answer that is not JSON
_LARGEST = 64 * 1024 * 1024  # bytes of an answer


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
        help=f"the admin listener (default: that of `--config`, else {_DEFAULT})",
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing unless the reload fails")
    add_timeout(parser, 80, "the reload may take")


def run(arguments: argparse.Namespace) -> int:
    """Reload; 1 if the service refuses the files, 2 if it cannot be asked."""
    try:
        url = arguments.admin or (_configured(arguments.config) if arguments.config else urlsplit(_DEFAULT))
        status, report = ask(url, "POST", "/-/reload", arguments.timeout)
    except CommandError as error:
        return error.report("reload")
    if status not in (200, 422):
        print(f"tornado-proxy reload: {url.geturl()} answered {status}: {visible(str(report))}", file=sys.stderr)
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


def admin_url(text: str) -> SplitResult:
    """The URL of an admin listener; `http://` may be left out."""
    try:
        url = urlsplit(text if "://" in text else f"http://{text}")
        usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        usable = False
    if not usable or url.username is not None or url.path.rstrip("/") or url.query or url.fragment:
        raise argparse.ArgumentTypeError(f"`{text}` is not the URL of an admin listener, such as `{_DEFAULT}`")
    return url


def ask(url: SplitResult, method: str, path: str, within: float) -> tuple[int, Any]:
    """The status and the content of an answer, JSON or text; raises `CommandError` where there is none."""
    assert url.hostname is not None
    try:
        with closing(_connection(url, url.hostname, within)) as connection:
            connection.request(method, path)
            answer = connection.getresponse()
            content = answer.read(_LARGEST).decode()
            is_json = answer.headers.get_content_type() == "application/json"
            return answer.status, json.loads(content) if is_json else content.strip()[:_SHOWN]
    except TimeoutError:
        reason = f"no answer within {within:g} s"
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    raise CommandError(ExitStatus.FAILED, f"{url.geturl()} cannot be asked: {reason}")


def _connection(url: SplitResult, host: str, within: float) -> http.client.HTTPConnection:
    if url.scheme == "http":
        return http.client.HTTPConnection(host, url.port, timeout=within)
    context = ssl.create_default_context()
    if _is_loopback(host):
        # No certificate names this machine's own address, and nobody stands in between.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(host, url.port, timeout=within, context=context)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
