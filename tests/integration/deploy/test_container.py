"""The Containerfile builds an image that serves as nobody, on a read-only file system."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from administering import RULES, Admin, eventually
from endless_s3 import endless_s3
from running import Proxy, free_port

pytestmark = pytest.mark.integration

CHECKOUT = Path(__file__).parents[3]
PARTS = Path(os.environ.get("TORNADO_PROXY_PARTS", "/var/cache/tornado-proxy"))
BASE = PARTS / "systemd-trixie"
CONFIGURATION = """
server: {{port: {port}}}
internalServer: {{port: {admin}}}
rules: [.]
targets:
  site:
    mount: {{path: [/]}}
    bucket: {{name: some-bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true,
              credentials: {{accessKey: {{value: key}}, secretKey: {{value: secret}}}}}}
"""
# Without a service manager of its own, podman makes no timers; and it raises no limit that is lower here.
RUN = ("--network=host", "--no-healthcheck", "--ulimit=nofile=8192:8192", "--ulimit=nproc=4096:4096")
CONFINED = (
    *("--read-only", "--read-only-tmpfs=false", "--cap-drop=all", "--security-opt=no-new-privileges"),
    "--tmpfs=/var/lib/tornado-proxy",
)


class Containers:
    """Podman and buildah with a store of their own."""

    def __init__(self, folder: Path) -> None:
        self._where = ["--storage-driver=vfs", f"--root={folder}/storage", f"--runroot={folder}/run"]

    def podman(self, *words: str, **more: object) -> str:
        """The output of podman."""
        return self._run("podman", "--cgroup-manager=cgroupfs", "--runtime=runc", *self._where, *words, **more)

    def buildah(self, *words: str) -> str:
        """The output of buildah."""
        return self._run("buildah", *self._where, *words)

    @staticmethod
    def _run(*command: str, **more: object) -> str:
        result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **more)
        assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
        return result.stdout


@pytest.fixture(scope="module")
def containers(tmp_path_factory) -> Iterator[Containers]:
    """The image, built as `deploy/Containerfile` says, from a base that was bootstrapped here."""
    if not (BASE / ".complete").exists() or not shutil.which("buildah") or not shutil.which("runc"):
        pytest.skip("no base or no buildah: run `tests/integration/install systemd containers`")
    folder = tmp_path_factory.mktemp("containers")
    dist = folder / "dist"
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(dist), str(CHECKOUT)]
    subprocess.run(build, check=True, capture_output=True)
    shutil.copy(CHECKOUT / "constraints.txt", dist)
    (folder / "pip.conf").write_text("[global]\nno-index = yes\nfind-links = /wheels\n")
    made = Containers(folder)
    pack = ["tar", "-C", str(BASE), "--exclude=./dev", "--exclude=./proc", "--exclude=./sys", "-c", "."]
    with subprocess.Popen(pack, stdout=subprocess.PIPE) as packing:
        made.podman("import", "-", "localhost/base", stdin=packing.stdout)
    assert packing.returncode == 0
    made.buildah(
        *("build", "--isolation=chroot", "--format=docker", "--network=host", "--build-arg=BASE=localhost/base"),
        *(f"--volume={PARTS / 'systemd-wheels'}:/wheels:ro", f"--volume={folder / 'pip.conf'}:/etc/pip.conf:ro"),
        *("--file", str(CHECKOUT / "deploy" / "Containerfile"), "--tag=tornado-proxy", str(dist)),
    )
    yield made
    made.podman("rmi", "--all", "--force")


@contextmanager
def _running(containers: Containers, folder: Path) -> Iterator[tuple[Proxy, Admin]]:
    """A container that serves the files of a folder."""
    with endless_s3() as (endpoint, _):
        port, admin = free_port(), free_port()
        (folder / "proxy.yaml").write_text(CONFIGURATION.format(port=port, admin=admin, endpoint=endpoint))
        (folder / "site.rules").write_text(RULES.format("first"))
        folder.chmod(0o755)
        mount = f"--volume={folder}:/etc/tornado-proxy:ro"
        containers.podman("run", "--detach", "--name=served", *RUN, *CONFINED, mount, "localhost/tornado-proxy")
        try:
            listening = Admin(f"http://127.0.0.1:{admin}")
            eventually(lambda: _is_ready(listening))
            yield Proxy(None, f"http://127.0.0.1:{port}"), listening
        finally:
            containers.podman("rm", "--force", "--time=10", "served")


def _is_ready(admin: Admin) -> bool:
    try:
        return admin.request("GET", "/-/ready")[0] == 200
    except OSError:
        return False


def test_a_confined_container_serves_and_takes_edits(containers, tmp_path):
    """Without a right and without a place to write, it answers, and an edit of a mounted rule file is in force."""
    with _running(containers, tmp_path) as (proxy, _):
        assert proxy.request("GET", "/a").text == "first/a.txt"
        (tmp_path / "site.rules").write_text(RULES.format("second"))
        eventually(lambda: proxy.request("GET", "/a").text == "second/a.txt")


def test_it_runs_as_nobody(containers, tmp_path):
    """The process has neither root's number nor a capability, and cannot write to its own file system."""
    with _running(containers, tmp_path):
        status = containers.podman("exec", "served", "cat", "/proc/1/status")
        fields = dict(line.split(":\t", 1) for line in status.splitlines())
        assert fields["Uid"].split() == ["65532"] * 4
        assert fields["CapEff"] == "0" * 16
        write = "try: open('/opt/x', 'w')\nexcept OSError as error: print(error.strerror)"
        assert containers.podman("exec", "served", "python3", "-c", write).strip() == "Read-only file system"


def test_its_health_check_asks_the_admin_listener(containers, tmp_path):
    """The image's health check succeeds where the admin listener is at its usual port, and fails where it is not."""
    (image,) = json.loads(containers.podman("image", "inspect", "localhost/tornado-proxy"))
    check = image["Healthcheck"]["Test"][1:]
    assert "http://127.0.0.1:9090/-/ready" in check[-1]
    with _running(containers, tmp_path) as (_, admin):
        here = [word.replace("http://127.0.0.1:9090", admin.url) for word in check]
        containers.podman("exec", "served", *here)
        nowhere = [word.replace("9090", str(free_port())) for word in check]
        with pytest.raises(AssertionError, match="Connection refused"):
            containers.podman("exec", "served", *nowhere)


def test_it_stops_at_once_when_told(containers, tmp_path):
    """`podman stop` sends SIGTERM to the service itself, which ends with status 0."""
    with _running(containers, tmp_path):
        containers.podman("stop", "--time=20", "served")
        (container,) = json.loads(containers.podman("inspect", "served"))
        assert container["State"]["ExitCode"] == 0
