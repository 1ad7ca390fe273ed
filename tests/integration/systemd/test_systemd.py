"""The service under a real systemd: started, reloaded, activated, watched, confined."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path

import pytest
from administering import eventually
from certificates import pair
from steady_load import under_load

sys.path.insert(0, str(Path(__file__).parent))  # modules that only these tests use

from machine import RELEASES, boot_bare, missing

pytestmark = pytest.mark.integration

UNIT = "tornado-proxy.service"
SOCKET = "tornado-proxy.socket"
UNITS = (
    "tornado-proxy.service",
    "tornado-proxy.socket",
    "tornado-proxy@1.service",
    "tornado-proxy-instances.socket",
    "tornado-proxy-admin@1.socket",
)
BAD = 'target site {\n    rewrite `^/(` -> "/x"\n}\n'
SECURITY = 11  # tenths of systemd's measure of exposure


def _listen_by_systemd(site, unit: str = SOCKET) -> None:
    site.drop_in(f"[Socket]\nListenStream=\nListenStream=127.0.0.1:{site.port}\n", unit)
    site.machine.systemctl("start", unit)


def _options(site, text: str) -> None:
    site.machine.write("/etc/default/tornado-proxy", f'OPTIONS="{text}"\n')


def test_the_service_starts_and_says_what_is_in_force(site):
    """`systemctl start` returns once requests are answered, and `systemctl status` has the line."""
    site.machine.systemctl("start", UNIT)
    assert site.get("/a") == (200, "first/a.txt")
    assert 'Status: "generation 1, 1 rewrite"' in site.machine.systemctl("status", UNIT)


def test_the_end_is_clean(site):
    """`systemctl stop` ends it with status 0, and its port is free."""
    site.machine.systemctl("start", UNIT)
    site.machine.systemctl("stop", UNIT)
    assert site.machine.show(UNIT, "Result") == "success"
    with pytest.raises(ConnectionRefusedError):
        site.get("/a")


def test_the_journal_has_priorities_and_one_time_a_line(site):
    """`journalctl --priority` finds errors, no line has a time of its own, and nothing warns of an unset OPTIONS."""
    site.machine.systemctl("start", UNIT)
    site.rules(BAD)
    site.machine.systemctl("reload", UNIT, check=False)
    told = site.machine.journal(UNIT)
    assert "listening on" in told
    assert not re.search(r"^\d{4}-\d\d-\d\dT|OPTIONS", told, re.MULTILINE)
    failures = site.machine.run("journalctl", "--no-pager", "--output=cat", "--priority=err", "--unit", UNIT)
    assert "site.rules:2:" in failures
    assert "listening on" not in failures


@pytest.mark.parametrize("options", ["", "--workers 2"])
def test_reload_waits_until_the_rules_are_in_force(site, options):
    """The first request after `systemctl reload` gets the new rules, from every process."""
    _options(site, options)
    site.machine.systemctl("start", UNIT)
    site.answer_with("second")
    site.machine.systemctl("reload", UNIT)
    assert {site.get("/a") for _ in range(10)} == {(200, "second/a.txt")}


@pytest.mark.parametrize("options", ["", "--workers 2"])
def test_a_reload_fails_where_the_rules_are_refused(site, options):
    """`systemctl reload` exits with 1, so that a deployment stops; the service serves as before and says why."""
    _options(site, options)
    site.machine.systemctl("start", UNIT)
    site.rules(BAD)
    assert site.machine.exit_status("systemctl", "reload", UNIT) == 1
    status = site.machine.systemctl("status", UNIT)
    assert "Active: active (running)" in status
    assert "an edit was refused: /etc/tornado-proxy/rules/site.rules:2:" in status
    assert site.get("/a") == (200, "first/a.txt")


def test_a_configuration_with_a_mistake_fails_the_reload_too(site):
    """The command that reloads reads the same file, and shows what is wrong in the journal."""
    site.machine.systemctl("start", UNIT)
    site.configure("nonsense: 1\n")
    assert site.machine.exit_status("systemctl", "reload", UNIT) == 1
    assert "unknown option `nonsense`" in site.machine.journal(UNIT)
    assert site.get("/a") == (200, "first/a.txt")


def test_a_hang_up_reloads_as_well(site):
    """SIGHUP, which programs other than systemd send, looks at the files at once; nobody learns the result."""
    site.machine.systemctl("start", UNIT)
    site.answer_with("second")
    site.machine.run("kill", "-HUP", site.machine.show(UNIT, "MainPID"))
    eventually(lambda: site.get("/a") == (200, "second/a.txt"))
    site.machine.wait(UNIT, "ActiveState", "active")


def test_an_instance_reloads_by_its_own_admin_listener(site):
    """`systemctl reload tornado-proxy@1` asks instance 1, and fails where that refuses the rules."""
    _listen_by_systemd(site, "tornado-proxy-instances.socket")
    site.machine.systemctl("start", "tornado-proxy@1.service")
    site.answer_with("second")
    site.machine.systemctl("reload", "tornado-proxy@1.service")
    assert site.get("/a") == (200, "second/a.txt")
    site.rules(BAD)
    assert site.machine.exit_status("systemctl", "reload", "tornado-proxy@1.service") == 1


@pytest.mark.parametrize("unit", [UNIT, "tornado-proxy@1.service"])
def test_a_reload_needs_no_certificate(site, unit):
    """Where the admin listener demands one of its clients, the unit reloads by the socket in its runtime directory."""
    if unit != UNIT:
        _listen_by_systemd(site, "tornado-proxy-instances.socket")
    own = pair("admin.test", common_name="admin")
    site.machine.write("/etc/tornado-proxy/admin.crt", own.chain)
    site.machine.write("/etc/tornado-proxy/secrets/admin", own.key, 0o600)
    site.drop_in("[Service]\nLoadCredential=admin:/etc/tornado-proxy/secrets/admin\n", unit)
    site.configure()
    plain = site.machine.path("/etc/tornado-proxy/proxy.yaml").read_text()
    tls = (
        f"internalServer: {{port: {site.admin_port}, ssl: {{clientAuth: require, clientCAs: [admin.crt], "
        "certificates: [{certificateUrl: admin.crt, privateKey: {credential: admin}}]}}"
    )
    site.machine.write(
        "/etc/tornado-proxy/proxy.yaml", plain.replace(f"internalServer: {{port: {site.admin_port}}}", tls)
    )
    site.machine.systemctl("start", unit)
    site.answer_with("second")
    assert site.machine.exit_status("systemctl", "reload", unit) == 0, site.machine.journal(unit)
    assert site.get("/a") == (200, "second/a.txt")
    site.rules(BAD)
    assert site.machine.exit_status("systemctl", "reload", unit) == 1


def test_bad_files_at_start_are_refused(site):
    """The service does not start, and the journal shows the mistake with its place."""
    site.drop_in("[Service]\nRestart=no\n")
    site.rules(BAD)
    site.machine.systemctl("start", UNIT, check=False)
    assert (site.machine.show(UNIT, "Result"), site.machine.show(UNIT, "ExecMainStatus")) == ("exit-code", "1")
    assert "site.rules:2:" in site.machine.journal(UNIT)


def test_a_restart_with_bad_files_starts_from_the_last_good_ones(site):
    """The copy in the state directory is in force, and the status says so."""
    site.machine.systemctl("start", UNIT)
    eventually(lambda: site.machine.path("/var/lib/tornado-proxy/last-good/snapshot.json").is_file())
    site.rules(BAD)
    site.machine.systemctl("restart", UNIT)
    assert site.get("/a") == (200, "first/a.txt")
    assert site.admin.status()["startedFromLastGood"]
    assert "started from the last good copy" in site.machine.systemctl("status", UNIT)


def test_the_first_request_starts_the_service(site):
    """With the socket unit alone, a connection brings the service up, and is answered."""
    _listen_by_systemd(site)
    assert site.machine.show(UNIT, "ActiveState") == "inactive"
    assert site.get("/a") == (200, "first/a.txt")
    site.machine.wait(UNIT, "ActiveState", "active")  # the answer may be faster than the message to systemd


@pytest.mark.parametrize("options", ["", "--workers 2"])
def test_a_restart_under_load_loses_no_request(site, options):
    """While one process ends and the next one starts, connections wait in systemd's socket."""
    _options(site, options)
    _listen_by_systemd(site)
    with under_load(site.address) as load:
        for _ in range(3):
            load.wait_for_answers()
            site.machine.systemctl("restart", UNIT)
        load.wait_for_answers()
    print(f"{load.answered} requests over three restarts")
    assert load.failures == []


