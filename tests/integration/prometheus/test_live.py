"""Each alert is seen in a real Prometheus, which scrapes real services, after its real cause, and not before.

`TornadoProxyDefects` is left to promtool: a defect that could be provoked from outside would be mended.
"""

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from administering import Admin, eventually
from certificates import pair, renew
from programs import part, until_end
from running import Proxy, exchange, free_port, start_proxy
from scripted_s3 import Reply, Then, error_reply, reply, scripted_s3
from test_monitoring import FOLDER

pytestmark = pytest.mark.integration

SLOW = 6.0  # seconds; the alert is about 5
PATIENCE = 100.0  # seconds, from the causes to the last alert
DESCRIPTORS = 512

CONFIGURATION = """
server: {{port: 0{server}}}
log: {{access: false}}
s3: {{probeInterval: {probes}}}
rules: [rules]
targets:
"""
TARGET = """
  {name}:
    mount: {{path: [/{name}]}}
    bucket: {{name: {name}, s3Endpoint: "{endpoint}", s3ForcePathStyle: true, maxAttempts: 1}}
"""


@dataclass
class Trouble:
    """What an S3 answers: once it `is_bad`, the buckets `slow` and `left` are slow, and `refused` refuses the key."""

    is_bad: bool = False
    is_gone: bool = False  # answers nothing

    def __call__(self, head: str) -> Reply:
        """The reply to a request."""
        method, target, _ = head.split(" ", 2)
        bucket, is_listing = target.split("/")[1].partition("?")[0], "list-type=2" in target
        if self.is_gone:
            return Reply(b"", Then.CLOSE)
        if method == "HEAD":
            return reply(404)
        if self.is_bad and bucket == "refused":
            return error_reply(403, "InvalidAccessKeyId")
        answer = reply(200, b"<ListBucketResult/>") if is_listing else reply(200, b"x", ETag='"e"')
        is_slow = self.is_bad and bucket in ("slow", "left") and not is_listing
        return replace(answer, delay=SLOW if is_slow else 0.0)


def configuration(endpoint: str, *targets: str, server: str = "", probes: str = "1h") -> str:
    """A configuration with targets below paths of their names."""
    head = CONFIGURATION.format(server=server, probes=probes)
    return head + "".join(TARGET.format(name=name, endpoint=endpoint) for name in targets)


def shortened(rules: str) -> str:
    """The shipped rules with minutes as seconds, at least twelve of them in windows; nothing else differs."""
    windows = re.sub(
        r"(?<=\[)(\d+)m(?=\])|(?<=offset )(\d+)m\b", lambda found: f"{max(12, int(found[1] or found[2]))}s", rules
    )
    return re.sub(r"(?<=for: )(\d+)m", r"4s", windows)


class Scene:
    """The services by job, and what runs until the end."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack
        self.services: list[tuple[str, Proxy, Admin]] = []
        self.stopped = threading.Event()

    def start(self, job: str, text: str, *options: str, python: str = sys.executable) -> tuple[Proxy, Path]:
        """Starts a service; returns it and its folder."""
        folder = self.folder / f"{job}-{len(self.services)}"
        proxy = self.stack.enter_context(start_proxy(folder, text, *options, python=python, site=""))
        self.services.append((job, proxy, Admin.of(proxy)))
        return proxy, folder

    def keep_on(self, action: Callable[[], object], pause: float = 0.1) -> None:
        """Repeats an action until the end, whatever becomes of it."""

        def run() -> None:
            while not self.stopped.wait(pause):
                with suppress(OSError):
                    action()

        thread = threading.Thread(target=run, daemon=True)
        self.stack.callback(thread.join)
        thread.start()


def leave(proxy: Proxy, path: str) -> None:
    """Asks for a path, and gives up before an answer can come from a slow S3."""
    with socket.create_connection(proxy.address) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
        time.sleep(0.2)


def write_certificates(folder: Path, *days: int) -> None:
    """Writes certificates for `a.test` and `b.test` that end after some days."""
    for name, end in zip("ab", days, strict=True):
        renew(folder, pair(f"{name}.test", days=(0, end)), name)


def request_with_tls(proxy: Proxy, path: str) -> int:
    """Sends a GET to a service with a self-signed certificate; returns the status."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return exchange(proxy.address, "GET", path, context=context).status


