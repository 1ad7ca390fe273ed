"""The image of deploy/Containerfile serves without privileges on a read-only file system."""

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
# Podman has no service manager here for health checks, and must not raise the limits of this machine.
RUN = ("--network=host", "--no-healthcheck", "--ulimit=nofile=8192:8192", "--ulimit=nproc=4096:4096")
CONFINED = (
    *("--read-only", "--read-only-tmpfs=false", "--cap-drop=all", "--security-opt=no-new-privileges"),
    "--tmpfs=/var/lib/tornado-proxy",
)


class Containers:
    """Podman and buildah with their own store."""

    def __init__(self, folder: Path) -> None:
        self._store_options = ["--storage-driver=vfs", f"--root={folder}/storage", f"--runroot={folder}/run"]

    def podman(self, *arguments: str, **options: object) -> str:
        """Runs podman and returns its output."""
        return self._run(
            "podman", "--cgroup-manager=cgroupfs", "--runtime=runc", *self._store_options, *arguments, **options
        )

    def buildah(self, *arguments: str) -> str:
        """Runs buildah and returns its output."""
        return self._run("buildah", *self._store_options, *arguments)

    @staticmethod
    def _run(*command: str, **options: object) -> str:
        result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)
        assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
        return result.stdout


@pytest.fixture(scope="module")
def containers(tmp_path_factory) -> Iterator[Containers]:
    """Builds the image from deploy/Containerfile and a locally bootstrapped base."""
    if not (BASE / ".complete").exists() or not shutil.which("buildah") or not shutil.which("runc"):
        pytest.skip("no base or no buildah: run `tests/integration/install systemd containers`")
    folder = tmp_path_factory.mktemp("containers")
    dist = folder / "dist"
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(dist), str(CHECKOUT)]
    subprocess.run(build, check=True, capture_output=True)
    shutil.copy(CHECKOUT / "constraints.txt", dist)
    (folder / "pip.conf").write_text("[global]\nno-index = yes\nfind-links = /wheels\n")
    created = Containers(folder)
    command = ["tar", "-C", str(BASE), "--exclude=./dev", "--exclude=./proc", "--exclude=./sys", "-c", "."]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as archive:
        created.podman("import", "-", "localhost/base", stdin=archive.stdout)
    assert archive.returncode == 0
    created.buildah(
        *("build", "--isolation=chroot", "--format=docker", "--network=host", "--build-arg=BASE=localhost/base"),
        *(f"--volume={PARTS / 'systemd-wheels'}:/wheels:ro", f"--volume={folder / 'pip.conf'}:/etc/pip.conf:ro"),
        *("--file", str(CHECKOUT / "deploy" / "Containerfile"), "--tag=tornado-proxy", str(dist)),
    )
    yield created
    created.podman("rmi", "--all", "--force")


@contextmanager
def _running_container(containers: Containers, folder: Path) -> Iterator[tuple[Proxy, Admin]]:
    """Runs a container that serves the files of a folder."""
    with endless_s3() as (endpoint, _):
        port, admin_port = free_port(), free_port()
        (folder / "proxy.yaml").write_text(CONFIGURATION.format(port=port, admin=admin_port, endpoint=endpoint))
        (folder / "site.rules").write_text(RULES.format("first"))
        folder.chmod(0o755)
        mount = f"--volume={folder}:/etc/tornado-proxy:ro"
        containers.podman("run", "--detach", "--name=served", *RUN, *CONFINED, mount, "localhost/tornado-proxy")
        try:
            admin_client = Admin(f"http://127.0.0.1:{admin_port}")
            eventually(lambda: _is_ready(admin_client))
            yield Proxy(None, f"http://127.0.0.1:{port}"), admin_client
        finally:
            containers.podman("rm", "--force", "--time=10", "served")


def _is_ready(admin: Admin) -> bool:
    try:
        return admin.request("GET", "/-/ready")[0] == 200
    except OSError:
        return False


def test_a_confined_container_serves_and_reloads(containers, tmp_path):
    """A container without capabilities and writable files serves, and loads an edit of a mounted rule file."""
    with _running_container(containers, tmp_path) as (proxy, _):
        assert proxy.request("GET", "/a").text == "first/a.txt"
        (tmp_path / "site.rules").write_text(RULES.format("second"))
        eventually(lambda: proxy.request("GET", "/a").text == "second/a.txt")


def test_the_service_runs_without_privileges(containers, tmp_path):
    """The process has neither root's user ID nor a capability, and cannot write to its file system."""
    with _running_container(containers, tmp_path):
        status = containers.podman("exec", "served", "cat", "/proc/1/status")
        fields = dict(line.split(":\t", 1) for line in status.splitlines())
        assert fields["Uid"].split() == ["65532"] * 4
        assert fields["CapEff"] == "0" * 16
        write = "try: open('/opt/x', 'w')\nexcept OSError as error: print(error.strerror)"
        assert containers.podman("exec", "served", "python3", "-c", write).strip() == "Read-only file system"


def test_the_health_check_requests_the_admin_listener(containers, tmp_path):
    """The image's health check succeeds if the admin listener is ready, and fails if nothing listens."""
    (image,) = json.loads(containers.podman("image", "inspect", "localhost/tornado-proxy"))
    check = image["Healthcheck"]["Test"][1:]
    assert "http://127.0.0.1:9090/-/ready" in check[-1]
    with _running_container(containers, tmp_path) as (_, admin):
        ready_check = [word.replace("http://127.0.0.1:9090", admin.url) for word in check]
        containers.podman("exec", "served", *ready_check)
        failing_check = [word.replace("9090", str(free_port())) for word in check]
        with pytest.raises(AssertionError, match="Connection refused"):
            containers.podman("exec", "served", *failing_check)


def test_the_service_ends_on_sigterm(containers, tmp_path):
    """`podman stop` sends SIGTERM to the service, which ends with status 0."""
    with _running_container(containers, tmp_path):
        containers.podman("stop", "--time=20", "served")
        (container,) = json.loads(containers.podman("inspect", "served"))
        assert container["State"]["ExitCode"] == 0