def test_a_stuck_process_is_restarted(site):
    """A process whose loop does not turn is ended by the watchdog, and another serves."""
    site.drop_in("[Service]\nWatchdogSec=2\nTimeoutAbortSec=1\n")
    site.machine.systemctl("start", UNIT)
    pid = site.machine.show(UNIT, "MainPID")
    site.machine.run("kill", "-STOP", pid)
    site.machine.wait(UNIT, "NRestarts", "1")
    site.machine.wait(UNIT, "ActiveState", "active")
    assert site.machine.show(UNIT, "MainPID") != pid
    assert site.get("/a") == (200, "first/a.txt")
    assert "watchdog" in site.machine.journal(UNIT).lower()


def _stop_a_worker(site) -> int:
    _, stuck = (worker["pid"] for worker in site.admin.status()["workers"])
    # The pid is that of the container's own namespace.
    site.machine.run("kill", f"-{signal.SIGSTOP.value}", str(stuck))
    return stuck


def test_a_stuck_worker_starves_the_watchdog(site):
    """With workers the watchdog is fed only while the loop of every one of them turns."""
    _options(site, "--workers 2")
    site.drop_in("[Service]\nWatchdogSec=2\nTimeoutAbortSec=1\n")
    site.machine.systemctl("start", UNIT)
    _stop_a_worker(site)
    site.machine.wait(UNIT, "NRestarts", "1")
    site.machine.wait(UNIT, "ActiveState", "active")
    assert site.get("/a") == (200, "first/a.txt")


