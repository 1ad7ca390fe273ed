"""docs/operations.md installs the service: its commands run as they stand there, on Debian 12 and 13."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from administering import Admin, eventually
from steady_load import under_load

sys.path.insert(0, str(Path(__file__).parent))  # modules that only these tests use

from conftest import CHECKOUT, Site, boot_site
from machine import RELEASES, build_package

pytestmark = pytest.mark.integration

PAGE = (CHECKOUT / "docs" / "operations.md").read_text(encoding="utf-8")
UNIT = "tornado-proxy.service"


def _blocks(title: str) -> list[str]:
    """The blocks of commands in a section."""
    (section,) = re.findall(rf"^### {title}\n(.*?)^##", PAGE, re.MULTILINE | re.DOTALL)
    return re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


def _run(site: Site, *blocks: str) -> None:
    for line in "".join(blocks).splitlines():
        site.machine.run("bash", "-c", f"cd /root/dist && {line}")


def _installed(site: Site, *, instances: bool) -> None:
    """Follow the section about the wheel, and one of the two ways to start."""
    environment, files, one, several = _blocks("From the wheel")
    _run(site, environment, files, several if instances else one)


@pytest.mark.parametrize("release", RELEASES)
def test_the_page_installs_upgrades_and_goes_back(release, wheels, s3):
    """The commands about the wheel run, and the upgrade and the way back lose no request."""
    upgrade, back = _blocks("Upgrade and rollback")
    with boot_site(release, s3, wheels) as site:
        _installed(site, instances=False)
        assert "0.1.0" in site.machine.run("tornado-proxy", "--version")
        assert site.get("/a") == (200, "first/a.txt")
        with under_load(site.address) as load:
            for step, version in ((upgrade, "0.2.0"), (back, "0.1.0")):
                load.wait_for_answers()
                _run(site, step)
                assert site.admin.status()["version"] == version
            load.wait_for_answers()
        assert load.failures == []
        print(f"{release}: {load.answered} requests over an upgrade and a rollback")


@pytest.mark.parametrize("release", RELEASES)
def test_the_page_starts_instances(release, wheels, s3):
    """Both instances of the page run, and answer on one port."""
    with boot_site(release, s3, wheels) as site:
        _installed(site, instances=True)
        assert site.get("/a") == (200, "first/a.txt")
        assert [site.machine.show(f"tornado-proxy@{number}.service", "ActiveState") for number in "12"] == [
            "active"
        ] * 2


def test_the_page_runs_the_debian_package(packages, s3):
    """Installed, enabled, upgraded under load, taken back and purged by the page's commands; only the files stay."""
    release, folder = packages
    install, upgrade, back = _blocks("From the Debian package")
    with boot_site(release, s3, folder) as site:
        _run(site, install)
        assert site.get("/a") == (200, "first/a.txt")
        assert site.machine.systemctl("is-enabled", UNIT).strip() == "enabled"
        assert (
            site.machine.run("man", "-w", "tornado-proxy", "tornado-proxy.yaml", "tornado-proxy-rules").count(".gz")
            == 3
        )
        completion = "/usr/share/bash-completion/completions/tornado-proxy"
        assert "_tornado_proxy" in site.machine.run("bash", "-c", f"source {completion}; complete -p tornado-proxy")
        eventually(lambda: site.machine.path("/var/lib/private/tornado-proxy/last-good/snapshot.json").is_file())
        with under_load(site.address) as load:
            load.wait_for_answers()
            _run(site, upgrade)
            assert site.admin.status()["version"] == "0.2.0"
            load.wait_for_answers()
        assert load.failures == []
        downgrade, purge = back.splitlines()
        _run(site, downgrade)
        assert site.admin.status()["version"] == "0.1.0"
        _run(site, purge)
        left = site.machine.run(
            "find", "/usr", "/etc", "/var/lib", "-name", "*tornado-proxy*", "-not", "-path", "*/pip/*"
        )
        kept = [line for line in left.split() if not line.startswith("/etc/systemd/system/tornado-proxy")]
        assert kept == ["/etc/tornado-proxy"]
        assert site.machine.path("/etc/tornado-proxy/rules/site.rules").exists()
        assert site.machine.systemctl("is-system-running", check=False).strip() == "running"


def test_an_upgrade_of_the_debian_package_restarts_instances_one_by_one(packages, s3):
    """While the package is upgraded, the instances answer every request, and then both run the new version."""
    release, folder = packages
    install, upgrade, _ = _blocks("From the Debian package")
    *_, instances = _blocks("From the wheel")
    with boot_site(release, s3, folder) as site:
        _run(site, "".join(install.splitlines(keepends=True)[:-1]), instances)
        with under_load(site.address) as load:
            load.wait_for_answers()
            _run(site, upgrade)
            load.wait_for_answers()
        assert load.failures == []
        ports = [f"http://127.0.0.1:{site.admin_port // 10}{number}" for number in "12"]
        assert [Admin(port).status()["version"] for port in ports] == ["0.2.0"] * 2


def test_two_builds_of_the_debian_package_are_the_same(wheels, tmp_path):
    """Packages built twice from one wheel have the same bytes."""
    (wheel,) = wheels.glob("tornado_proxy-0.2.0*")
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    one, two = (build_package("trixie", wheel, folder).read_bytes() for folder in folders)
    assert one == two
