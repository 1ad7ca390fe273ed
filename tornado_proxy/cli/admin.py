"""Asks the admin listener of a running service: over plain HTTP, TLS, or a socket in the file system."""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import ssl
from contextlib import closing
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from tornado_proxy.cli.inputs import CommandError
from tornado_proxy.cli.output import ExitStatus

DEFAULT_URL = "http://127.0.0.1:9090"
_SHOWN = 200  # characters of an answer that is not JSON
_LARGEST = 64 * 1024 * 1024  # bytes of an answer
# A listener that demands a certificate may close the connection before its alert is read.
_TURNED_AWAY = (ssl.SSLError, ConnectionResetError, BrokenPipeError)


def add_tls_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the files of TLS."""
    tls = parser.add_argument_group("TLS, with files in PEM")
    tls.add_argument("--cert", type=Path, metavar="FILE", help="the certificate to present to the admin listener")
    tls.add_argument("--key", type=Path, metavar="FILE", help="its private key (default: in the file of `--cert`)")
    tls.add_argument(
        "--ca",
        type=Path,
        metavar="FILE",
        help="the authorities that sign the listener's certificate (default: the system's; loopback is not verified)",
    )


def admin_url(text: str) -> SplitResult:
    """Converts the argument that is the URL of an admin listener, such as `unix:/run/x`; `http://` may be left out."""
    try:
        url = urlsplit(text if "://" in text or text.startswith("unix:/") else f"http://{text}")
        host, path, is_local = url.hostname, url.path, url.scheme == "unix"
        usable = not host if is_local else bool(host) and url.port != 0 and not path.rstrip("/")
    except ValueError:
        usable = False
    if (
        not usable
        or url.scheme not in ("http", "https", "unix")
        or url.username is not None
        or url.query
        or url.fragment
    ):
        raise argparse.ArgumentTypeError(f"`{text}` is not the URL of an admin listener, such as `{DEFAULT_URL}`")
    return url


@dataclass(frozen=True, slots=True)
class AdminListener:
    """The admin listener of a service; `context` is None where there is no TLS."""

    url: SplitResult
    context: ssl.SSLContext | None = None
    is_shown_certificate: bool = False

    @classmethod
    def of(cls, url: SplitResult, tls: argparse.Namespace) -> AdminListener:
        """The listener at a URL; raises `CommandError` where a file of TLS cannot be used."""
        if url.scheme != "https":
            return cls(url)
        return cls(url, _context(url.hostname or "", tls), is_shown_certificate=tls.cert is not None)

    def ask(self, method: str, path: str, within: float) -> tuple[int, Any]:
        """Returns the status and the content of an answer, JSON or text; raises `CommandError` if there is none."""
        try:
            with closing(self._connection(within)) as connection:
                connection.request(method, path)
                answer = connection.getresponse()
                content = answer.read(_LARGEST).decode()
                is_json = answer.headers.get_content_type() == "application/json"
                return answer.status, json.loads(content) if is_json else content.strip()[:_SHOWN]
        except TimeoutError:
            reason = f"no answer within {within:g} s"
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = _reason(error)
            if self.context and not self.is_shown_certificate and isinstance(error, _TURNED_AWAY):
                reason += "; if it demands a certificate, present one with `--cert`"
        raise CommandError(ExitStatus.FAILED, f"{self.url.geturl()} cannot be asked: {reason}")

    def _connection(self, within: float) -> http.client.HTTPConnection:
        if self.url.scheme == "unix":
            return _LocalConnection(self.url.path, within)
        assert self.url.hostname is not None
        if self.context is None:
            return http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=within)
        return http.client.HTTPSConnection(self.url.hostname, self.url.port, timeout=within, context=self.context)


class _LocalConnection(http.client.HTTPConnection):
    """A connection to a socket in the file system."""

    def __init__(self, path: str, within: float) -> None:
        super().__init__("localhost", timeout=within)
        self._path = path

    def connect(self) -> None:
        """Connects; called by `http.client`."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _context(host: str, tls: argparse.Namespace) -> ssl.SSLContext:
    if tls.key and not tls.cert:
        raise CommandError(ExitStatus.FAILED, "`--key` needs `--cert`")
    try:
        context = ssl.create_default_context(cafile=tls.ca)
        if tls.cert:
            context.load_cert_chain(tls.cert, tls.key, _no_passphrase)
    except OSError as error:
        listed = ", ".join(f"`{each}`" for each in (tls.cert, tls.key, tls.ca) if each)
        # OpenSSL gives no reason where a file holds something else.
        is_other = isinstance(error, ssl.SSLError) and not error.reason
        reason = "it needs a certificate and its private key, in PEM" if is_other else _reason(error)
        raise CommandError(ExitStatus.FAILED, f"{listed} cannot be used for TLS: {reason}") from error
    if _is_loopback(host):
        # No certificate names this machine's own address, and nobody stands in between.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED if tls.ca else ssl.CERT_NONE
    return context


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted, {error.verify_message}: name its authority with `--ca`"
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).lower().replace("_", " ")
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _no_passphrase() -> bytes:
    """Gives no passphrase; OpenSSL would ask for one on the terminal."""
    return b""


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
