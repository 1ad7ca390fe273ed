"""Commands that call the admin listeners of running services: `reload` for one of them, `fleet` for several."""

from __future__ import annotations

import argparse
import http.client
import json
import re
import socket
import ssl
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from ipaddress import ip_address
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec.structs import replace

from tornado_proxy.cli.arguments import add_file, add_flag, add_format, add_timeout, number
from tornado_proxy.cli.inputs import load_settings, raise_errors
from tornado_proxy.cli.output import CommandError, ExitStatus
from tornado_proxy.config.model import RulesBucket, Settings
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.rules.excerpt import visible
from tornado_proxy.rules.loading import Read, read_rule_files

_DEFAULT_URL = "http://127.0.0.1:9090"
_SHOWN = 200  # characters of an answer that is not JSON
_LARGEST = 64 * 1024 * 1024  # bytes of an answer
_SHORT = 12  # digits of a digest, for people
_FEWEST = 8  # digits that name a digest
_DIGITS = re.compile(rf"[0-9a-f]{{{_FEWEST},64}}")
_ASK_EVERY = 1.0  # seconds between two looks at a fleet that is waited for
_THREADS = 32  # that call the services of a fleet
# A listener that demands a certificate may close the connection before its alert is read.
_TURNED_AWAY = (ssl.SSLError, ConnectionResetError, BrokenPipeError)