def alerts_so_far(ask: Callable[[str], Any]) -> list[dict[str, str]]:
    """The labels of all alerts that have fired since the start."""
    fired = urllib.parse.quote('last_over_time(ALERTS{alertstate="firing"}[10m])')
    return [each["metric"] for each in ask(f"query?query={fired}").get("result", ())]


@contextmanager
def prometheus(folder: Path, scene: Scene) -> Iterator[Callable[[str], Any]]:
    """Runs Prometheus with the shortened rules; yields a function that asks its API."""
    port = free_port()
    targets: dict[str, list[str]] = {}
    for job, _, admin in scene.services:
        targets.setdefault(job, []).append(admin.url.removeprefix("http://"))
    scrapes = [{"job_name": job, "static_configs": [{"targets": those}]} for job, those in targets.items()]
    settings = {"global": {"scrape_interval": "2s", "evaluation_interval": "1s"}, "rule_files": ["rules.yaml"]}
    (folder / "rules.yaml").write_text(shortened((FOLDER / "rules.yaml").read_text()))
    (folder / "prometheus.yml").write_text(yaml.safe_dump({**settings, "scrape_configs": scrapes}))
    program = part("prometheus/usr/bin/prometheus", "prometheus")
    options = f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"
    command = (program, *options, f"--web.listen-address=127.0.0.1:{port}")

    def ask(path: str) -> Any:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{path}", timeout=10) as answer:
                return json.load(answer)["data"]
        except OSError:
            assert process.poll() is None, "Prometheus has ended"
            return {}

    with until_end(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        yield ask


@pytest.fixture(scope="module")
def scene(tmp_path_factory) -> Iterator[tuple[Callable[[str], Any], float]]:
    """All services after all causes at once: a function that asks Prometheus, and when the causes began."""
    part("prometheus/usr/bin/prometheus", "prometheus")
    folder = tmp_path_factory.mktemp("scene")
    with ExitStack() as stack:
        s3, doomed = Trouble(), Trouble()
        endpoint, doomed_endpoint = (stack.enter_context(scripted_s3(answer=each)).url for each in (s3, doomed))
        scene = Scene(folder, stack)
        text = configuration(endpoint, "good", "slow", "left", probes="2s")
        buckets, _ = scene.start("buckets", text + TARGET.format(name="down", endpoint=doomed_endpoint))
        certificate = ", ssl: {certificates: [{certificateUrl: ../a.crt, privateKeyUrl: ../a.key}, {certificateUrl: ../b.crt, privateKeyUrl: ../b.key}]}"
        write_certificates(folder, 90, 90)
        text = configuration(endpoint, "refused", server=certificate, probes="2s")
        files, files_folder = scene.start("files", text, "--last-good", str(folder / "last-good"))
        scene.start("workers", configuration(endpoint, "good"), "--workers", "2")
        limited = folder / "limited"
        limited.write_text(f'#!/bin/sh\nexec prlimit --nofile={DESCRIPTORS}:{DESCRIPTORS} {sys.executable} "$@"\n')
        limited.chmod(0o755)
        crowded, _ = scene.start("crowded", configuration(endpoint, "good"), python=str(limited))
        scene.start("fleet", configuration(endpoint, "good"))
        _, lagging = scene.start("fleet", configuration(endpoint, "good"))
        gone, _ = scene.start("gone", configuration(endpoint, "good"))
        for name in ("good", "down"):
            scene.keep_on(lambda name=name: buckets.request("GET", f"/{name}/a"))
        for _ in range(3):
            scene.keep_on(lambda: leave(buckets, "/left/a"))
            scene.keep_on(lambda: buckets.request("GET", "/slow/a"))
        ask = stack.enter_context(prometheus(folder, scene))
        stack.callback(scene.stopped.set)
        eventually(lambda: len(ask("query?query=up==1").get("result", ())) == len(scene.services))
        time.sleep(15)  # longer than each window
        assert alerts_so_far(ask) == []
        assert {rule["health"] for group in ask("rules")["groups"] for rule in group["rules"]} == {"ok"}

        began = time.monotonic()
        s3.is_bad = True
        doomed.is_gone = True
        gone.process.send_signal(signal.SIGKILL)
        (lagging / "rules" / "site.rules").write_text('target good { rewrite `^/x$` -> "/y" }\n')
        write_certificates(folder, 10, 1)
        assert request_with_tls(files, "/refused/a") == 502
        (folder / "last-good").chmod(0o777)
        target = (files_folder / "proxy.yaml").read_text()
        # An edit of a target is probed at once.
        (files_folder / "proxy.yaml").write_text(target.replace("maxAttempts: 1", "maxAttempts: 2"))
        admins = {job: admin for job, _, admin in scene.services}
        admins["files"].wait_for_status(lambda status: status["lastGoodTrouble"])
        (files_folder / "rules" / "site.rules").write_text("nonsense\n")
        for client in [socket.create_connection(crowded.address) for _ in range(DESCRIPTORS)]:
            stack.enter_context(client)
        for _ in range(3):
            (first, *_) = eventually(lambda: len(found := admins["workers"].status()["workers"]) == 2 and found)
            os.kill(first["pid"], signal.SIGKILL)
            eventually(
                lambda pid=first["pid"]: pid not in [each["pid"] for each in admins["workers"].status()["workers"]]
            )
        yield ask, began


ALERTS = (
    ("Down", {"job": "gone", "severity": "critical"}),
    ("WorkersEnd", {"job": "workers"}),
    ("DescriptorsShort", {"job": "crowded"}),
    ("SlowAnswers", {"job": "buckets", "target": "slow", "call": "open"}),
    ("ClientsGiveUp", {"job": "buckets", "target": "left"}),
    ("BucketDown", {"job": "buckets", "target": "down"}),
    ("BucketTrouble", {"job": "buckets", "target": "down"}),
    ("ServerErrors", {"job": "buckets", "target": "down"}),
    ("CredentialsRefused", {"job": "files", "target": "refused"}),
    ("BucketDown", {"job": "files", "target": "refused"}),
    ("LastGoodTrouble", {"job": "files"}),
    ("EditRefused", {"job": "files"}),
    ("CertificateExpires", {"job": "files", "name": "a.test", "severity": "warning"}),
    ("CertificateExpires", {"job": "files", "name": "b.test", "severity": "critical"}),
    ("InstancesDiffer", {"job": "fleet"}),
)


@pytest.mark.parametrize(("name", "labels"), ALERTS, ids=lambda value: value if isinstance(value, str) else "")
def test_an_alert_fires_for_its_cause(scene, name, labels):
    """Prometheus has it as firing, with the labels that say where to look."""
    ask, began = scene
    expected = {"alertname": f"TornadoProxy{name}", **labels}
    left = began + PATIENCE - time.monotonic()
    eventually(lambda: any(expected.items() <= each.items() for each in alerts_so_far(ask)), max(left, 1.0))


def test_no_other_alert_fires(scene):
    """Each job has the alerts of its causes, and none of what it only stands beside."""
    ask, _ = scene
    fired = {(each["job"], each["alertname"]) for each in alerts_so_far(ask)}
    assert fired == {(labels["job"], f"TornadoProxy{name}") for name, labels in ALERTS}


def test_only_durations_are_shortened():
    """The rules of this test are the shipped ones but for their windows."""
    text = (FOLDER / "rules.yaml").read_text()
    assert re.sub(r"\d+[sm]\b", "", shortened(text)) == re.sub(r"\d+[sm]\b", "", text)
