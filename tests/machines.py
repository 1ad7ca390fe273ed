"""Containers with a real systemd as process 1, booted in half a second from an unchanged file system, and the service there.

A container shares the host's loopback, so tests reach the service directly; its writes are lost at its end.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from administering import RULES, Admin
from programs import PARTS, ROOT, built, output_of
from running import exchange, free_port

RELEASES = ("bookworm", "trixie")
"""The releases of Debian, with systemd 252 and 257."""
WHEELS = PARTS / "systemd-wheels"
PROGRAM = Path("/opt/tornado-proxy")
UNIT, SOCKET = "tornado-proxy.service", "tornado-proxy.socket"
CONFIGURATION = """
server: {{port: {port}, gracePeriod: 10s, healthPath: /-/healthz}}
internalServer: {{port: {admin}}}
rules: [rules]
targets:
  site:
    mount: {{path: [/]}}
    bucket: {{name: some-bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true,
              credentials: {{accessKey: {{value: key}}, secretKey: {{value: secret}}}}}}
"""

_CGROUPS = Path("/sys/fs/cgroup")
_LIMIT = 60  # seconds
_INSTALLATION_LIMIT = 300  # seconds
_NUMBERS = itertools.count(1)


def root(release: str) -> Path:
    """Returns the root file system of a release."""
    return PARTS / f"systemd-{release}"


def skip_without() -> None:
    """Skips the test if no machine can be booted here."""
    if os.geteuid() != 0:
        pytest.skip("a container needs root")
    if not all((root(release) / ".complete").exists() for release in RELEASES) or not shutil.which("systemd-nspawn"):
        pytest.skip("no root file system: run `tests/integration/install systemd`")


def build_wheel(folder: Path, version: str = "0.1.0") -> Path:
    """Builds the wheel of this checkout as a version, as if its commit had that tag."""
    source = folder / "source"
    source.mkdir(parents=True)
    _run("tar", "-xzf", built("sdist", folder / "sdist", version), "-C", source, "--strip-components=1")
    return built("wheel", folder / "wheel", source=source)


def in_release(release: str, command: str, binds: Mapping[Path, str]) -> None:
    """Runs a command in the root file system of a release, with folders of the host and pip's wheels at /wheels."""
    mounts = "".join(
        f"mkdir -p {root(release)}{place}\nmount --bind {folder} {root(release)}{place}\n"
        for folder, place in {**binds, WHEELS: "/wheels"}.items()
    )
    script = f"set -e\nmount --make-rprivate /\n{mounts}exec chroot {root(release)} {command}"
    _run("unshare", "--mount", "bash", "-c", script)


def build_package(release: str, wheel: Path, folder: Path) -> Path:
    """Builds the Debian package of a wheel in a release, into a folder."""
    before = set(folder.iterdir())
    places = {ROOT: "/src", wheel.parent: "/wheel", folder: "/out"}
    in_release(release, f"/src/packaging/deb /wheel/{wheel.name} /out", places)
    (built,) = set(folder.iterdir()) - before
    return built


def install_program(folder: Path, release: str = "trixie") -> Path:
    """Installs the wheel of this checkout into a virtual environment for `PROGRAM`; returns its folder on the host."""
    wheel = build_wheel(folder / "built")
    program = folder / "program"
    program.mkdir()
    install = f"python3 -m venv {PROGRAM} && {PROGRAM}/bin/pip install --quiet /wheel/{wheel.name}[http2,readme]"
    in_release(release, f"bash -c '{install}'", {program: str(PROGRAM), wheel.parent: "/wheel"})
    return program


def _run(*command: object) -> None:
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment = {**os.environ, **offline, "PIP_CONFIG_FILE": "/dev/null", "PIP_CERT": ""}
    output_of(*command, timeout=300, env=environment)


@dataclass(frozen=True)
class Machine:
    """A running container."""

    leader: int

    def run(self, *command: str, check: bool = True) -> str:
        """Runs a command in the container and returns its output, standard error last."""
        result = self._run_inside(*command)
        assert not check or result.returncode == 0, f"{command}: {result.returncode}\n{result.stdout}{result.stderr}"
        return result.stdout + result.stderr

    def exit_status(self, *command: str) -> int:
        """Runs a command in the container and returns its exit status."""
        return self._run_inside(*command).returncode

    def _run_inside(self, *command: str) -> subprocess.CompletedProcess[str]:
        arguments = ["nsenter", "--target", str(self.leader), "--all", *command]
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
        options = {"capture_output": True, "text": True, "timeout": _INSTALLATION_LIMIT}
        return subprocess.run(arguments, env=environment, check=False, **options)

    def systemctl(self, *arguments: str, check: bool = True) -> str:
        """Runs `systemctl` and returns its output."""
        return self.run("systemctl", "--no-pager", *arguments, check=check)

    def install_units(self) -> None:
        """Installs the units of this checkout."""
        for unit in (ROOT / "systemd").iterdir():
            self.write(f"/etc/systemd/system/{unit.name}", unit.read_text())
        self.systemctl("daemon-reload")

    def show(self, unit: str, name: str) -> str:
        """Returns a property of a unit."""
        return self.systemctl("show", "--property", name, "--value", unit).strip()

    def journal(self, unit: str) -> str:
        """Returns the log of a unit."""
        return self.run("journalctl", "--no-pager", "--output=cat", "--unit", unit)

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Writes a file and makes its folders."""
        host_path = self.path(path)
        host_path.parent.mkdir(parents=True, exist_ok=True)
        host_path.write_text(text)
        host_path.chmod(mode)

    def path(self, path: str) -> Path:
        """Returns the host's path of a file in the container."""
        return Path(f"/proc/{self.leader}/root{path}")

    def wait(self, unit: str, name: str, value: str) -> None:
        """Waits until a property of a unit has a value."""
        end = time.monotonic() + _LIMIT
        while self.show(unit, name) != value:
            assert time.monotonic() < end, self.systemctl("status", unit, check=False)
            time.sleep(0.02)


