"""Rules in a bucket: three instances behind HAProxy, under load, and one that tries an edit on some of its clients."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest
import real_s3
from administering import RULES, Admin, eventually
from balancers import haproxy
from endless_s3 import endless_s3
from running import Proxy, free_port, start_proxy
from steady_load import under_load

from tornado_proxy.service.reload.stage import place_of

pytestmark = pytest.mark.integration

PLACE = "s3://rules-of-all/site/"
INTERVAL = os.environ.get("POLL_INTERVAL", "1s")
CONFIGURATION = """
server: {{port: {port}, healthPath: /-/healthz, trustedProxies: [127.0.0.1]}}
internalServer: {{port: 0}}
rules:
  - s3: {place}
    s3Endpoint: "{rules}"
    s3ForcePathStyle: true
    credentials: {{accessKey: {{env: ACCESS}}, secretKey: {{env: SECRET}}}}
reload: {{pollInterval: {interval}{more}}}
targets:
  site:
    mount: {{path: [/]}}
    bucket: {{name: some-bucket, s3Endpoint: "{objects}", s3ForcePathStyle: true,
              credentials: {{accessKey: {{env: ACCESS}}, secretKey: {{env: SECRET}}}}}}
"""


class Author:
    """Who pushes rules from a directory, and asks the fleet."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self.folder = folder
        self.environment = {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command line."""
        command = [sys.executable, "-m", "tornado_proxy", *words]
        environment = {**os.environ, **self.environment}
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    def push(self, text: str) -> str:
        """Push a rule file; returns the digest."""
        (self.folder / "site.rules").write_text(text)
        pushed = self.run("push", "site.rules", PLACE, "--quiet")
        assert pushed.returncode == 0, pushed.stderr
        return pushed.stdout.strip()

    def roll_back(self) -> str:
        """Roll back; returns the digest."""
        return self.run("push", PLACE, "--rollback", "--quiet").stdout.strip()


@contextmanager
def _pushed(folder: Path) -> Iterator[tuple[Author, dict[str, str]]]:
    """An author who has pushed once, and the places for a configuration."""
    with endless_s3() as (objects, _), real_s3.moto() as rules:
        rules.client.create_bucket(Bucket="rules-of-all")
        author = Author(folder, rules.url)
        author.push(RULES.format("first"))
        yield author, {"place": PLACE, "rules": rules.url, "objects": objects, "interval": INTERVAL}


@pytest.fixture
def fleet(tmp_path) -> Iterator[tuple[Author, list[int], list[str]]]:
    """An author who has pushed once, and the ports and admin listeners of three instances that poll."""
    with _pushed(tmp_path) as (author, places), ExitStack() as stack:
        ports = [free_port() for _ in range(3)]
        texts = (CONFIGURATION.format(port=port, more="", **places) for port in ports)
        proxies = [stack.enter_context(start_proxy(tmp_path / str(number), text)) for number, text in enumerate(texts)]
        yield author, ports, [Admin.of(proxy).url for proxy in proxies]


def test_a_push_a_bad_one_and_a_rollback_lose_no_request(fleet, tmp_path):
    """All three take a push, refuse a bad one with its place, and take a rollback, each within the interval of polls."""
    author, ports, admins = fleet

    def wait_for(digest: str, what: str) -> None:
        began = time.monotonic()
        waited = author.run("fleet", "--expect", digest, "--wait", "60", *admins)
        assert (waited.returncode, "3 of 3 as expected" in waited.stdout) == (0, True), waited.stdout
        print(f"{what}: all three after {time.monotonic() - began:.1f} s")

    with haproxy(ports, tmp_path) as front, under_load(front.address) as load:
        load.wait_for_answers()
        second = author.push(RULES.format("second"))
        wait_for(second, "push")
        load.wait_for_answers()
        # No configuration was given, so the push could not know that there is no such target.
        bad = author.push('target nobody { rewrite `^/b$` -> "/c" }\n')
        began = time.monotonic()
        shown = eventually(lambda: (out := author.run("fleet", *admins).stdout).count("refuses its files") == 3 and out)
        print(f"bad push: refused by all three after {time.monotonic() - began:.1f} s")
        assert shown.count(f"refuses its files: {PLACE}site.rules:1: the configuration has no target `nobody`") == 3
        assert author.run("fleet", "--expect", bad, "--wait", "0.01", *admins).returncode == 1
        load.wait_for_answers()
        assert author.roll_back() == second
        wait_for(second, "rollback of the bad push")
        wait_for(author.roll_back(), "rollback of the push")
        load.wait_for_answers()
    print(f"{load.answered} requests, {len(load.failures)} lost")
    assert load.failures == []
    assert set(load.answers) == {b"first/a.txt", b"second/a.txt"}


CANARY = ", stage: 1s, canary: 50, promoteIf: {requests: 1, missingPercent: 100}"


class Service:
    """An instance that polls, and its clients."""

    def __init__(self, proxy: Proxy) -> None:
        self.admin = Admin.of(proxy)
        self._proxy = proxy

    def stage(self) -> dict[str, object]:
        """What is known of the last staged edit."""
        return json.loads(self.admin.request("GET", "/-/staged")[1])

    def answers(self, clients: int = 40) -> list[bytes]:
        """What each of some clients reads, in order."""
        addresses = [{"X-Forwarded-For": f"203.0.113.{number}"} for number in range(clients)]
        return [self._proxy.request("GET", "/a", headers=each).body for each in addresses]

    def wait_for_canary(self) -> str:
        """Waits until the edit answers half of the clients, with so few requests that it stays so; returns its digest."""
        eventually(lambda: self.answers(1) and self.stage().get("share") == 0.5)
        return self.stage()["digest"]

    def wait_for_end(self, state: str) -> list[bytes]:
        """Has the clients ask until the stage has ended; returns their next answers."""
        eventually(lambda: self.answers() and self.stage().get("state") == state)
        return self.answers()


@pytest.fixture
def canary(tmp_path) -> Iterator[tuple[Author, Callable[[], AbstractContextManager[Service]]]]:
    """An author who has pushed once, and a function that starts an instance whose edits answer half of the clients first."""
    with _pushed(tmp_path) as (author, places):

        @contextmanager
        def start() -> Iterator[Service]:
            options = ("--workers", "2", "--last-good", str(tmp_path / "kept"))
            with start_proxy(tmp_path, CONFIGURATION.format(port=0, more=CANARY, **places), *options) as proxy:
                yield Service(proxy)

        yield author, start


def test_a_push_answers_some_clients_and_then_all(canary):
    """A client keeps its generation while the edit answers half of them, over several polls."""
    author, start = canary
    with start() as service:
        author.push(RULES.format("second"))
        digest = service.wait_for_canary()
        chosen = (place_of(f"203.0.113.{number}", digest) < 0.5 for number in range(8))
        expected = [b"second/a.txt" if each else b"first/a.txt" for each in chosen]
        assert service.answers(8) == expected
        service.admin.reload()  # polls, too
        assert service.answers(8) == expected
        assert {*service.wait_for_end("promoted")} == {b"second/a.txt"}


def test_a_rollback_takes_a_canary_back(canary):
    """All clients get the release that the pointer names again."""
    author, start = canary
    with start() as service:
        author.push(RULES.format("second"))
        service.wait_for_canary()
        author.roll_back()
        eventually(lambda: service.stage()["state"] == "discarded")
        assert {*service.answers()} == {b"first/a.txt"}
        assert service.stage()["reasons"] == ["the edit was taken back"]


def test_a_push_that_answers_worse_is_discarded_and_stays_so(canary):
    """The pointer still names it: neither later polls nor a restart try it again, and a rollback ends the failure."""
    author, start = canary
    with start() as service:
        author.push(RULES.format("missing").replace(".txt", ""))
        assert {*service.wait_for_end("discarded")} == {b"first/a.txt"}
        (reason,) = service.stage()["reasons"]
        assert "404" in reason
        service.admin.reload()  # polls, too
        assert service.stage()["state"] == "discarded"
    with start() as service:
        eventually(lambda: service.stage().get("state") == "discarded")
        assert {*service.answers()} == {b"first/a.txt"}
        author.roll_back()
        eventually(lambda: service.admin.metric("tornado_proxy_config_last_reload_successful") == 1)


def test_a_restart_goes_on_with_a_canary(canary):
    """It starts with the release that was in force, and stages the other one."""
    author, start = canary
    with start() as service:
        author.push(RULES.format("second"))
        service.wait_for_canary()
        since = service.stage()["since"]
    with start() as service:
        eventually(lambda: service.stage().get("state") == "staged")
        assert service.stage()["since"] == since
        assert {*service.wait_for_end("promoted")} == {b"second/a.txt"}
