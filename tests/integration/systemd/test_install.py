"""The installation by docs/operations.md: its commands run unchanged on Debian 12 and 13."""

import re
import subprocess
from contextlib import ExitStack

import pytest
from administering import Admin, eventually
from balancers import haproxy
from machines import RELEASES, UNIT, Site, boot_site, build_package
from programs import ROOT
from steady_load import under_load

pytestmark = pytest.mark.integration

PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def _blocks(title: str) -> list[str]:
    """Returns the blocks of commands in a section."""
    (section,) = re.findall(rf"^### {title}\n(.*?)^##", PAGE, re.MULTILINE | re.DOTALL)
    return re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


def _run(site: Site, *blocks: str) -> None:
    for line in "".join(blocks).splitlines():
        site.machine.run("bash", "-c", f"cd /root/dist && {line}")


def _install(site: Site, *, instances: bool) -> None:
    """Runs the commands of the section about the wheel, with one of the two ways to start."""
    environment, files, start_one, start_instances = _blocks("From the wheel")
    _run(site, environment, files, start_instances if instances else start_one)


@pytest.mark.parametrize("release", RELEASES)
def test_the_wheel_is_installed_upgraded_and_rolled_back(release, wheels, s3):
    """The commands about the wheel succeed, and the upgrade and the rollback lose no request."""
    upgrade, rollback = _blocks("Upgrade and rollback")
    with boot_site(release, s3, wheels) as site:
        _install(site, instances=False)
        assert "0.1.0" in site.machine.run("tornado-proxy", "--version")
        assert site.get("/a") == (200, "first/a.txt")
        with under_load(site.address) as load:
            for step, version in ((upgrade, "0.2.0"), (rollback, "0.1.0")):
                load.wait_for_answers()
                _run(site, step)
                assert site.admin.status()["version"] == version
            load.wait_for_answers()
        assert load.failures == []
        print(f"{release}: {load.answered} requests over an upgrade and a rollback")


@pytest.mark.parametrize("release", RELEASES)
def test_two_instances_are_installed(release, wheels, s3):
    """Both instances of the page run, and answer on one port."""
    with boot_site(release, s3, wheels) as site:
        _install(site, instances=True)
        assert site.get("/a") == (200, "first/a.txt")
        assert {site.machine.show(f"tornado-proxy@{number}.service", "ActiveState") for number in "12"} == {"active"}


def test_the_debian_package_is_installed_upgraded_and_purged(packages, s3):
    """The commands about the Debian package install, enable, upgrade, downgrade and purge it; only the files stay."""
    release, folder = packages
    install, upgrade, rollback = _blocks("From the Debian package")
    with boot_site(release, s3, folder) as site:
        _run(site, install)
        assert site.get("/a") == (200, "first/a.txt")
        assert site.machine.systemctl("is-enabled", UNIT).strip() == "enabled"
        pages = site.machine.run("man", "-w", "tornado-proxy", "tornado-proxy.yaml", "tornado-proxy-rules")
        assert pages.count(".gz") == 3
        completion = "/usr/share/bash-completion/completions/tornado-proxy"
        assert "_tornado_proxy" in site.machine.run("bash", "-c", f"source {completion}; complete -p tornado-proxy")
        eventually(lambda: site.machine.path("/var/lib/private/tornado-proxy/last-good/snapshot.json").is_file())
        with under_load(site.address) as load:
            load.wait_for_answers()
            _run(site, upgrade)
            assert site.admin.status()["version"] == "0.2.0"
            load.wait_for_answers()
        assert load.failures == []
        downgrade, purge = rollback.splitlines()
        _run(site, downgrade)
        assert site.admin.status()["version"] == "0.1.0"
        _run(site, purge)
        folders = ("/usr", "/etc", "/var/lib")
        paths = site.machine.run("find", *folders, "-name", "*tornado-proxy*", "-not", "-path", "*/pip/*")
        kept = [line for line in paths.split() if not line.startswith("/etc/systemd/system/tornado-proxy")]
        assert kept == ["/etc/tornado-proxy"]
        assert site.machine.path("/etc/tornado-proxy/rules/site.rules").exists()
        assert site.machine.systemctl("is-system-running", check=False).strip() == "running"


def test_an_upgrade_of_the_debian_package_restarts_instances_one_by_one(packages, s3):
    """The instances answer every request during an upgrade of the package, and then run the new version."""
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