@contextmanager
def boot(program: Path, release: str = "trixie") -> Iterator[Machine]:
    """Boots a release with the program and the units of this checkout."""
    with boot_bare(release, f"--bind={program}:{PROGRAM}") as machine:
        machine.install_units()
        yield machine


@contextmanager
def boot_bare(release: str, *options: str) -> Iterator[Machine]:
    """Boots a release with options of systemd-nspawn."""
    name = f"tornado-proxy-{os.getpid()}-{next(_NUMBERS)}"
    groups = [_CGROUPS / tree / name for tree in ("unified", "systemd") if (_CGROUPS / tree).is_dir()]
    for group in groups:
        group.mkdir(parents=True)
    command = [
        *("systemd-nspawn", "--quiet", "--directory", str(root(release)), "--boot", "--machine", name, "--keep-unit"),
        *("--register=no", "--console=pipe", "--volatile=overlay", "--system-call-filter=bpf", *options),
    ]
    join = f'for g in {" ".join(map(str, groups))}; do echo $$ >$g/cgroup.procs; done; exec "$@"'
    container = subprocess.Popen(
        ["bash", "-c", join, "-", *command],
        env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield _wait_until_booted(container)
    finally:
        container.terminate()
        container.communicate(timeout=_LIMIT)
        for group in groups:
            for subgroup in sorted(group.rglob("*"), reverse=True):
                if subgroup.is_dir():
                    subgroup.rmdir()
            group.rmdir()


def _wait_until_booted(container: subprocess.Popen[bytes]) -> Machine:
    """Waits until the system of a container runs; returns its machine."""
    end = time.monotonic() + _LIMIT
    children = Path(f"/proc/{container.pid}/task/{container.pid}/children")
    while True:
        # The last child becomes process 1; the earlier ones set up its namespaces and end.
        pids = children.read_text().split()
        machine = Machine(int(pids[-1])) if pids else None
        if machine and machine.run("systemctl", "is-system-running", check=False).strip() in ("running", "degraded"):
            return machine
        assert container.poll() is None, container.communicate()[0].decode()
        assert time.monotonic() < end, "the container does not boot"
        time.sleep(0.05)


@dataclass(frozen=True)
class Site:
    """The service in its machine."""

    machine: Machine
    endpoint: str
    port: int
    admin_port: int

    @classmethod
    def of(cls, machine: Machine, endpoint: str) -> Site:
        """A site with good files in front of an S3."""
        site = cls(machine, endpoint, free_port(), free_port(3))
        site.configure()
        site.answer_with("first")
        return site

    @property
    def address(self) -> tuple[str, int]:
        """The address of the service."""
        return "127.0.0.1", self.port

    @property
    def admin(self) -> Admin:
        """A client of the service's admin listener."""
        return Admin(f"http://127.0.0.1:{self.admin_port}")

    def configure(self, more: str = "") -> None:
        """Writes the configuration, with more lines at its end."""
        text = CONFIGURATION.format(endpoint=self.endpoint, port=self.port, admin=self.admin_port)
        self.machine.write("/etc/tornado-proxy/proxy.yaml", text + more)

    def write_rules(self, text: str) -> None:
        """Writes the rules."""
        self.machine.write("/etc/tornado-proxy/rules/site.rules", text)

    def answer_with(self, word: str) -> None:
        """Makes the service answer `/NAME` with `word/NAME.txt`."""
        self.write_rules(RULES.format(word))

    def drop_in(self, text: str, unit: str = UNIT) -> None:
        """Changes a unit by a drop-in, as an administrator does."""
        self.machine.write(f"/etc/systemd/system/{unit}.d/test.conf", text)
        self.machine.systemctl("daemon-reload")

    def listen_by(self, unit: str = SOCKET, place: str = "") -> None:
        """Has a socket unit listen in another place than its own, that of the service if none is given."""
        self.drop_in(f"[Socket]\nListenStream=\nListenStream={place or f'127.0.0.1:{self.port}'}\n", unit)

    def get(self, path: str, user: str | None = None) -> tuple[int, str]:
        """Sends a GET and returns status and text."""
        user_headers = {"Authorization": "Basic " + b64encode(user.encode()).decode()} if user else {}
        answer = exchange(self.address, "GET", path, headers=user_headers)
        return answer.status, answer.text


@contextmanager
def boot_site(release: str, endpoint: str, folder: Path) -> Iterator[Site]:
    """Boots a release without the service, with a folder at /root/dist and good files for the service."""
    with boot_bare(release, f"--bind-ro={folder}:/root/dist", f"--bind-ro={WHEELS}:/wheels") as machine:
        pip = "[global]\nno-index = yes\nfind-links = /wheels\ndisable-pip-version-check = yes\n"
        machine.write("/etc/pip.conf", pip)
        # Other tests leave this mount point behind.
        machine.run("rm", "--recursive", "--force", str(PROGRAM))
        site = Site.of(machine, endpoint)
        for socket_unit in ("tornado-proxy.socket", "tornado-proxy-instances.socket"):
            site.listen_by(socket_unit)
        site.listen_by("tornado-proxy-admin@.socket", f"127.0.0.1:{site.admin_port // 10}%i")
        yield site
