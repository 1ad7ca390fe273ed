"""Three instances behind HAProxy, nginx and Varnish, with the configurations of deploy/."""

import re
import signal
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest
from administering import RULES, Admin, eventually
from balancers import deployed, haproxy, running
from endless_s3 import endless_s3
from programs import ROOT, built, output_of
from running import Proxy, free_port, start_proxy
from steady_load import under_load

pytestmark = pytest.mark.integration

CONFIGURATION = """
server: {{port: {port}, healthPath: /-/healthz, trustedProxies: [127.0.0.1], cache: {{cacheControl: "public, max-age=1"}}}}
rules: [rules]
targets:
  site:
    mount: {{path: [/]}}
    bucket: {{name: some-bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true}}
"""


class Instances:
    """Three instances, each with its own files."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self._folder = folder
        self._endpoint = endpoint
        self.ports = [free_port() for _ in range(3)]
        self._running: dict[int, tuple[ExitStack, Proxy]] = {}

    def start(self, number: int, rules: str = RULES.format("first"), python: str = sys.executable) -> None:
        """Starts an instance, with the program that a Python has installed."""
        stack = ExitStack()
        configuration = CONFIGURATION.format(port=self.ports[number], endpoint=self._endpoint)
        files = {"site": rules} if rules else {}
        started = start_proxy(self._folder / str(number), configuration, python=python, **files)
        self._running[number] = stack, stack.enter_context(started)

    def stop(self, number: int) -> None:
        """Stops an instance, and waits until it has ended."""
        stack, _ = self._running.pop(number)
        stack.close()

    def admin(self, number: int) -> Admin:
        """Returns the admin listener of an instance."""
        return Admin.of(self._running[number][1])

    def send(self, number: int, signal_number: int) -> None:
        """Sends a signal to an instance."""
        self._running[number][1].process.send_signal(signal_number)

    def lines(self) -> list[str]:
        """Returns the log lines of all running instances."""
        return [line for _, proxy in self._running.values() for line in proxy.lines]

    def write_rules(self, number: int, text: str) -> None:
        """Replaces the rules of an instance."""
        (self._folder / str(number) / "rules" / "site.rules").write_text(text)

    def stop_all(self) -> None:
        """Stops all running instances."""
        for number in list(self._running):
            self.stop(number)


@pytest.fixture
def instances(tmp_path) -> Iterator[Instances]:
    """Three running instances in front of an S3."""
    with endless_s3() as (endpoint, _):
        started = Instances(tmp_path / "instances", endpoint)
        try:
            for number in range(3):
                started.start(number)
            yield started
        finally:
            started.stop_all()


def _haproxy(instances: Instances, folder: Path) -> AbstractContextManager[Proxy]:
    return haproxy(instances.ports, folder)


@contextmanager
def _nginx(instances: Instances, folder: Path) -> Iterator[Proxy]:
    port = free_port()
    cache = deployed("nginx-cache.conf", instances.ports, port).replace("/var/cache/nginx/files", f"{folder}/cache")
    names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{name}_temp_path {folder}/{name};" for name in names)
    path = folder / "nginx.conf"
    path.write_text(
        f"user root; daemon off; pid {folder}/pid; error_log {folder}/log;\nevents {{}}\nhttp {{ access_log off; {temporary}\n{cache} }}\n"
    )
    with running(["nginx", "-p", str(folder), "-c", str(path)], port) as proxy:
        yield proxy


@contextmanager
def _varnish(instances: Instances, folder: Path) -> Iterator[Proxy]:
    port = free_port()
    path = folder / "varnish.vcl"
    path.write_text(deployed("varnish.vcl", instances.ports, port))
    command = ["varnishd", "-F", "-f", str(path), "-a", f"127.0.0.1:{port}", "-n", str(folder / "varnish")]
    with running([*command, "-j", "none", "-s", "malloc,16m"], port) as proxy:
        eventually(lambda: proxy.request("GET", "/ready").status == 200)
        yield proxy


shared_caches = pytest.mark.parametrize("cache", [_nginx, _varnish], ids=["nginx", "varnish"])


@pytest.mark.parametrize("keep_alive", [False, True], ids=["new connections", "kept connections"])
def test_a_rolling_restart_loses_no_request(instances, tmp_path, keep_alive):
    """Instances that are restarted one by one behind HAProxy lose no request under load."""
    with _haproxy(instances, tmp_path) as front, under_load(front.address, keep_alive=keep_alive) as load:
        for number in range(3):
            load.wait_for_answers()
            instances.stop(number)
            load.wait_for_answers()
            instances.start(number)
            # HAProxy sends requests to the instance again once its check has succeeded.
            eventually(lambda: instances.admin(number).metric("tornado_proxy_rewrite_hits_total") > 0)  # noqa: B023 - called at once
        load.wait_for_answers()
    print(f"{load.answered} requests over a restart of each of three instances")
    assert load.failures == []


def _installed(folder: Path, version: str) -> str:
    """The Python of an environment where the wheel of a version is installed, with the dependencies of the tests."""
    wheel, python = built("wheel", folder, version), str(folder / "env" / "bin" / "python")
    output_of(sys.executable, "-m", "venv", "--without-pip", folder / "env")
    pip = (sys.executable, "-m", "pip", "--quiet", "--python", python)
    output_of(*pip, "install", "--no-deps", "--no-index", wheel)
    (packages,) = (folder / "env" / "lib").glob("python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def test_an_upgrade_and_its_rollback_lose_no_request(instances, tmp_path):
    """Instances of version 0.1.0 become 0.1.1 one by one behind HAProxy, then 0.1.0 again, under load."""
    pythons = {version: _installed(tmp_path / version, version) for version in ("0.1.0", "0.1.1")}
    with _haproxy(instances, tmp_path) as front, under_load(front.address) as load:
        for version in ("0.1.0", "0.1.1", "0.1.0"):
            for number in range(3):
                load.wait_for_answers()
                instances.stop(number)
                instances.start(number, python=pythons[version])
                assert instances.admin(number).status()["version"] == version
                eventually(lambda: instances.admin(number).metric("tornado_proxy_rewrite_hits_total") > 0)  # noqa: B023 - called at once
        load.wait_for_answers()
    print(f"{load.answered} requests over an upgrade and a rollback of three instances")
    assert load.failures == []


def test_a_rolling_change_of_rules_loses_no_request(instances, tmp_path):
    """A change of rules in one instance after another loses no request under load."""
    with _haproxy(instances, tmp_path) as front:
        with under_load(front.address) as load:
            for number in range(3):
                load.wait_for_answers()
                instances.write_rules(number, RULES.format("second"))
                instances.admin(number).wait_for_status(lambda status: status["generation"] == 2)
            load.wait_for_answers()
        assert load.failures == []
        assert set(load.answers) == {b"first/a.txt", b"second/a.txt"}
        print(f"{load.answered} requests over a change of rules in three instances")
        assert {front.request("GET", "/a").text for _ in range(12)} == {"second/a.txt"}


def test_a_canary_answers_few_requests(instances, tmp_path):
    """The weights of docs/scaling.md give an instance with other rules one request in forty; without them, a third."""
    page = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    weighted = re.findall(r"^ +server \w+ \S+ weight \d+$", page, re.MULTILINE)
    deployed = re.findall(r"^ +server \w+ \S+$", (ROOT / "deploy" / "haproxy.cfg").read_text(), re.MULTILINE)
    assert [line.partition(" weight")[0] for line in weighted] == deployed
    instances.write_rules(0, RULES.format("second"))
    instances.admin(0).wait_for_status(lambda status: status["generation"] == 2)
    weights = {**dict(zip(deployed, weighted, strict=True)), "balance leastconn": "balance roundrobin"}
    with haproxy(instances.ports, tmp_path, weights) as front:
        answers = [front.request("GET", "/a").text for _ in range(410)]
    assert 4 <= answers.count("second/a.txt") <= 40
    assert set(answers) == {"first/a.txt", "second/a.txt"}
    with haproxy(instances.ports, tmp_path) as front:
        assert [front.request("GET", "/a").text for _ in range(60)].count("second/a.txt") >= 15


def test_an_instance_that_accepts_but_does_not_answer_is_down_within_3_seconds(instances, tmp_path):
    """The kernel accepts for a stopped process, as systemd does for a service that cannot start; then no request is lost."""
    with _haproxy(instances, tmp_path) as front:
        instances.send(0, signal.SIGSTOP)
        began = time.monotonic()
        try:
            line = next(line for line in front.process.stderr if "DOWN" in line)
            seconds = time.monotonic() - began
            assert [front.request("GET", "/a").status for _ in range(12)] == [200] * 12
        finally:
            instances.send(0, signal.SIGCONT)
        assert "instances/one is DOWN, reason: Layer7 timeout" in line
        print(f"DOWN after {seconds:.1f} s")
        assert seconds < 3
        assert any("instances/one is UP" in line for line in front.process.stderr)


def test_a_client_cannot_choose_its_host(instances, tmp_path):
    """HAProxy replaces a forged X-Forwarded-Host with the requested host, which the instances log."""
    with _haproxy(instances, tmp_path) as front:
        front.request("GET", "/a", host="files.example", headers={"X-Forwarded-Host": "forged.example"})
        (line,) = eventually(lambda: [line for line in instances.lines() if "GET" in line])
    assert "files.example" in line
    assert "forged.example" not in line


@shared_caches
def test_the_shared_cache_reduces_calls_to_s3(cache, instances, tmp_path):
    """A hundred requests for one file within its lifetime cause fewer than fifty calls to S3."""
    with cache(instances, tmp_path) as front:
        answers = [front.request("GET", "/a") for _ in range(100)]
    assert {(answer.status, answer.text) for answer in answers} == {(200, "first/a.txt")}
    assert answers[0].headers["x-cache"] == "MISS"
    assert sum(instances.admin(number).metric("tornado_proxy_s3_calls_total") for number in range(3)) < 50


@shared_caches
def test_the_cache_follows_a_change_of_rules(cache, instances, tmp_path):
    """The cache requests a file again after its lifetime, and then follows the new rules."""
    with cache(instances, tmp_path) as front:
        assert front.request("GET", "/a").text == "first/a.txt"
        for number in range(3):
            instances.write_rules(number, RULES.format("second"))
        eventually(lambda: front.request("GET", "/a").text == "second/a.txt")


@shared_caches
def test_the_cache_answers_while_all_instances_are_down(cache, instances, tmp_path):
    with cache(instances, tmp_path) as front:
        assert front.request("GET", "/a").status == 200
        instances.stop_all()
        time.sleep(3)  # until the lifetime has ended; it is counted in whole seconds
        answer = front.request("GET", "/a")
        assert (answer.status, answer.text, answer.headers["x-cache"]) == (200, "first/a.txt", "STALE")


@shared_caches
def test_requests_with_credentials_bypass_the_cache(cache, instances, tmp_path):
    """Each request with a password is answered by an instance."""
    with cache(instances, tmp_path) as front:
        states = [front.request("GET", "/a", user="ann:secret").headers["x-cache"] for _ in range(3)]
    assert states == ["BYPASS"] * 3
