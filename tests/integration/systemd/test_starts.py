"""Starts that cannot succeed, and the check that says so before, under the systemds of Debian 12 and 13."""

import socket

import pytest
from administering import eventually
from machines import PROGRAM, SOCKET, UNIT

pytestmark = pytest.mark.integration

GUARD = """\
    resources: [{{path: /**, provider: staff, basic: {{credentials: [{{user: ann, password: {{{secret}}}}}]}}}}]
authProviders: {{basic: {{staff: {{realm: Files}}}}}}
"""
MOST_LINES = 80  # in the journal; a start whose configuration is wrong writes about ten


def _check(site, *options: str) -> str:
    """Checks as the unit; returns the output and the exit status."""
    command = [f"{PROGRAM}/bin/tornado-proxy", "serve", "--check", "--config", "/etc/tornado-proxy/proxy.yaml"]
    return site.machine.run("bash", "-c", '"$@"; echo "status $?"', "-", *command, "--unit", UNIT, *options)


def test_a_start_that_cannot_succeed_ends(every_site):
    """A connection to the socket of a service with a wrong configuration starts it a few times, and is then refused."""
    site = every_site
    site.machine.write("/etc/tornado-proxy/proxy.yaml", "nonsense: 1\n")
    site.listen_by()
    site.machine.systemctl("start", SOCKET)
    with socket.create_connection(site.address):
        site.machine.wait(SOCKET, "ActiveState", "failed")
    lines = site.machine.journal(UNIT).splitlines()
    print(f"{len(lines)} lines")
    assert len(lines) < MOST_LINES
    assert sum("unknown option `nonsense`" in line for line in lines) == 5
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(site.address)


def test_a_mended_configuration_is_started(every_site):
    """The commands of the page start a service that was given up."""
    site = every_site
    site.configure("nonsense: 1\n")
    site.listen_by()
    site.machine.systemctl("start", SOCKET)
    with socket.create_connection(site.address):
        site.machine.wait(SOCKET, "ActiveState", "failed")
    site.configure()
    site.machine.systemctl("reset-failed", SOCKET, UNIT)
    site.machine.systemctl("start", SOCKET, UNIT)
    assert site.get("/a") == (200, "first/a.txt")


def test_a_wrong_configuration_is_not_tried_again(every_site):
    """Without a socket unit there is one start, since nothing changes until somebody edits the files."""
    site = every_site
    site.configure("nonsense: 1\n")
    assert site.machine.exit_status("systemctl", "start", UNIT) == 1
    assert site.machine.show(UNIT, "ActiveState") == "failed"
    assert site.machine.show(UNIT, "NRestarts") == "0"


def test_a_taken_address_is_tried_again(every_site):
    """What may pass by itself is tried again, until the address is free."""
    site = every_site
    with socket.create_server(site.address):
        assert site.machine.exit_status("systemctl", "start", UNIT) == 1
    site.machine.wait(UNIT, "ActiveState", "active")
    assert site.get("/a") == (200, "first/a.txt")


def test_the_check_reads_as_the_user_of_the_unit(every_site):
    """A private key that only root reads passes a check by root, and fails the one as the unit."""
    site = every_site
    site.machine.write("/etc/tornado-proxy/key", "secret", 0o600)
    site.configure(GUARD.format(secret="path: /etc/tornado-proxy/key"))
    output = _check(site)
    assert "`/etc/tornado-proxy/key` cannot be read: Permission denied" in output
    assert "status 1" in output


def test_the_check_has_the_credentials_of_the_unit(every_site):
    """A credential that the unit hands over is read; one that cannot be read is a failure that says so."""
    site = every_site
    site.machine.write("/etc/tornado-proxy/key", "secret", 0o600)
    site.drop_in("[Service]\nLoadCredential=key:/etc/tornado-proxy/key\n")
    site.configure(GUARD.format(secret="credential: key"))
    assert "status 0" in _check(site)
    site.drop_in("[Service]\n")
    output = _check(site)
    assert "the systemd credential `key`" in output
    assert "status 1" in output
    site.drop_in("[Service]\nLoadCredential=key:/nowhere\n")
    assert "status 2" in _check(site)


def test_the_check_compares_the_socket_unit(every_site):
    """A socket that is open to all, against the configuration, is a warning of the check and of the start."""
    site = every_site
    site.listen_by()
    site.machine.systemctl("enable", SOCKET)
    assert "other-address" not in _check(site)
    site.listen_by(place=str(site.port))
    assert f"`{SOCKET}` listens on port {site.port} of every interface" in _check(site)
    site.machine.systemctl("start", SOCKET, UNIT)
    assert "the socket unit listens on every interface" in site.machine.journal(UNIT)
    site.get("/a")
    eventually(lambda: " client=127.0.0.1 " in site.machine.journal(UNIT))
    assert "::ffff:" not in site.machine.journal(UNIT)