def add_tls_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments for TLS."""
    tls = parser.add_argument_group("TLS, with files in PEM")
    add_file(tls, "--cert", "the certificate to present to the admin listener")
    add_file(tls, "--key", "its private key (default: in the file of `--cert`)")
    add_file(
        tls,
        "--ca",
        "the authorities that sign the listener's certificate (default: the system's; loopback is not verified)",
    )


def admin_url(text: str) -> SplitResult:
    """Converts the argument that is the URL of an admin listener, such as `unix:/run/x`; `http://` may be left out."""
    try:
        url = urlsplit(text if "://" in text or text.startswith("unix:/") else f"http://{text}")
        is_remote = bool(url.hostname) and url.port != 0 and not url.path.rstrip("/")
        usable = {"http": is_remote, "https": is_remote, "unix": not url.hostname}.get(url.scheme, False)
    except ValueError:
        usable = False
    if not usable or url.username is not None or url.query or url.fragment:
        raise argparse.ArgumentTypeError(f"`{text}` is not the URL of an admin listener, such as `{_DEFAULT_URL}`")
    return url


class AdminListener(msgspec.Struct, frozen=True):
    """The admin listener of a service; `context` is None without TLS."""

    url: SplitResult
    context: ssl.SSLContext | None = None
    is_shown_certificate: bool = False
    address: str = ""  # that is called instead of the host's

    @classmethod
    def of(cls, url: SplitResult, tls: argparse.Namespace) -> AdminListener:
        """Returns the listener at a URL; raises `CommandError` if a file for TLS cannot be used."""
        if url.scheme != "https":
            return cls(url)
        return cls(url, _context(url.hostname or "", tls), is_shown_certificate=tls.cert is not None)

    def ask(self, method: str, path: str, within: float, *other_statuses: int) -> tuple[int, dict[str, Any]]:
        """Returns the JSON object of an answer with its status, 200 or one of the others; raises `CommandError`."""
        try:
            with closing(_ListenerConnection(self, within)) as connection:
                connection.request(method, path)
                answer = connection.getresponse()
                content = answer.read(_LARGEST).decode()
                kind = answer.headers.get_content_type()
                if kind == "application/json" and answer.status in (200, *other_statuses):
                    report = json.loads(content)
                    if isinstance(report, dict):
                        return answer.status, report
                reason = visible(content.strip()[:_SHOWN])
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
            self.sock = socket.create_connection((listener.address or self.host, self.port), self.timeout)
        if listener.context is not None:
            # The certificate is for the name, whatever address of it is called.
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


def add_listener_arguments(parser: argparse.ArgumentParser, within: int, meaning: str) -> None:
    """Declares the arguments of a command that calls the admin listener of one service."""
    add_file(parser, "--config", "the configuration of the service, which names its admin listener")
    parser.add_argument(
        "--admin",
        type=admin_url,
        metavar="URL",
        help=f"the admin listener, or `unix:FILE` (default: that of `--config`, else {_DEFAULT_URL})",
    )
    add_timeout(parser, within, meaning)
    add_tls_arguments(parser)


def listener_of(arguments: argparse.Namespace) -> AdminListener:
    """Returns the admin listener that the arguments name; raises `CommandError`."""
    url = arguments.admin or (_configured(arguments.config) if arguments.config else urlsplit(_DEFAULT_URL))
    return AdminListener.of(url, arguments)


def reload_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_listener_arguments(parser, 80, "the reload may take")
    add_flag(parser, "--quiet", "print nothing unless the reload fails")


def run_reload(arguments: argparse.Namespace) -> int:
    """Reloads; returns 1 if the service refuses the files."""
    status, report = listener_of(arguments).ask("POST", "/-/reload", arguments.timeout, 202, 422)
    if status == 422 or not arguments.quiet:
        print(*_diagnostics(report), sep="", end="", file=sys.stderr)
    if status == 422:
        print(f"refused: generation {report['generation']} stays in force", file=sys.stderr)
        return ExitStatus.FINDINGS
    for name, reason in report.get("targetsDown", {}).items():
        print(f"the bucket of target `{visible(name)}` cannot be used: {visible(reason)}", file=sys.stderr)
    for place, reason in report.get("rulesNotFetched", {}).items():
        print(f"the rules in `{visible(place)}` cannot be fetched: {visible(reason)}", file=sys.stderr)
    for name in report["restartNeededFor"]:
        print(f"`{visible(name)}` changed, and needs a restart to take effect", file=sys.stderr)
    if status == 202 and not arguments.quiet:
        print(f"generation {report['staged']} is staged: generation {report['generation']} stays in force")
    elif not arguments.quiet:
        loaded = f", loaded at {report['loadedAt']}" if report["outcome"] != "loaded" else ""
        print(f"generation {report['generation']} is in force{loaded}")
    if not arguments.quiet:
        print(*(f"{visible(each)}\n" for each in report["changes"]), sep="", end="")
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
    """Returns the admin listener of a configuration; raises `CommandError`."""
    listener = load_settings(path).internal_server
    if not listener.port:
        raise CommandError("`internalServer.port` is 0, any free port: name the listener with `--admin`")
    host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(listener.address, listener.address)  # noqa: S104 - where it listens
    shown = f"[{host}]" if ":" in host else host
    return urlsplit(f"{'https' if listener.speaks_tls else 'http'}://{shown}:{listener.port}")


def fleet_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("urls", nargs="+", type=admin_url, metavar="URL", help="the admin listener of a service")
    parser.add_argument(
        "--expect",
        metavar="DIGEST|FILE",
        help="the expected files: the start of their digest, or of the one that `push` printed, or a configuration "
        "(default: those of most services)",
    )
    parser.add_argument(
        "--wait",
        type=number(float, 0.001, 86400),
        metavar="SECONDS",
        help="ask again until all services are as expected, for so long at most",
    )
    add_flag(parser, "--every-address", "ask each address of a host name apart, as of a headless service of Kubernetes")
    add_timeout(parser, 5, "each service may take to answer")
    add_format(parser, "text", "json")
    add_tls_arguments(parser)


class Member(msgspec.Struct, frozen=True, rename={"loaded_at": "loadedAt"}):
    """The state of a service; `problem` is None if all is as expected."""

    url: str
    version: str = ""
    digest: str = ""
    generation: int = 0
    loaded_at: str = ""
    problem: str | None = None
    staged: str = ""  # the digest of a staged edit
    releases: tuple[str, ...] = ()  # the digests of rules from buckets, in force
    fetched: tuple[str, ...] = ()  # the digests of those that were fetched last

    def has(self, expected: str) -> bool:
        """Whether a digest that begins so is in force."""
        return any(each.startswith(expected) for each in (self.digest, *self.releases))

    def has_staged(self, expected: str) -> bool:
        """Whether a digest that begins so is staged."""
        return bool(self.staged) and any(each.startswith(expected) for each in (self.staged, *self.fetched))


def run_fleet(arguments: argparse.Namespace) -> int:
    """Compares; returns 1 if a service has other files in force, is not ready, refuses its files or does not answer."""
    if arguments.wait and not arguments.expect:
        raise CommandError("`--wait` needs `--expect`")
    expected = _digest(arguments.expect) if arguments.expect else ""
    end = time.monotonic() + (arguments.wait or 0)
    while True:
        members = _asked(arguments, expected)
        if not any(each.problem for each in members) or time.monotonic() >= end:
            break
        time.sleep(min(_ASK_EVERY, max(0.0, end - time.monotonic())))
    if arguments.format == "json":
        print(json.dumps({"version": 1, "services": msgspec.to_builtins(members)}, indent=2))
    else:
        width = max(len(each.url) for each in members)
        lines = [
            f"{each.url:<{width}}  {each.digest[:_SHORT] or '-':<{_SHORT}}  {each.loaded_at or '-':<24}  "
            f"{visible(each.problem or 'OK')}\n"
            for each in members
        ]
        failing = sum(bool(each.problem) for each in members)
        print("".join([*lines, f"\n{len(members) - failing} of {len(members)} as expected\n"]), end="")
    return ExitStatus.FINDINGS if any(each.problem for each in members) else ExitStatus.CLEAN


def _asked(arguments: argparse.Namespace, expected: str) -> list[Member]:
    """Asks all services at once; names are looked up each time, since services come and go."""
    listeners = [AdminListener.of(url, arguments) for url in arguments.urls]
    if arguments.every_address:
        listeners = [each for listener in listeners for each in _at_every_address(listener)]
    with ThreadPoolExecutor(_THREADS) as threads:
        members = list(threads.map(lambda listener: _member(listener, arguments.timeout), listeners))
    return compared(members, expected or most_common(members))


def _at_every_address(listener: AdminListener) -> list[AdminListener]:
    """Returns a listener for each address of its host name; itself if the name is not known, which its call reports."""
    try:
        found = socket.getaddrinfo(listener.url.hostname, None, type=socket.SOCK_STREAM)
    except OSError:
        return [listener]
    addresses = sorted({str(address[0]) for *_, address in found}) if listener.url.hostname else []
    return [replace(listener, address=each) for each in addresses] or [listener]


def _member(listener: AdminListener, within: float) -> Member:
    url = listener.url.geturl() + (f" at {listener.address}" if listener.address else "")
    try:
        _, report = listener.ask("GET", "/-/status", within)
        loaded_at, problem = report["loadedAt"], _problem(report) or None
        stage = report.get("staged", {})  # services before it was introduced have none
        staged = stage["digest"] if stage.get("state") == "staged" else ""
        rules = report.get("rules", {}).values()
        releases, fetched = (tuple(each[name] for each in rules if each[name]) for name in ("digest", "fetched"))
        stated = report["version"], report["digest"], report["generation"], loaded_at, problem
        return Member(url, *stated, staged, releases, fetched)
    except CommandError as error:
        reason = str(error).removeprefix(f"{listener.url.geturl()} ")
        return Member(url, problem=reason.removeprefix("cannot be reached: "))
    except (KeyError, TypeError):
        return Member(url, problem="not the admin listener of a tornado-proxy")


def _problem(report: dict[str, Any]) -> str:
    if not report["ready"]:
        return "not ready"
    if (failed := report["lastFailedAttempt"]) is None:
        problems = {name: (target["probe"] or {}).get("problem") for name, target in report["targets"].items()}
        rules = report.get("rules", {}).values()
        stale = (f"cannot fetch its rules: {each['problem']}" for each in rules if each["problem"])
        unusable = "the bucket of target `{}` cannot be used: {}"
        down = (unusable.format(name, each["message"]) for name, each in problems.items() if each)
        return "; ".join(chain(stale, down))
    first = next((each for each in failed["diagnostics"] if each["severity"] == "error"), None)
    place = f"{first['file']}:{first['line']}: " if first and first["file"] else ""
    return f"refuses its files: {place}{first['message'] if first else failed['outcome']}"


def _digest(expected: str) -> str:
    """Returns the first digits of a digest, or that of a configuration, without secrets; raises `CommandError`."""
    configuration = Path(expected)
    if not configuration.is_file():
        if not _DIGITS.fullmatch(expected):
            raise CommandError(f"`{expected}` is neither a file nor {_FEWEST} digits or more of a digest")
        return expected
    from tornado_proxy.config.loading import Loaded, read  # noqa: PLC0415 - the whole service, for a file only
    from tornado_proxy.pages.loading import read_templates  # noqa: PLC0415
    from tornado_proxy.service.reload.snapshot import compile_text  # noqa: PLC0415

    text = read(configuration)
    if isinstance(text, Loaded):
        raise CommandError(diagnostics=text.diagnostics)

    def read_files(settings: Settings | None) -> tuple[Read, Read]:
        roots = settings.rules if settings else ()
        if any(isinstance(root, RulesBucket) for root in roots):
            raise CommandError(f"`{expected}` has rules in a bucket: expect the digest that `push` printed")
        return read_rule_files(roots), read_templates(settings)

    snapshot = compile_text(text, {}, resolve=unresolved, read_files=read_files)
    raise_errors((*snapshot.diagnostics, *snapshot.rules.diagnostics, *snapshot.templates.diagnostics))
    return snapshot.digest


def most_common(members: Sequence[Member]) -> str:
    """Returns the digest that most members have in force; of equally common digests, the one that was loaded last."""
    counts = Counter(each.digest for each in members if each.digest)
    return max(members, key=lambda each: (counts[each.digest], each.loaded_at)).digest


def compared(members: Sequence[Member], expected: str) -> list[Member]:
    """Returns the members; each with another digest than the expected one gets a problem."""
    return [
        replace(each, problem=f"{'has staged' if each.has_staged(expected) else 'differs from'} {expected[:_SHORT]}")
        if each.digest and not each.problem and not each.has(expected)
        else each
        for each in members
    ]
