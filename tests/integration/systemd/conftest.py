"""A systemd with the service installed from the wheel, and an S3 on the loopback that both share."""

import http.client
import shutil
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from administering import RULES, Admin
from endless_s3 import endless_s3
from running import free_port

sys.path.insert(0, str(Path(__file__).parent))  # for `machine`, which only these tests use

from machine import (
    PROGRAM,
    RELEASES,
    WHEELS,
    Machine,
    boot,
    boot_bare,
    build_package,
    build_wheel,
    install_program,
    missing,
)

CHECKOUT = Path(__file__).parents[3]
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
UNIT = "tornado-proxy.service"


@dataclass(frozen=True)
class Site:
    """The service in its machine."""

    machine: Machine
    endpoint: str
    port: int
    admin_port: int

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

    def get(self, path: str, user: str | None = None) -> tuple[int, str]:
        """Sends a GET and returns status and text."""
        headers = {"Authorization": "Basic " + b64encode(user.encode()).decode()} if user else {}
        with closing(http.client.HTTPConnection(*self.address, timeout=90)) as connection:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()


@pytest.fixture(scope="session")
def program(tmp_path_factory) -> Path:
    """The folder of the program, installed from the wheel."""
    if missing():
        pytest.skip(missing())
    return install_program(tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The endpoint of an S3."""
    with endless_s3() as (endpoint, _):
        yield endpoint


@pytest.fixture
def site(program, s3) -> Iterator[Site]:
    """A freshly booted machine with good files; the service isn't started yet."""
    with boot(program) as machine:
        created = Site(machine, s3, free_port(), free_port(3))
        created.configure()
        created.answer_with("first")
        yield created


@pytest.fixture(scope="session", params=RELEASES)
def site_program(request, tmp_path_factory) -> tuple[str, Path]:
    """A release, and the folder of the program that was installed in it."""
    if missing():
        pytest.skip(missing())
    return request.param, install_program(tmp_path_factory.mktemp("program"), request.param)


@pytest.fixture
def every_site(site_program, s3) -> Iterator[Site]:
    """What `site` is, in each release."""
    release, program = site_program
    with boot(program, release) as machine:
        created = Site(machine, s3, free_port(), free_port(3))
        created.configure()
        created.answer_with("first")
        yield created


@pytest.fixture(scope="session")
def wheels(tmp_path_factory) -> Path:
    """A folder with the results of `make dist`, for the versions 0.1.0 and 0.2.0."""
    if missing():
        pytest.skip(missing())
    folder = tmp_path_factory.mktemp("wheels")
    for version in ("0.1.0", "0.2.0"):
        shutil.copy(build_wheel(tmp_path_factory.mktemp("built"), version), folder)
    shutil.copy(CHECKOUT / "constraints.txt", folder)
    return folder


@pytest.fixture(scope="session", params=RELEASES)
def packages(request, wheels, tmp_path_factory) -> tuple[str, Path]:
    """A release, and a folder with the Debian packages that were built in it."""
    folder = tmp_path_factory.mktemp("packages")
    for wheel in wheels.glob("*.whl"):
        build_package(request.param, wheel, folder)
    return request.param, folder


@contextmanager
def boot_site(release: str, endpoint: str, folder: Path) -> Iterator[Site]:
    """Boots a release without the service, with a folder at /root/dist and good files for the service."""
    with boot_bare(release, f"--bind-ro={folder}:/root/dist", f"--bind-ro={WHEELS}:/wheels") as machine:
        machine.write(
            "/etc/pip.conf", "[global]\nno-index = yes\nfind-links = /wheels\ndisable-pip-version-check = yes\n"
        )
        # Other tests leave this mount point behind.
        machine.run("rm", "--recursive", "--force", str(PROGRAM))
        site = Site(machine, endpoint, free_port(), free_port(3))
        site.configure()
        site.answer_with("first")
        for socket_unit in ("tornado-proxy.socket", "tornado-proxy-instances.socket"):
            site.drop_in(f"[Socket]\nListenStream=\nListenStream=127.0.0.1:{site.port}\n", socket_unit)
        site.drop_in(
            f"[Socket]\nListenStream=\nListenStream=127.0.0.1:{site.admin_port // 10}%i\n",
            "tornado-proxy-admin@.socket",
        )
        yield site
