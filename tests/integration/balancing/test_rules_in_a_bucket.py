"""Three instances behind HAProxy that take their rules from a bucket, under load."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import real_s3
from administering import RULES, Admin, eventually
from balancers import haproxy
from endless_s3 import endless_s3
from running import free_port, start_proxy
from steady_load import under_load

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
reload: {{pollInterval: {interval}}}
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


@pytest.fixture
def fleet(tmp_path) -> Iterator[tuple[Author, list[int], list[str]]]:
    """An author who has pushed once, and the ports and admin listeners of three instances that poll."""
    with ExitStack() as stack:
        objects, _ = stack.enter_context(endless_s3())
        rules = stack.enter_context(real_s3.moto())
        rules.client.create_bucket(Bucket="rules-of-all")
        author = Author(tmp_path, rules.url)
        author.push(RULES.format("first"))
        ports = [free_port() for _ in range(3)]
        places = {"place": PLACE, "rules": rules.url, "objects": objects, "interval": INTERVAL}
        texts = (CONFIGURATION.format(port=port, **places) for port in ports)
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
