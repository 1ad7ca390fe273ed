"""The image of deploy/Containerfile serves without privileges on a read-only file system."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from administering import RULES, Admin, eventually
from balancers import haproxy
from endless_s3 import endless_s3
from programs import PARTS, ROOT, built, output_of, part, program
from running import Proxy, free_port
from steady_load import under_load

pytestmark = pytest.mark.integration

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
        command = ("podman", "--cgroup-manager=cgroupfs", "--runtime=runc", *self._store_options, *arguments)
        return output_of(*command, timeout=300, **options)

    def buildah(self, *arguments: str) -> str:
        """Runs buildah and returns its output."""
        return output_of("buildah", *self._store_options, *arguments, timeout=300)


@pytest.fixture(scope="module")
def containers(tmp_path_factory) -> Iterator[Containers]:
    """A store with images of the versions 0.1.0 and 0.1.1, from deploy/Containerfile and a locally bootstrapped base."""
    part("systemd-trixie/.complete", "systemd")
    for name in ("buildah", "runc"):
        program(name, "containers")
    folder = tmp_path_factory.mktemp("containers")
    (folder / "pip.conf").write_text("[global]\nno-index = yes\nfind-links = /wheels\n")
    created = Containers(folder)
    command = ["tar", "-C", str(BASE), "--exclude=./dev", "--exclude=./proc", "--exclude=./sys", "-c", "."]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as archive:
        created.podman("import", "-", "localhost/base", stdin=archive.stdout)
    assert archive.returncode == 0
    for version in ("0.1.1", "0.1.0"):
        created.buildah(
            *("build", "--isolation=chroot", "--format=docker", "--network=host", "--build-arg=BASE=localhost/base"),
            *(f"--volume={PARTS / 'systemd-wheels'}:/wheels:ro", f"--volume={folder / 'pip.conf'}:/etc/pip.conf:ro"),
            *("--file", str(ROOT / "deploy" / "Containerfile"), f"--tag=tornado-proxy:{version}"),
            *("--tag=tornado-proxy", str(_dist(folder / version, version))),
        )
    yield created
    created.podman("rmi", "--all", "--force")


def _dist(folder: Path, version: str) -> Path:
    """What `make dist` builds of a commit with the tag of a version."""
    built("wheel", folder, version)
    shutil.copy(ROOT / "constraints.txt", folder)
    return folder


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
            eventually(admin_client.is_ready)
            yield Proxy(None, f"http://127.0.0.1:{port}"), admin_client
        finally:
            containers.podman("rm", "--force", "--time=10", "served")


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


def test_images_upgraded_and_taken_back_behind_haproxy_lose_no_request(containers, tmp_path):
    """Three containers of version 0.1.0 become 0.1.1 one by one behind HAProxy, then 0.1.0 again, under load."""
    ports, admin_ports = [free_port() for _ in range(3)], [free_port() for _ in range(3)]
    admins = [Admin(f"http://127.0.0.1:{port}") for port in admin_ports]

    def replace(number: int, version: str) -> None:
        containers.podman("rm", "--force", "--ignore", "--time=20", f"instance-{number}")
        mount = f"--volume={tmp_path / str(number)}:/etc/tornado-proxy:ro"
        image = f"localhost/tornado-proxy:{version}"
        containers.podman("run", "--detach", f"--name=instance-{number}", *RUN, *CONFINED, mount, image)
        eventually(admins[number].is_ready)
        assert admins[number].status()["version"] == version

    with endless_s3() as (endpoint, _):
        for number, (port, admin_port) in enumerate(zip(ports, admin_ports, strict=True)):
            folder = tmp_path / str(number)
            folder.mkdir()
            text = CONFIGURATION.format(port=port, admin=admin_port, endpoint=endpoint)
            (folder / "proxy.yaml").write_text(text.replace(f"port: {port}", f"port: {port}, healthPath: /-/healthz"))
            (folder / "site.rules").write_text(RULES.format("first"))
        tmp_path.chmod(0o755)
        try:
            for number in range(3):
                replace(number, "0.1.0")
            with haproxy(ports, tmp_path) as front, under_load(front.address) as load:
                for version in ("0.1.1", "0.1.0"):
                    for number in range(3):
                        load.wait_for_answers()
                        replace(number, version)
                        # HAProxy sends requests to the instance again once its check has succeeded.
                        eventually(lambda: admins[number].metric("tornado_proxy_rewrite_hits_total") > 0)  # noqa: B023 - called at once
                load.wait_for_answers()
        finally:
            containers.podman("rm", "--force", "--ignore", "--time=10", *(f"instance-{number}" for number in range(3)))
    print(f"{load.answered} requests over an upgrade and a rollback of three containers")
    assert load.failures == []
