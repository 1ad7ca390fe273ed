"""The command that has a running service reload, and how commands call an admin listener."""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import ssl
import sys
from contextlib import closing
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from tornado_proxy.cli.inputs import DEFAULT_URL, load_settings
from tornado_proxy.cli.limits import ANSWER_SHOWN, LARGEST_ANSWER
from tornado_proxy.cli.output import CommandError, ExitStatus
from tornado_proxy.config.model import Settings
from tornado_proxy.rules.diagnostic import visible

# A listener that demands a certificate may close the connection before its alert is read.
_TURNED_AWAY = (ssl.SSLError, ConnectionResetError, BrokenPipeError)


class AdminListener(msgspec.Struct, frozen=True):
    """The admin listener of a service; `context` is None without TLS."""

    url: SplitResult
    context: ssl.SSLContext | None = None
    is_shown_certificate: bool = False

    def ask(self, method: str, path: str, within: float, *other_statuses: int) -> tuple[int, dict[str, Any]]:
        """Returns the JSON object of an answer with its status, 200 or one of the others; raises `CommandError`."""
        try:
            with closing(_ListenerConnection(self, within)) as connection:
                connection.request(method, path)
                answer = connection.getresponse()
                content = answer.read(LARGEST_ANSWER).decode()
                kind = answer.headers.get_content_type()
                if kind == "application/json" and answer.status in (200, *other_statuses):
                    report = json.loads(content)
                    if isinstance(report, dict):
                        return answer.status, report
                reason = visible(content.strip()[:ANSWER_SHOWN])
                if kind == "text/html":  # as errors have where requests are served
                    reason = "a page; is it the port of `internalServer`?"
                raise CommandError(f"{self.url.geturl()} answered {answer.status}: {reason}")
        except TimeoutError:
            reason = f"no answer within {within:g} s"
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = _reason(error)
            if self.context and not self.is_shown_certificate and isinstance(error, _TURNED_AWAY):
                reason += "; if it demands a certificate, present one with `--cert`"
        raise CommandError(f"{self.url.geturl()} cannot be reached: {reason}")


class _ListenerConnection(http.client.HTTPConnection):
    """A connection to an admin listener."""

    def __init__(self, listener: AdminListener, within: float) -> None:
        url, usual_port = listener.url, 443 if listener.context else 80
        super().__init__(url.hostname or "localhost", url.port or usual_port, timeout=within)
        self.default_port = usual_port  # which `http.client` leaves out of Host
        self._listener = listener

    def connect(self) -> None:
        """Connects; called by `http.client`."""
        listener = self._listener
        if listener.url.scheme == "unix":
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(self.timeout)
            self.sock.connect(listener.url.path)
        else:
            self.sock = socket.create_connection((self.host, self.port), self.timeout)
        if listener.context is not None:
            self.sock = listener.context.wrap_socket(self.sock, server_hostname=self.host)


def _context(host: str, tls: argparse.Namespace) -> ssl.SSLContext:
    if tls.key and not tls.cert:
        raise CommandError("`--key` needs `--cert`")
    try:
        context = ssl.create_default_context(cafile=tls.ca)
        if tls.cert:
            # Without a passphrase OpenSSL would ask for one on the terminal.
            context.load_cert_chain(tls.cert, tls.key, bytes)
    except OSError as error:
        listed = ", ".join(f"`{each}`" for each in (tls.cert, tls.key, tls.ca) if each)
        # OpenSSL gives no reason if a file is not PEM.
        is_pem = not isinstance(error, ssl.SSLError) or error.reason
        reason = _reason(error) if is_pem else "it needs a certificate and its private key, in PEM"
        raise CommandError(f"{listed} cannot be used for TLS: {reason}") from error
    if _is_loopback(host):
        # No certificate is for a loopback address, and nobody can intercept such a connection.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED if tls.ca else ssl.CERT_NONE
    return context


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted, {error.verify_message}: name its authority with `--ca`"
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).lower().replace("_", " ")
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listener_at(arguments: argparse.Namespace, settings: Settings | None) -> AdminListener:
    """Returns the admin listener of `--admin`, else of a configuration or the usual one; raises `CommandError`."""
    url = arguments.admin or (_configured(settings) if settings else urlsplit(DEFAULT_URL))
    if url.scheme != "https":
        return AdminListener(url)
    return AdminListener(url, _context(url.hostname or "", arguments), is_shown_certificate=arguments.cert is not None)


def run_reload(arguments: argparse.Namespace) -> int:
    """Reloads; returns 1 if the service refuses the files."""
    settings = load_settings(arguments.config) if arguments.config else None
    status, report = listener_at(arguments, settings).ask("POST", "/-/reload", arguments.timeout, 422)
    for each in report["diagnostics"] if status == 422 or not arguments.quiet else ():
        place = f"{each['file']}:{each['line']}:{each['column']}: " if each["file"] else ""
        print(visible(f"{place}{each['severity']}[{each['code']}] {each['message']}"), file=sys.stderr)
        if each["help"]:
            print(f"  help: {visible(each['help'])}", file=sys.stderr)
    if status == 422:
        print(f"refused: generation {report['generation']} stays in force", file=sys.stderr)
        return ExitStatus.FINDINGS
    for name, reason in report.get("targetsDown", {}).items():
        print(f"the bucket of target `{visible(name)}` cannot be used: {visible(reason)}", file=sys.stderr)
    for name in report["restartNeededFor"]:
        print(f"`{visible(name)}` changed, and needs a restart to take effect", file=sys.stderr)
    if not arguments.quiet:
        loaded = f", loaded at {report['loadedAt']}" if report["outcome"] != "loaded" else ""
        print(f"generation {report['generation']} is in force{loaded}")
        print(*(f"{visible(each)}\n" for each in report["changes"]), sep="", end="")
    return ExitStatus.CLEAN


def _configured(settings: Settings) -> SplitResult:
    """Returns the admin listener of a configuration; raises `CommandError`."""
    listener = settings.internal_server
    if not listener.port:
        raise CommandError("`internalServer.port` is 0, any free port: name the listener with `--admin`")
    host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(listener.address, listener.address)  # noqa: S104 - where it listens
    shown = f"[{host}]" if ":" in host else host
    return urlsplit(f"{'https' if listener.speaks_tls else 'http'}://{shown}:{listener.port}")
