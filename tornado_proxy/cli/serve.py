"""The command `serve`: serves a configuration, or checks it, on request as a unit of systemd would run it.

The check of a unit has its user, its credentials and its limits, and is against its sockets.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from tornado_proxy.admin.application import admin_listener
from tornado_proxy.cli.output import CommandError, ExitStatus, not_a_file, show
from tornado_proxy.config.model import Settings
from tornado_proxy.config.server import Listener, Log
from tornado_proxy.config.values import EVERY_INTERFACE
from tornado_proxy.rules.diagnostic import Diagnostic, Severity, counted
from tornado_proxy.rules.expectations import FAILING_TEST
from tornado_proxy.service import process, runtime, snapshot
from tornado_proxy.service.building import Unbuildable
from tornado_proxy.service.last_good import LastGood, NoLastGood
from tornado_proxy.service.runtime import close_logging, configure_logging, flush_logging
from tornado_proxy.service.serving import SingleProcess
from tornado_proxy.service.supervisor import Supervisor
from tornado_proxy.service.trials import run_rule_tests
from tornado_proxy.storage.limits import PROBE_WITHIN
from tornado_proxy.telemetry.log import log_diagnostics

_LOG = logging.getLogger("tornado_proxy")

_WITH_CHECK = {
    "probe": "the service probes its buckets by itself",
    "unit": "systemd starts the service as the unit says by itself",
}

# Directives that decide what a process may read, open and call. What only a running service needs stays away, such as
# its state directory, whose owner systemd would change.
_DIRECTIVES = (
    *("User", "Group", "DynamicUser", "SupplementaryGroups", "UMask", "WorkingDirectory", "Root", "Capability"),
    *("LoadCredential", "SetCredential", "ImportCredential", "Environment", "PassEnvironment", "UnsetEnvironment"),
    *("Limit", "Protect", "Private", "Inaccessible", "ReadOnly", "Bind", "TemporaryFileSystem", "NoNewPrivileges"),
    *("Restrict", "IPAddress", "MemoryDenyWriteExecute", "SystemCall", "LockPersonality"),
)
_OF_SYSTEMD = 200  # the first exit status for what systemd could not set up (systemd.exec(5), "Process Exit Codes")


class _Start(msgspec.Struct):
    """What the service may start from, until it does: after an edit, nothing keeps the rules that were first."""

    first: snapshot.Configuration | None
    is_last_good: bool = False
    in_spite_of_tests: bool = False  # rule tests fail, and there is nothing else to start from

    @property
    def configuration(self) -> snapshot.Configuration:
        """The configuration, before it is taken."""
        assert self.first is not None, "it was taken"
        return self.first

    def take(self) -> snapshot.Configuration:
        """Returns the configuration, and forgets it."""
        taken, self.first = self.configuration, None
        return taken


def run_serve(arguments: argparse.Namespace) -> int:
    """Serves; returns an exit status."""
    for option, reason in _WITH_CHECK.items():
        if getattr(arguments, option) and not arguments.check:
            return _fail(f"`--{option}` goes with `--check`; {reason}")
    if not arguments.config.is_file() and arguments.last_good is None:
        return _fail(not_a_file(arguments.config))
    if arguments.unit:
        # A process as the unit would start it checks; its sockets are compared here.
        command = ["serve", "--check", "--config", str(arguments.config.absolute()), *(["--probe"] * arguments.probe)]
        status = run_as_unit(arguments.unit, command)
        if (settings := snapshot.read_to_check(arguments.config, dict(os.environ)).settings) is not None:
            show(tuple(other_addresses(settings, arguments.unit)))
        return status
    if not arguments.check:
        # The service outlives its working directory.
        for option in ("config", "last_good", "admin_socket"):
            if (path := getattr(arguments, option)) is not None:
                with suppress(FileNotFoundError):  # the working directory was removed before the start
                    setattr(arguments, option, path.absolute())
    return _served(arguments)


def _served(arguments: argparse.Namespace) -> int:
    """Serves or checks, from the first snapshot that can be used; returns an exit status."""
    reader = snapshot.SnapshotReader(arguments.config, dict(os.environ))
    for start in _starts(arguments, reader):
        log = None if arguments.check else _log(start)
        if not start.in_spite_of_tests:
            _report(start.configuration.diagnostics, log)
        if not start.configuration.usable:
            continue
        try:
            if arguments.check:
                asyncio.run(_built(start.configuration))
                return _checked(start.configuration, arguments)
            runtime.raise_descriptor_limit()
            event_loop = start.configuration.settings.server.event_loop
            runtime.run_event_loop(_serve(start, reader, arguments), event_loop)
        except Unbuildable as error:
            _report(error.diagnostics, log)
        except (process.CannotListen, runtime.CannotServe) as error:
            return _fail(str(error), log)
        else:
            return runtime.end_process(ExitStatus.CLEAN)
    return ExitStatus.FINDINGS


async def _built(configuration: snapshot.Configuration) -> None:
    """Builds what would serve, which may show what the files alone do not; raises `Unbuildable`."""
    SingleProcess(configuration)


def _log(start: _Start) -> Log | None:
    """Returns the options of the log; None if the configuration is wrong."""
    settings = start.configuration.snapshot.settings
    return settings.log if settings else None


def _checked(configuration: snapshot.Configuration, arguments: argparse.Namespace) -> int:
    """Prints that the files can be used, and probes the buckets if asked to."""
    targets = configuration.settings.targets
    files = configuration.rules.documents if configuration.rules else ()
    rules = f"{counted(configuration.rewrite_count, 'rewrite')} in {counted(len(files), 'file')}"
    print(f"OK: `{arguments.config}` can be used: {counted(len(targets), 'target')}, {rules}")
    if not arguments.probe:
        return ExitStatus.CLEAN
    # Few checks probe.
    from tornado_proxy.cli.configuration import probe_text  # noqa: PLC0415
    from tornado_proxy.service.trials import probe_buckets  # noqa: PLC0415

    results = asyncio.run(probe_buckets(targets, PROBE_WITHIN, write=False))
    print(probe_text(results), end="")
    return ExitStatus.CLEAN if all(result.is_up for result in results) else ExitStatus.FINDINGS


def _starts(arguments: argparse.Namespace, reader: snapshot.SnapshotReader) -> Iterator[_Start]:
    """Yields the snapshots to try: the files, the last good copy, then the files in spite of failing tests."""
    if arguments.check:
        yield _Start(
            run_rule_tests(snapshot.compile_snapshot(snapshot.read_to_check(arguments.config, dict(os.environ))))
        )
        return
    # With an expired certificate it still serves some clients, and its metrics and status page say what is wrong.
    first = _Start(snapshot.tolerant_of_dates(run_rule_tests(snapshot.compile_snapshot(reader())), None, time.time()))
    yield first
    if arguments.last_good is not None:
        try:
            kept = LastGood(arguments.last_good).read(arguments.config, dict(os.environ))
        except NoLastGood as error:
            _fail(f"there is no last good copy to start from: {error}", _log(first))
        else:
            yield _Start(
                snapshot.tolerant_of_dates(snapshot.compile_snapshot(kept), None, time.time()), is_last_good=True
            )
    if first.first and not first.first.usable and (milder := first.first.tolerating(FAILING_TEST)).usable:
        yield _Start(milder, in_spite_of_tests=True)


async def _serve(start: _Start, reader: snapshot.SnapshotReader, arguments: argparse.Namespace) -> None:
    settings = start.configuration.settings
    configure_logging(settings.log)
    workers: int = arguments.workers
    serving = SingleProcess(start.take()) if workers == 1 else Supervisor(start.take(), workers)
    if start.is_last_good:
        _LOG.error("the files cannot be used: started from the last good copy in `%s`", arguments.last_good)
    if start.in_spite_of_tests:
        _LOG.error("rule tests fail: started with these rules, since there is nothing else to start from")
    sockets, admin = _sockets(settings, arguments.admin_socket)
    launch = process.Launch(
        sockets,
        read=reader,
        renew=reader.renewed,
        administer=partial(admin_listener, sockets=admin.sockets),
        announce=partial(_announce, sockets.url, admin.url),
        notifier=process.Notifier(os.environ.get("NOTIFY_SOCKET", "")),
        last_good=LastGood(arguments.last_good) if arguments.last_good else None,
        from_last_good=start.is_last_good,
    )
    await process.Process(launch, serving).run()


def _announce(url: str, admin: str) -> None:
    for message, address in (("the admin listener is %s", admin), ("listening on %s", url)):
        # A log of any level shows that the service started, and where.
        _LOG.handle(_LOG.makeRecord(_LOG.name, logging.INFO, "", 0, message, (address,), None))


def _sockets(settings: Settings, local: Path | None) -> tuple[process.Sockets, process.Sockets]:
    """Returns the sockets for requests and for the admin listener, of the service manager or of the configuration."""
    inherited = process.inherited_sockets(os.environ, os.getpid())
    listening = inherited.get("http") or inherited.get("unknown")
    if any(is_wider(settings.server, each) for each in listening or ()):
        _LOG.warning("the socket unit listens on every interface, but `server.listenAddr` says otherwise")
    of_requests, of_admin = (
        process.named(opened, inherited=True, is_tls=listener.speaks_tls) if opened else process.open_sockets(listener)
        for opened, listener in ((listening, settings.server), (inherited.get("admin"), settings.internal_server))
    )
    if local is not None:
        of_admin = msgspec.structs.replace(of_admin, sockets=(*of_admin.sockets, process.local_socket(local)))
    return of_requests, of_admin


def _report(diagnostics: Sequence[Diagnostic], log: Log | None) -> None:
    """Prints diagnostics with excerpts, or logs them if the log is for programs."""
    if log is None or log.format == "text":
        with suppress(OSError):  # a full disk keeps no service from starting
            show(diagnostics)
    else:
        configure_logging(log)
        log_diagnostics(diagnostics)
        close_logging()


def _fail(message: str, log: Log | None = None) -> int:
    """Reports a failure, in the log if its format is known; returns the exit status."""
    if log is None:
        print(f"tornado-proxy: {message}", file=sys.stderr)
    else:
        configure_logging(log)
        _LOG.error("%s", message)
        flush_logging()
    return ExitStatus.FAILED


def run_as_unit(unit: str, command: Sequence[str]) -> int:
    """Runs a command of this program with a unit's user, credentials and limits; returns its exit status."""
    program = [sys.executable, "-m", "tornado_proxy", *command]
    properties = [f"--property={each}" for each in _properties(unit)]
    if not any("Credential" in each for each in properties):
        # A service without credentials must not pass for a shell, which only lacks them.
        properties.append("--property=Environment=CREDENTIALS_DIRECTORY=/nonexistent")
    run = ["systemd-run", "--pipe", "--wait", "--collect", "--quiet", *properties, "--", *program]
    status = _ran(run, capture=False).returncode
    if status >= _OF_SYSTEMD:
        reason = "its credentials" if status == 243 else "its user" if status in (216, 217) else "what it needs"
        raise CommandError(f"`{unit}` cannot start: systemd cannot set up {reason} (status {status}); see `journalctl`")
    return status