def test_an_upgrade_whose_files_are_refused_restarts_nothing(packages, s3):
    """An upgrade leaves an instance alone if the new version refuses its files, says so, and succeeds."""
    release, folder = packages
    install, upgrade, _ = _blocks("From the Debian package")
    with boot_site(release, s3, folder) as site:
        _run(site, install)
        site.configure("nonsense: true\n")
        output = site.machine.run("bash", "-c", f"cd /root/dist && {upgrade}")
        assert "tornado-proxy.service is not restarted, since the new version refuses its files" in output
        assert "unknown option `nonsense`" in output
        assert "what it has not done yet, such as a first upload or page, may fail" in output
        assert (site.admin.status()["version"], site.get("/a")) == ("0.1.0", (200, "first/a.txt"))


def test_packages_upgraded_and_taken_back_behind_haproxy_lose_no_request(packages, s3, tmp_path):
    """Three machines with the package get the next version one by one, and then the first again, under load."""
    release, folder = packages
    install, upgrade, rollback = _blocks("From the Debian package")
    with ExitStack() as stack:
        sites = [stack.enter_context(boot_site(release, s3, folder)) for _ in range(3)]
        for site in sites:
            _run(site, install)
        front = stack.enter_context(haproxy([site.port for site in sites], tmp_path))
        with under_load(front.address) as load:
            for step, version in ((upgrade, "0.2.0"), (rollback.splitlines()[0], "0.1.0")):
                for site in sites:
                    load.wait_for_answers()
                    _run(site, step)
                    assert site.admin.status()["version"] == version
            load.wait_for_answers()
    print(f"{release}: {load.answered} requests over an upgrade and a rollback of three machines")
    assert load.failures == []


def test_the_tutorial_ends_in_production(packages, s3):
    """The last step of the tutorial installs the package, its rule and the keys for S3, and the page is served."""
    release, folder = packages
    # The S3 of the tests has texts only.
    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8").replace("html", "txt")
    configuration, bucket = re.findall(r"^```yaml\n(.*?)^```", tutorial, re.MULTILINE | re.DOTALL)
    *_, rules = re.findall(r"^```rules\n(.*?)^```", tutorial, re.MULTILINE | re.DOTALL)
    own_s3 = bucket.replace("us-east-1,", f'us-east-1, s3Endpoint: "{s3}", s3ForcePathStyle: true,')
    with boot_site(release, s3, folder) as site:
        own_port = {"8080": site.port, "9090": site.admin_port}
        ports = re.sub("8080|9090", lambda port: str(own_port[port[0]]), configuration)
        site.machine.run("rm", "--recursive", "/etc/tornado-proxy")
        site.machine.write("/root/site/proxy.yaml", re.sub(r"^    bucket: .*\n", own_s3, ports, flags=re.MULTILINE))
        site.machine.write("/root/site/rules/site.rules", rules)
        site.machine.run("bash", "-c", "ln -s /root/dist/*_0.1.0-*.deb /root/site")
        output = ""
        last_step = tutorial.split("\n## 6. ")[1].replace(":8080", f":{site.port}")
        for language, text in re.findall(r"^```(ini|sh)\n(.*?)^```", last_step, re.MULTILINE | re.DOTALL):
            if language == "ini":
                site.machine.write(text.partition("\n")[0].removeprefix("# "), text)
            else:
                output = site.machine.run("bash", "-ec", f"cd /root/site\n{text}")
        assert "archive/press/spring.txt" in output
        assert "OK      site  my-bucket" in output


def test_the_documents_of_the_debian_package_have_no_dead_link(packages, tmp_path):
    """Each page and picture that the README or a page of the manual names is in the package."""
    subprocess.run(["dpkg-deb", "--extract", next(packages[1].glob("*.deb")), tmp_path], check=True)
    documents = tmp_path / "usr" / "share" / "doc" / "tornado-proxy"
    dead = [
        f"{page.name}: {link}"
        for page in (documents / "README.md", *documents.rglob("docs/*.md"))
        for link in re.findall(r"\]\(([^)#:]+)[)#]", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert dead == []
    assert "MIT" in (documents / "copyright").read_text(encoding="utf-8")


def test_the_debian_package_is_reproducible(wheels, tmp_path):
    """Two packages built from one wheel have the same bytes."""
    (wheel,) = wheels.glob("tornado_proxy-0.2.0*")
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    first, second = (build_package("trixie", wheel, folder).read_bytes() for folder in folders)
    assert first == second
