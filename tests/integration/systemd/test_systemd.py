"""The service under a real systemd: start, reload, socket activation, watchdog and confinement."""

import re
import signal

import pytest
from administering import eventually
from certificates import pair
from machines import RELEASES, SOCKET, UNIT, boot_bare, skip_without
from steady_load import under_load

pytestmark = pytest.mark.integration

UNITS = (UNIT, SOCKET, "tornado-proxy@1.service", "tornado-proxy-instances.socket", "tornado-proxy-admin@1.socket")
BAD = 'target site {\n    rewrite `^/(` -> "/x"\n}\n'
SECURITY = 11  # tenths of systemd's exposure level


def _listen_by_systemd(site, unit: str = SOCKET) -> None:
    site.listen_by(unit)
    site.machine.systemctl("start", unit)


def _set_options(site, text: str) -> None:
    site.machine.write("/etc/default/tornado-proxy", f'OPTIONS="{text}"\n')


def test_the_start_waits_until_requests_are_answered(site):
    """`systemctl start` returns once requests are answered, and `systemctl status` shows the generation."""
    site.machine.systemctl("start", UNIT)
    assert site.get("/a") == (200, "first/a.txt")
    assert 'Status: "generation 1, 1 rewrite"' in site.machine.systemctl("status", UNIT)


def test_a_stop_is_clean(site):
    """`systemctl stop` ends the service with status 0 and frees its port."""
    site.machine.systemctl("start", UNIT)
    site.machine.systemctl("stop", UNIT)
    assert site.machine.show(UNIT, "Result") == "success"
    with pytest.raises(ConnectionRefusedError):
        site.get("/a")


def test_the_journal_has_priorities_and_one_time_per_line(site):
    """`journalctl --priority` finds errors, no line repeats the time, and no line warns of an unset OPTIONS."""
    site.machine.systemctl("start", UNIT)
    site.write_rules(BAD)
    site.machine.systemctl("reload", UNIT, check=False)
    journal = site.machine.journal(UNIT)
    assert "listening on" in journal
    assert not re.search(r"^\d{4}-\d\d-\d\dT|OPTIONS", journal, re.MULTILINE)
    failures = site.machine.run("journalctl", "--no-pager", "--output=cat", "--priority=err", "--unit", UNIT)
    assert "site.rules:2:" in failures
    assert "listening on" not in failures


@pytest.mark.parametrize("options", ["", "--workers 2"])
def test_a_reload_waits_until_the_rules_are_in_force(site, options):
    """Each process uses the new rules for the first request after `systemctl reload`."""
    _set_options(site, options)
    site.machine.systemctl("start", UNIT)
    site.answer_with("second")
    site.machine.systemctl("reload", UNIT)
    assert {site.get("/a") for _ in range(10)} == {(200, "second/a.txt")}


@pytest.mark.parametrize("options", ["", "--workers 2"])
def test_a_reload_fails_if_the_rules_are_refused(site, options):
    """`systemctl reload` exits with 1, so a deployment stops; the service serves as before and shows the reason."""
    _set_options(site, options)
    site.machine.systemctl("start", UNIT)
    site.write_rules(BAD)
    assert site.machine.exit_status("systemctl", "reload", UNIT) == 1
    status = site.machine.systemctl("status", UNIT)
    assert "Active: active (running)" in status
    assert "an edit was refused: /etc/tornado-proxy/rules/site.rules:2:" in status
    assert site.get("/a") == (200, "first/a.txt")


def test_a_reload_fails_if_the_configuration_is_refused(site):
    """The command that reloads reads the configuration too, and writes the mistake to the journal."""
    site.machine.systemctl("start", UNIT)
    site.configure("nonsense: 1\n")
    assert site.machine.exit_status("systemctl", "reload", UNIT) == 1
    assert "unknown option `nonsense`" in site.machine.journal(UNIT)
    assert site.get("/a") == (200, "first/a.txt")


def test_sighup_reloads(site):
    """SIGHUP, which programs other than systemd send, reloads without a report of the result."""
    site.machine.systemctl("start", UNIT)
    site.answer_with("second")
    site.machine.run("kill", "-HUP", site.machine.show(UNIT, "MainPID"))
    eventually(lambda: site.get("/a") == (200, "second/a.txt"))
    site.machine.wait(UNIT, "ActiveState", "active")


def test_an_instance_reloads_by_its_own_admin_listener(site):
    """`systemctl reload tornado-proxy@1` reloads instance 1, and fails if that refuses the rules."""
    _listen_by_systemd(site, "tornado-proxy-instances.socket")
    site.machine.systemctl("start", "tornado-proxy@1.service")
    site.answer_with("second")
    site.machine.systemctl("reload", "tornado-proxy@1.service")
    assert site.get("/a") == (200, "second/a.txt")
    site.write_rules(BAD)
    assert site.machine.exit_status("systemctl", "reload", "tornado-proxy@1.service") == 1


@pytest.mark.parametrize("unit", [UNIT, "tornado-proxy@1.service"])
def test_a_reload_needs_no_certificate(site, unit):
    """The unit reloads by the socket in its runtime directory if the admin listener demands client certificates."""
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
    text = plain.replace(f"internalServer: {{port: {site.admin_port}}}", tls)
    site.machine.write("/etc/tornado-proxy/proxy.yaml", text)
    site.machine.systemctl("start", unit)
    site.answer_with("second")
    assert site.machine.exit_status("systemctl", "reload", unit) == 0, site.machine.journal(unit)
    assert site.get("/a") == (200, "second/a.txt")
    site.write_rules(BAD)
    assert site.machine.exit_status("systemctl", "reload", unit) == 1