def test_a_stuck_worker_is_replaced_before_that(site):
    """With the watchdog's period of the unit, only the worker that is stuck is ended; the service stays up."""
    _options(site, "--workers 2")
    site.machine.systemctl("start", UNIT)
    stuck = _stop_a_worker(site)
    site.admin.wait_for_status(lambda status: stuck not in [worker["pid"] for worker in status["workers"]])
    site.admin.wait_for_status(lambda status: len(status["workers"]) == 2)
    assert site.machine.show(UNIT, "NRestarts") == "0"
    assert f"worker {stuck} is stuck" in site.machine.journal(UNIT)


def test_credentials_come_from_systemd(site):
    """A password, here an argon2 hash, that only root can read is handed over by LoadCredential."""
    hashed = site.machine.run(
        "/opt/tornado-proxy/bin/python", "-c", "import argon2; print(argon2.PasswordHasher().hash('open sesame'))"
    )
    site.machine.write("/etc/tornado-proxy/secrets/ann", hashed, 0o600)
    site.drop_in("[Service]\nLoadCredential=ann:/etc/tornado-proxy/secrets/ann\n")
    site.configure(
        "    resources: [{path: /**, provider: staff, basic: {credentials: [{user: ann, password: {credential: ann}}]}}]\n"
        "authProviders: {basic: {staff: {realm: Files}}}\n"
    )
    site.machine.systemctl("start", UNIT)
    assert site.get("/a")[0] == 401
    assert site.get("/a", "ann:wrong")[0] == 401
    assert site.get("/a", "ann:open sesame") == (200, "first/a.txt")


def test_nothing_outside_the_state_directory_can_be_written(site):
    """A copy that is to be kept elsewhere is refused by the kernel, and the service serves all the same."""
    site.machine.run("mkdir", "--mode=777", "/srv/open-to-all")
    site.drop_in(
        "[Service]\nExecStart=\nExecStart=/opt/tornado-proxy/bin/tornado-proxy serve "
        "--config /etc/tornado-proxy/proxy.yaml --last-good /srv/open-to-all/last-good\n"
    )
    site.machine.systemctl("start", UNIT)
    trouble = site.admin.wait_for_status(lambda status: status["lastGoodTrouble"] is not None)["lastGoodTrouble"]
    assert "Read-only file system" in trouble
    assert site.get("/a") == (200, "first/a.txt")


def test_the_service_runs_as_nobody_in_particular(site):
    """Neither root nor any capability, no new privileges, and a filter of system calls."""
    site.machine.systemctl("start", UNIT)
    pid = site.machine.show(UNIT, "MainPID")
    status = dict(line.split(":\t", 1) for line in site.machine.path(f"/proc/{pid}/status").read_text().splitlines())
    assert "0" not in status["Uid"].split()
    assert {status[name] for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def test_several_instances_share_one_port(site):
    """While one instance restarts the others take what comes, and no request is lost."""
    _listen_by_systemd(site, "tornado-proxy-instances.socket")
    base = site.admin_port // 10
    site.drop_in(f"[Socket]\nListenStream=\nListenStream=127.0.0.1:{base}%i\n", "tornado-proxy-admin@.socket")
    site.machine.systemctl("start", "tornado-proxy@1.service", "tornado-proxy@2.service")
    with under_load(site.address) as load:
        for instance in ("1", "2"):
            load.wait_for_answers()
            site.machine.systemctl("restart", f"tornado-proxy@{instance}.service")
        load.wait_for_answers()
    print(f"{load.answered} requests over the restart of each instance")
    assert load.failures == []


def test_the_units_are_sound(site):
    """`systemd-analyze verify` finds nothing in any unit."""
    units = [f"/etc/systemd/system/{unit}" for unit in UNITS]
    assert site.machine.run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *units).strip() == ""


@pytest.mark.parametrize("release", RELEASES)
def test_the_units_expose_little(release):
    """`systemd-analyze security` rates the exposure of every service at 1.1 at most."""
    if missing():
        pytest.skip(missing())
    with boot_bare(release) as machine:
        machine.install_units()
        for unit in (unit for unit in UNITS if unit.endswith(".service")):
            said = machine.run("systemd-analyze", "security", "--offline=true", f"--threshold={SECURITY}", unit)
            print(release, said.splitlines()[-1])
            assert "OK" in said
