"""Checks as a unit of systemd, whose programs are scripts that answer as the real ones do.

tests/integration/systemd runs the real ones.
"""

import os
import socket
from pathlib import Path

import pytest

from tornado_proxy.cli.serve import is_at, is_wider
from tornado_proxy.config.server import Server

UNIT = """\
# /etc/systemd/system/front@.service
[Unit]
Description=User=not-this
[Service]
ExecStart=/usr/bin/front \\
    --user User=neither
DynamicUser=yes
LoadCredential=s3:/etc/secrets/%i
StateDirectory=front
; LimitCORE=0

# /etc/systemd/system/front@.service.d/more.conf
[Service]
LimitNOFILE=4096
[Install]
WantedBy=multi-user.target
"""


@pytest.fixture
def systemd(tmp_path, monkeypatch):
    """Puts `systemctl` and `systemd-run` on the path; a file has what the latter was called with."""

    def install(status: int = 0, listen: str = "127.0.0.1:8080 (Stream)", unit: str = UNIT) -> Path:
        folder, calls = tmp_path / "bin", tmp_path / "calls"
        folder.mkdir()
        (tmp_path / "unit").write_text(unit)
        show = {
            "TriggeredBy": "front.socket",
            "ActiveState": "active",
            "UnitFileState": "disabled",
            "FileDescriptorName": "http",
            "Listen": listen,
        }
        cases = "".join(f"*={name}) echo '{value}' ;;\n" for name, value in show.items())
        cat = f'case "$3" in front*) cat {tmp_path}/unit ;; *) exit 1 ;; esac'
        programs = {
            "systemctl": f'if [ "$1" = cat ]; then {cat}; else case "$2" in {cases} esac; fi',
            "systemd-run": f'printf "%s\\n" "$@" >{calls}; exit {status}',
        }
        for name, text in programs.items():
            (folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        Path("proxy.yaml").write_text("targets: {site: {bucket: {name: my-bucket}}}\n")
        return calls

    return install


def _check(command, unit="front@2.service"):
    return command("serve", "--check", "--config", "proxy.yaml", "--unit", unit)


def test_the_check_runs_with_what_the_unit_sets(command, systemd):
    """User, credentials and limits are those of unit and drop-ins; its commands and directories stay away."""
    calls = systemd()
    assert _check(command).status == 0
    properties = [line.partition("=")[2] for line in calls.read_text().splitlines() if line.startswith("--property")]
    assert properties == ["DynamicUser=yes", "LoadCredential=s3:/etc/secrets/2", "LimitNOFILE=4096"]
    assert calls.read_text().splitlines()[-4:-1] == ["serve", "--check", "--config"]


def test_the_status_is_that_of_the_check(command, systemd):
    systemd(status=1)
    assert _check(command).status == 1


@pytest.mark.parametrize(("status", "what"), [(243, "its credentials"), (217, "its user"), (226, "what it needs")])
def test_a_unit_that_cannot_start_is_a_failure(command, systemd, status, what):
    """The exit statuses of systemd itself say what is missing."""
    systemd(status=status)
    result = _check(command)
    assert (result.status, f"systemd cannot set up {what}" in result.err) == (2, True)


def test_a_unit_without_credentials_has_none(command, systemd):
    """A secret that the unit does not hand over is missing, and not only unknown to a shell."""
    calls = systemd(unit="[Service]\nDynamicUser=yes\n")
    _check(command)
    assert "CREDENTIALS_DIRECTORY=/nonexistent" in calls.read_text()


def test_an_unknown_unit_is_a_failure(command, systemd):
    systemd()
    result = _check(command, "back.service")
    assert (result.status, "there is no unit `back.service`" in result.err) == (2, True)


def test_without_systemd_the_option_is_a_failure(command, monkeypatch, tmp_path):
    Path("proxy.yaml").write_text("targets: {}\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "`--unit` needs systemd: `systemctl` cannot be run" in _check(command).err


def test_another_address_is_a_warning(command, systemd):
    systemd(listen="[::]:8080 (Stream)")
    result = _check(command)
    assert result.status == 0
    assert "`server` says 127.0.0.1:8080, but `front.socket` listens on port 8080 of every interface" in result.err


@pytest.mark.parametrize("listen", ["127.0.0.1:8080 (Stream)", "/run/front.sock (Stream)"])
def test_the_same_address_is_no_warning(command, systemd, listen):
    """A socket unit that agrees with the configuration is not mentioned, and a path is compared with nothing."""
    systemd(listen=listen)
    assert "front.socket" not in _check(command).err


def test_the_unit_goes_with_a_check(command):
    """A service is started by systemd, not by the option."""
    assert command("serve", "--config", "proxy.yaml", "--unit", "front.service").status == 2


@pytest.mark.parametrize(
    ("configured", "opened", "is_same"),
    [
        (("", 8080), ("::", 8080), True),
        (("0.0.0.0", 8080), ("0.0.0.0", 8080), True),
        (("localhost", 8080), ("127.0.0.1", 8080), True),
        (("10.0.0.1", 8080), ("10.0.0.1", 8080), True),
        (("10.0.0.1", 8080), ("10.0.0.2", 8080), False),
        (("", 8080), ("127.0.0.1", 8080), False),
        (("", 8080), ("::", 80), False),
    ],
)
def test_addresses_are_compared(configured, opened, is_same):
    """Every interface has several names."""
    assert is_at(Server(*configured), *opened) == is_same


def test_a_socket_that_is_open_to_all_is_wider_than_loopback():
    with socket.create_server(("", 0)) as everywhere, socket.create_server(("127.0.0.1", 0)) as loopback:
        assert is_wider(Server(), everywhere)
        assert not is_wider(Server(""), everywhere)
        assert not is_wider(Server(), loopback)
