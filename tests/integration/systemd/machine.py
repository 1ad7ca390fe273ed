"""A real systemd as process 1 of a container of its own, booted in half a second, pristine each time.

The container shares the host's loopback, so that tests reach the service directly; what it writes is lost at its end.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PARTS = Path(os.environ.get("TORNADO_PROXY_PARTS", "/var/cache/tornado-proxy"))
ROOT = PARTS / "systemd"
WHEELS = PARTS / "systemd-wheels"
PROGRAM = Path("/opt/tornado-proxy")

_CHECKOUT = Path(__file__).parents[3]
_CGROUPS = Path("/sys/fs/cgroup")
_LIMIT = 60  # seconds
_NUMBERS = itertools.count(1)


def missing() -> str:
    """Why there can be no machine here; empty where there can."""
    if os.geteuid() != 0:
        return "a container needs root"
    if not (ROOT / ".complete").exists() or shutil.which("systemd-nspawn") is None:
        return "no root file system: run `tests/integration/install systemd`"
    return ""


def install_program(folder: Path) -> Path:
    """A virtual environment with the wheel of this checkout, as it will stand at `PROGRAM`; where it is on the host."""
    wheel = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder / "wheel")]
    _run([*wheel, str(_CHECKOUT)])
    program = folder / "program"
    program.mkdir()
    (built,) = (folder / "wheel").glob("*.whl")
    script = f"""
        set -e
        mount --make-rprivate /
        mkdir -p {ROOT}/{PROGRAM} {ROOT}/wheels {ROOT}/wheel
        mount --bind {program} {ROOT}/{PROGRAM}
        mount --bind {WHEELS} {ROOT}/wheels
        mount --bind {built.parent} {ROOT}/wheel
        chroot {ROOT} python3 -m venv {PROGRAM}
        chroot {ROOT} {PROGRAM}/bin/pip install --quiet --no-index --find-links /wheels /wheel/{built.name}
    """
    _run(["unshare", "--mount", "bash", "-c", script])
    return program


def _run(command: list[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=_environment())
    assert result.returncode == 0, f"{command}:\n{result.stdout}{result.stderr}"
    return result.stdout


def _environment() -> dict[str, str]:
    return {**os.environ, "PIP_CONFIG_FILE": "/dev/null", "PIP_CERT": ""}


@dataclass(frozen=True)
class Machine:
    """A running container."""

    leader: int

    def run(self, *command: str, check: bool = True) -> str:
        """The output of a command within, standard error last."""
        entered = ["nsenter", "--target", str(self.leader), "--all", *command]
        result = subprocess.run(entered, capture_output=True, text=True, timeout=_LIMIT, check=False)
        assert not check or result.returncode == 0, f"{command}: {result.returncode}\n{result.stdout}{result.stderr}"
        return result.stdout + result.stderr

    def systemctl(self, *arguments: str, check: bool = True) -> str:
        """What `systemctl` says."""
        return self.run("systemctl", "--no-pager", *arguments, check=check)

    def show(self, unit: str, name: str) -> str:
        """A property of a unit."""
        return self.systemctl("show", "--property", name, "--value", unit).strip()

    def journal(self, unit: str) -> str:
        """What a unit has logged."""
        return self.run("journalctl", "--no-pager", "--output=cat", "--unit", unit)

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Write a file, its folders made."""
        place = self.path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(mode)

    def path(self, path: str) -> Path:
        """A file within, as the host sees it."""
        return Path(f"/proc/{self.leader}/root{path}")

    def wait(self, unit: str, name: str, value: str) -> None:
        """Wait until a property of a unit is as it should be."""
        end = time.monotonic() + _LIMIT
        while self.show(unit, name) != value:
            assert time.monotonic() < end, self.systemctl("status", unit, check=False)
            time.sleep(0.02)


@contextmanager
def boot(program: Path) -> Iterator[Machine]:
    """A machine with the program and the units of this checkout installed."""
    name = f"tornado-proxy-{os.getpid()}-{next(_NUMBERS)}"
    groups = [_CGROUPS / tree / name for tree in ("unified", "systemd") if (_CGROUPS / tree).is_dir()]
    for group in groups:
        group.mkdir(parents=True)
    command = [
        "systemd-nspawn",
        *("--quiet", "--directory", str(ROOT), "--boot", "--machine", name, "--register=no", "--keep-unit"),
        *("--console=pipe", "--volatile=overlay", "--system-call-filter=bpf", f"--bind={program}:{PROGRAM}"),
    ]
    container = subprocess.Popen(
        [
            "bash",
            "-c",
            f'for g in {" ".join(map(str, groups))}; do echo $$ >$g/cgroup.procs; done; exec "$@"',
            "-",
            *command,
        ],
        env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        machine = _booted(container)
        for unit in (_CHECKOUT / "systemd").iterdir():
            machine.write(f"/etc/systemd/system/{unit.name}", unit.read_text())
        machine.systemctl("daemon-reload")
        yield machine
    finally:
        container.terminate()
        container.communicate(timeout=_LIMIT)
        for group in groups:
            for below in sorted(group.rglob("*"), reverse=True):
                if below.is_dir():
                    below.rmdir()
            group.rmdir()


def _booted(container: subprocess.Popen[bytes]) -> Machine:
    """The machine of a container, once its system runs."""
    end = time.monotonic() + _LIMIT
    children = Path(f"/proc/{container.pid}/task/{container.pid}/children")
    while True:
        # The last child becomes process 1; those before it set up its namespaces, and end.
        found = children.read_text().split()
        machine = Machine(int(found[-1])) if found else None
        if machine and machine.run("systemctl", "is-system-running", check=False).strip() in ("running", "degraded"):
            return machine
        assert container.poll() is None, container.communicate()[0].decode()
        assert time.monotonic() < end, "the container does not boot"
        time.sleep(0.05)