def other_addresses(settings: Settings, unit: str) -> Iterator[Diagnostic]:
    """Yields a warning for each enabled or active socket of a unit that is elsewhere than the configuration says."""
    sections = {"admin": ("internalServer", settings.internal_server), "http": ("server", settings.server)}
    for each in _property(unit, "TriggeredBy").split():
        if _property(each, "ActiveState") != "active" and _property(each, "UnitFileState") != "enabled":
            continue
        section, listener = sections.get(_property(each, "FileDescriptorName"), sections["http"])
        for line in _property(each, "Listen").splitlines():
            host, _, port = line.partition(" ")[0].rpartition(":")
            if port.isdecimal() and not is_at(listener, address := host.strip("[]"), int(port)):  # not a path
                written, opened = _shown(listener.address, listener.port), _shown(address, int(port))
                message = f"`{section}` says {written}, but `{each}` listens on {opened}, and that counts"
                advice = f"make them the same: with `systemctl edit {each}`, or `listenAddr` and `port`"
                yield Diagnostic("other-address", message, help=advice, severity=Severity.WARNING)


def is_at(listener: Listener, address: str, port: int) -> bool:
    """Whether an address, without brackets, and a port are those of the configuration."""
    same_addresses = EVERY_INTERFACE if address in EVERY_INTERFACE else {address, "localhost"}
    return listener.port == port and listener.address in same_addresses


