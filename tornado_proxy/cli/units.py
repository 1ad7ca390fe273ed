"""Checks as a unit of systemd would run them: as its user, with its credentials and limits, and against its sockets."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tornado_proxy.cli.output import CommandError
from tornado_proxy.config.model import Settings
from tornado_proxy.config.server import Listener
from tornado_proxy.config.values import EVERY_INTERFACE
from tornado_proxy.rules.diagnostic import Diagnostic, Severity

# Directives that decide what a process may read, open and call. What only a running service needs stays away, such as
# its state directory, whose owner systemd would change.
_DIRECTIVES = (
    *("User", "Group", "DynamicUser", "SupplementaryGroups", "UMask", "WorkingDirectory", "Root", "Capability"),
    *("LoadCredential", "SetCredential", "ImportCredential", "Environment", "PassEnvironment", "UnsetEnvironment"),
    *("Limit", "Protect", "Private", "Inaccessible", "ReadOnly", "Bind", "TemporaryFileSystem", "NoNewPrivileges"),
    *("Restrict", "IPAddress", "MemoryDenyWriteExecute", "SystemCall", "LockPersonality"),
)
_OF_SYSTEMD = 200  # the first exit status for what systemd could not set up (systemd.exec(5), "Process Exit Codes")


class UnitSocket(msgspec.Struct, frozen=True):
    """A socket of a unit: which of its names (`FileDescriptorName=`), and where it listens."""

    unit: str
    name: str
    address: str  # without brackets; empty for a path
    port: int


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


def other_addresses(settings: Settings, sockets: Sequence[UnitSocket]) -> Iterator[Diagnostic]:
    """Yields a warning for each socket that listens elsewhere than the configuration says."""
    sections = {"admin": ("internalServer", settings.internal_server), "http": ("server", settings.server)}
    for each in sockets:
        section, listener = sections.get(each.name, sections["http"])
        if each.port and not _is_same(listener, each):
            written, opened = _shown(listener.address, listener.port), _shown(each.address, each.port)
            message = f"`{section}` says {written}, but `{each.unit}` listens on {opened}, and that counts"
            advice = f"make them the same: with `systemctl edit {each.unit}`, or `listenAddr` and `port`"
            yield Diagnostic("other-address", message, help=advice, severity=Severity.WARNING)


def is_wider(listener: Listener, opened: socket.socket) -> bool:
    """Whether a socket of systemd listens on every interface, against the configuration."""
    address = opened.getsockname()
    return isinstance(address, tuple) and address[0] in EVERY_INTERFACE and listener.address not in EVERY_INTERFACE


def sockets_of(unit: str) -> list[UnitSocket]:
    """Returns the sockets that are enabled or active for a unit."""
    return [opened for each in _property(unit, "TriggeredBy").split() for opened in _listening(each)]


def _listening(unit: str) -> Iterator[UnitSocket]:
    if _property(unit, "ActiveState") != "active" and _property(unit, "UnitFileState") != "enabled":
        return
    name = _property(unit, "FileDescriptorName")
    for line in _property(unit, "Listen").splitlines():
        address, _, port = line.partition(" ")[0].rpartition(":")
        yield UnitSocket(unit, name, address.strip("[]"), int(port) if port.isdecimal() else 0)


def _is_same(listener: Listener, opened: UnitSocket) -> bool:
    same_addresses = EVERY_INTERFACE if opened.address in EVERY_INTERFACE else {opened.address, "localhost"}
    return listener.port == opened.port and listener.address in same_addresses


def _shown(address: str, port: int) -> str:
    if address in EVERY_INTERFACE:
        return f"port {port} of every interface"
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _properties(unit: str) -> Iterator[str]:
    """Yields what a unit sets about its processes, in the form of `systemd-run --property`."""
    _, _, instance = unit.removesuffix(".service").partition("@")
    for name, value in _directives(unit):
        if name.startswith(_DIRECTIVES):
            yield f"{name}={value.replace('%i', instance)}"


def _directives(unit: str) -> Iterator[tuple[str, str]]:
    """Yields the names and values in the section [Service] of a unit and its drop-ins, in their order."""
    shown = _ran(["systemctl", "cat", "--", unit])
    if shown.returncode:
        raise CommandError(f"there is no unit `{unit}`")
    section = ""
    for line in shown.stdout.replace("\\\n", " ").splitlines():
        if line.startswith("["):
            section = line.strip()
        elif section == "[Service]" and line.strip() and line.lstrip()[0] not in "#;":
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()


def _property(unit: str, name: str) -> str:
    return _ran(["systemctl", "show", f"--property={name}", "--value", "--", unit]).stdout.strip()


def _ran(command: Sequence[str], *, capture: bool = True) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=capture, text=True, check=False)  # noqa: S603 - no shell
    except OSError as error:
        raise CommandError(f"`--unit` needs systemd: `{Path(command[0]).name}` cannot be run") from error
