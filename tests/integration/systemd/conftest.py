"""A systemd with the service installed from the wheel, and an S3 on the loopback that both share."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from endless_s3 import endless_s3
from machines import RELEASES, Site, boot, build_package, build_wheel, install_program, skip_without
from programs import ROOT


@pytest.fixture(scope="session")
def program(tmp_path_factory) -> Path:
    """The folder of the program, installed from the wheel."""
    skip_without()
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
        yield Site.of(machine, s3)


@pytest.fixture(scope="session", params=RELEASES)
def site_program(request, tmp_path_factory) -> tuple[str, Path]:
    """A release, and the folder of the program that was installed in it."""
    skip_without()
    return request.param, install_program(tmp_path_factory.mktemp("program"), request.param)


@pytest.fixture
def every_site(site_program, s3) -> Iterator[Site]:
    """What `site` is, in each release."""
    release, program = site_program
    with boot(program, release) as machine:
        yield Site.of(machine, s3)


@pytest.fixture(scope="session")
def wheels(tmp_path_factory) -> Path:
    """A folder with the results of `make dist`, for the versions 0.1.0 and 0.2.0."""
    skip_without()
    folder = tmp_path_factory.mktemp("wheels")
    for version in ("0.1.0", "0.2.0"):
        shutil.copy(build_wheel(tmp_path_factory.mktemp("built"), version), folder)
    shutil.copy(ROOT / "constraints.txt", folder)
    return folder


@pytest.fixture(scope="session", params=RELEASES)
def packages(request, wheels, tmp_path_factory) -> tuple[str, Path]:
    """A release, and a folder with the Debian packages that were built in it."""
    folder = tmp_path_factory.mktemp("packages")
    for wheel in wheels.glob("*.whl"):
        build_package(request.param, wheel, folder)
    return request.param, folder