def is_wider(listener: Listener, opened: socket.socket) -> bool:
    """Whether a socket of systemd listens on every interface, against the configuration."""
    address = opened.getsockname()
    return isinstance(address, tuple) and address[0] in EVERY_INTERFACE and listener.address not in EVERY_INTERFACE


def _shown(address: str, port: int) -> str:
    if address in EVERY_INTERFACE:
        return f"port {port} of every interface"
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _properties(unit: str) -> Iterator[str]:
    """Yields what unit and drop-ins set about their processes, in their order, as `systemd-run --property` takes it."""
    shown = _ran(["systemctl", "cat", "--", unit])
    if shown.returncode:
        raise CommandError(f"there is no unit `{unit}`")
    _, _, instance = unit.removesuffix(".service").partition("@")
    section = ""
    for line in map(str.strip, shown.stdout.replace("\\\n", " ").splitlines()):
        if line.startswith("["):
            section = line
        elif section == "[Service]" and line.startswith(_DIRECTIVES):
            name, _, value = line.partition("=")
            yield f"{name.strip()}={value.strip().replace('%i', instance)}"


def _property(unit: str, name: str) -> str:
    return _ran(["systemctl", "show", f"--property={name}", "--value", "--", unit]).stdout.strip()


def _ran(command: Sequence[str], *, capture: bool = True) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=capture, text=True, check=False)  # noqa: S603 - no shell
    except OSError as error:
        raise CommandError(f"`--unit` needs systemd: `{Path(command[0]).name}` cannot be run") from error
