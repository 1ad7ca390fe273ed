"""The files of deploy/ fit the service: its options, probes and ports, and a ConfigMap that is updated while it serves."""

import re
from pathlib import Path

import pytest
import yaml
from administering import RULES, Admin, eventually
from endless_s3 import endless_s3
from running import start_proxy
from steady_load import under_load

from tornado_proxy.admin.application import PATHS
from tornado_proxy.cli.main import load_command, main

DEPLOY = Path(__file__).parent.parent / "deploy"
SCALING = (DEPLOY.parent / "docs" / "scaling.md").read_text(encoding="utf-8")
FILES = DEPLOY / "kubernetes" / "files"
(DEPLOYMENT, *_) = yaml.safe_load_all((DEPLOY / "kubernetes" / "deployment.yaml").read_text())
(CONTAINER,) = DEPLOYMENT["spec"]["template"]["spec"]["containers"]


def test_the_container_is_started_with_options_that_exist():
    name, *arguments = CONTAINER["args"]
    parsed = load_command(name)[1].parse_args(arguments)
    assert str(parsed.config) == "/etc/tornado-proxy/proxy.yaml"
    assert str(parsed.last_good) == "/var/lib/tornado-proxy/last-good"


@pytest.mark.parametrize("probe", ["startupProbe", "readinessProbe", "livenessProbe"])
def test_probes_request_pages_that_exist(probe):
    """Each probe requests a page of the admin listener, or the health path of the configuration."""
    health_path = yaml.safe_load((FILES / "proxy.yaml").read_text())["server"]["healthPath"]
    pages = {"admin": PATHS, "http": (health_path,)}
    asked = CONTAINER[probe]["httpGet"]
    assert asked["path"] in pages[asked["port"]]


def test_ports_are_those_of_the_configuration():
    """The container's ports are those of the configuration in the ConfigMap, which listens on all interfaces."""
    configuration = yaml.safe_load((FILES / "proxy.yaml").read_text())
    listeners = [configuration["server"], configuration["internalServer"]]
    assert [port["containerPort"] for port in CONTAINER["ports"]] == [listener["port"] for listener in listeners]
    assert [listener["listenAddr"] for listener in listeners] == ["", ""]


@pytest.mark.parametrize(
    "command",
    [
        ["serve", "--check", "--config", str(FILES / "proxy.yaml")],
        ["test", str(FILES), "--fail-under", "100"],
        ["lint", str(FILES), "--config", str(FILES / "proxy.yaml")],
        ["fmt", "--check", str(FILES)],
    ],
    ids=lambda command: command[0],
)
def test_the_files_of_the_config_map_pass_all_checks(command):
    """The commands that check files find nothing wrong with the configuration and the rules of the ConfigMap."""
    assert main(command) == 0


class ConfigMap:
    """A folder that is updated as the kubelet updates a ConfigMap: files are links into `..data`, a link that is replaced."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._number = 0

    def replace(self, **files: str) -> None:
        """Replaces all files at once."""
        self._number += 1
        version = self.folder / f"..2026_{self._number}"
        version.mkdir(parents=True)
        for name, text in files.items():
            (version / f"{name}.{'yaml' if name == 'proxy' else 'rules'}").write_text(text)
        (self.folder / "..data_tmp").symlink_to(version.name)
        (self.folder / "..data_tmp").rename(self.folder / "..data")
        for path in version.iterdir():
            if not (self.folder / path.name).is_symlink():
                (self.folder / path.name).symlink_to(f"..data/{path.name}")


def _configuration(endpoint: str, prefix: str) -> str:
    """The configuration of the ConfigMap, changed to free ports and a test's S3."""
    text = (FILES / "proxy.yaml").read_text()
    bucket = f'prefix: {prefix}, s3Endpoint: "{endpoint}", s3ForcePathStyle: true, '
    credentials = "credentials: {accessKey: {env: ACCESS}, secretKey: {env: SECRET}}"
    for before, after in {
        'listenAddr: "", port: 8080,': "port: 0,",
        'listenAddr: "", port: 9090': "port: 0",
        "format: json": "format: text",
        "region: eu-west-1": bucket + credentials,
    }.items():
        assert before in text
        text = text.replace(before, after)
    return text


def test_an_update_of_the_config_map_is_one_edit(tmp_path):
    """An update puts configuration and rules in force together; one with a mistake changes nothing; no request fails."""
    with endless_s3() as (endpoint, _):
        mounted = ConfigMap(tmp_path)
        mounted.replace(proxy=_configuration(endpoint, "one"), site=RULES.format("first"))
        with start_proxy(tmp_path, _configuration(endpoint, "one")) as proxy, under_load(proxy.address, 2) as load:
            load.wait_for_answers(5)
            mounted.replace(proxy=_configuration(endpoint, "two"), site='target site { rewrite `^/(` -> "/x" }\n')
            Admin.of(proxy).wait_for_status(lambda status: (status["lastAttempt"] or {}).get("outcome") == "refused")
            load.wait_for_answers(5)
            mounted.replace(proxy=_configuration(endpoint, "three"), site=RULES.format("second"))
            eventually(lambda: b"three/second/a.txt" in load.answers)
        assert load.failures == []
        assert set(load.answers) == {b"one/first/a.txt", b"three/second/a.txt"}


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(deploy/[\w./-]+)`", SCALING))))
def test_the_page_names_files_that_exist(name):
    """Each file of deploy/ that docs/scaling.md names exists."""
    assert (DEPLOY.parent / name).exists()