def test_a_restart_with_bad_files_starts_from_the_last_good_copy(site):
    """A restart with bad files uses the copy in the state directory, and the status shows it."""
    site.machine.systemctl("start", UNIT)
    eventually(lambda: site.machine.path("/var/lib/tornado-proxy/last-good/snapshot.json").is_file())
    site.write_rules(BAD)
    site.machine.systemctl("restart", UNIT)
    assert site.get("/a") == (200, "first/a.txt")
    assert site.admin.status()["startedFromLastGood"]
    assert "started from the last good copy" in site.machine.systemctl("status", UNIT)


def test_the_first_request_starts_the_service(site):
    _listen_by_systemd(site)
    assert site.machine.show(UNIT, "ActiveState") == "inactive"
    assert site.get("/a") == (200, "first/a.txt")
    site.machine.wait(UNIT, "ActiveState", "active")  # the answer may be faster than the message to systemd


@pytest.mark.parametrize("options", ["", "--workers 2"])
def test_a_restart_under_load_loses_no_request(site, options):
    """Connections wait in systemd's socket while one process ends and the next one starts."""
    _set_options(site, options)
    _listen_by_systemd(site)
    with under_load(site.address) as load:
        for _ in range(3):
            load.wait_for_answers()
            site.machine.systemctl("restart", UNIT)
        load.wait_for_answers()
    print(f"{load.answered} requests over three restarts")
    assert load.failures == []


def test_a_stuck_process_is_restarted(site):
    """The watchdog ends a process with a stuck loop, and another one serves."""
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
    # The PID belongs to the container's namespace.
    site.machine.run("kill", f"-{signal.SIGSTOP.value}", str(stuck))
    return stuck


def test_a_stuck_worker_triggers_the_watchdog(site):
    """With workers, the watchdog is notified only while the loop of every worker runs."""
    _set_options(site, "--workers 2")
    site.drop_in("[Service]\nWatchdogSec=2\nTimeoutAbortSec=1\n")
    site.machine.systemctl("start", UNIT)
    _stop_a_worker(site)
    site.machine.wait(UNIT, "NRestarts", "1")
    site.machine.wait(UNIT, "ActiveState", "active")
    assert site.get("/a") == (200, "first/a.txt")


def test_a_stuck_worker_is_replaced(site):
    """With the watchdog's period of the unit, only the stuck worker is ended, and the service stays up."""
    _set_options(site, "--workers 2")
    site.machine.systemctl("start", UNIT)
    stuck = _stop_a_worker(site)
    site.admin.wait_for_status(lambda status: stuck not in [worker["pid"] for worker in status["workers"]])
    site.admin.wait_for_status(lambda status: len(status["workers"]) == 2)
    assert site.machine.show(UNIT, "NRestarts") == "0"
    assert f"worker {stuck} is stuck" in site.machine.journal(UNIT)


def test_credentials_come_from_systemd(site):
    """A password hash that only root can read is passed by LoadCredential."""
    program = "import argon2; print(argon2.PasswordHasher().hash('open sesame'))"
    hashed = site.machine.run("/opt/tornado-proxy/bin/python", "-c", program)
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
    """A last good copy in another directory is refused by the kernel, and the service still serves."""
    site.machine.run("mkdir", "--mode=777", "/srv/open-to-all")
    site.drop_in(
        "[Service]\nExecStart=\nExecStart=/opt/tornado-proxy/bin/tornado-proxy serve "
        "--config /etc/tornado-proxy/proxy.yaml --last-good /srv/open-to-all/last-good\n"
    )
    site.machine.systemctl("start", UNIT)
    trouble = site.admin.wait_for_status(lambda status: status["lastGoodTrouble"] is not None)["lastGoodTrouble"]
    assert "Read-only file system" in trouble
    assert site.get("/a") == (200, "first/a.txt")


def test_the_service_runs_without_privileges(site):
    """The process isn't root, has no capability, gains no privileges, and has a filter of system calls."""
    site.machine.systemctl("start", UNIT)
    pid = site.machine.show(UNIT, "MainPID")
    status = dict(line.split(":\t", 1) for line in site.machine.path(f"/proc/{pid}/status").read_text().splitlines())
    assert "0" not in status["Uid"].split()
    assert {status[name] for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def test_several_instances_share_one_port(site):
    """The other instances answer while one restarts, and no request is lost."""
    _listen_by_systemd(site, "tornado-proxy-instances.socket")
    site.listen_by("tornado-proxy-admin@.socket", f"127.0.0.1:{site.admin_port // 10}%i")
    site.machine.systemctl("start", "tornado-proxy@1.service", "tornado-proxy@2.service")
    with under_load(site.address) as load:
        for instance in ("1", "2"):
            load.wait_for_answers()
            site.machine.systemctl("restart", f"tornado-proxy@{instance}.service")
        load.wait_for_answers()
    print(f"{load.answered} requests over the restart of each instance")
    assert load.failures == []


def test_the_units_are_valid(site):
    """`systemd-analyze verify` finds no mistake in the units."""
    units = [f"/etc/systemd/system/{unit}" for unit in UNITS]
    assert site.machine.run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *units).strip() == ""


@pytest.mark.parametrize("release", RELEASES)
def test_the_units_expose_little(release):
    """`systemd-analyze security` rates the exposure of every service at 1.1 at most."""
    skip_without()
    with boot_bare(release) as machine:
        machine.install_units()
        for unit in (unit for unit in UNITS if unit.endswith(".service")):
            output = machine.run("systemd-analyze", "security", "--offline=true", f"--threshold={SECURITY}", unit)
            print(release, output.splitlines()[-1])
            assert "OK" in output
