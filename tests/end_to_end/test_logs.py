"""The log of a running service, whoever reads it and however."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from administering import CONFIGURATION, RULES, Admin, eventually
from endless_s3 import endless_s3
from running import START_LIMIT, Proxy, free_port

WARNED = CONFIGURATION.replace("{{env: SECRET}}", "{{value: test}}")
"""A configuration that is used, and of which there is something to say."""


@contextmanager
def _unread(folder, *options: str) -> Iterator[tuple[Proxy, Admin]]:
    """A service whose standard error nobody reads once it has said where it listens."""
    (folder / "rules").mkdir()
    (folder / "rules" / "site.rules").write_text(RULES.format("first"))
    with endless_s3() as (endpoint, _):
        (folder / "proxy.yaml").write_text(CONFIGURATION.format(endpoint=endpoint))
        command = [sys.executable, "-m", "tornado_proxy", "serve", "--config", str(folder / "proxy.yaml"), *options]
        environment = {**os.environ, "ACCESS": "test", "SECRET": "test"}
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
            try:
                proxy = Proxy(process, "")
                for line in process.stderr:
                    proxy.lines.append(line.rstrip("\n"))
                    if found := re.search(r"listening on (http://\S+)", line):
                        proxy.url = found[1]
                        break
                yield proxy, Admin.of(proxy)
            finally:
                process.kill()


@pytest.mark.parametrize("options", [(), ("--workers", "2")])
def test_a_log_that_nobody_reads_stops_nothing(tmp_path, options):
    """Requests are answered, operators too, and the service ends when it is told to."""
    with _unread(tmp_path, *options) as (proxy, admin):
        # More than the pipe holds, in few requests.
        for number in range(100):
            assert proxy.request("GET", f"/{number}{'x' * 8000}").status in (200, 400, 404)
        assert admin.ask("GET", "/-/healthy")[0] == 200
        assert admin.reload()[0] == 200
        proxy.process.send_signal(signal.SIGTERM)
        assert proxy.process.wait(timeout=START_LIMIT) == 0


def test_a_reader_that_comes_back_finds_every_line(tmp_path):
    """What was logged while nobody read is written when somebody does, in order, up to the last."""
    with _unread(tmp_path) as (proxy, _):
        for number in range(100):
            proxy.request("GET", f"/{number}-{'x' * 900}")
        proxy.process.send_signal(signal.SIGTERM)
        lines = [line for line in proxy.process.stderr if " path=/" in line]
    assert [int(re.search(r"path=/(\d+)-", line)[1]) for line in lines] == list(range(100))


def _is_ready(admin: Admin) -> bool:
    with suppress(OSError):
        return admin.ask("GET", "/-/ready")[0] == 200
    return False


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("options", ["", "--workers 2"])
def test_a_service_needs_no_standard_streams(tmp_path, closed, options):
    """With streams closed it starts, warnings or not, serves, and ends as it should."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "site.rules").write_text(RULES.format("first"))
    with endless_s3() as (endpoint, _):
        text = WARNED.format(endpoint=endpoint)
        admin, port = free_port(), free_port()
        text = text.replace("{port: 0}", f"{{port: {port}}}", 1).replace("{port: 0}", f"{{port: {admin}}}")
        (tmp_path / "proxy.yaml").write_text(text)
        command = f"exec {shlex.quote(sys.executable)} -m tornado_proxy serve --config proxy.yaml {options} {closed}"
        environment = {**os.environ, "ACCESS": "test", "SECRET": "test"}
        with subprocess.Popen(["sh", "-c", command], cwd=tmp_path, env=environment) as process:
            try:
                eventually(lambda: process.poll() is not None or _is_ready(Admin(f"http://127.0.0.1:{admin}")))
                assert Proxy(process, f"http://127.0.0.1:{port}").request("GET", "/a").text == "first/a.txt"
                process.send_signal(signal.SIGTERM)
                assert process.wait(timeout=START_LIMIT) == 0
            finally:
                process.kill()


JSON = WARNED + "log: {{format: json}}\n"


def _lines_of(folder, text: str, *options: str, rules: str = RULES.format("first")) -> list[dict[str, Any]]:
    """What a service says that cannot start, or is told to stop as soon as it has."""
    (folder / "rules").mkdir()
    (folder / "rules" / "site.rules").write_text(rules)
    (folder / "proxy.yaml").write_text(text)
    command = [sys.executable, "-m", "tornado_proxy", "serve", "--config", "proxy.yaml", *options]
    environment = {**os.environ, "ACCESS": "test"}
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as process:
        lines = []
        for line in process.stderr:
            lines.append(json.loads(line))
            if "listening on" in line:
                process.send_signal(signal.SIGTERM)
        process.wait(timeout=START_LIMIT)
    assert all(line["time"].endswith("Z") for line in lines)
    return lines


@pytest.mark.parametrize("options", [(), ("--workers", "2")])
def test_a_log_for_programs_holds_nothing_else(tmp_path, options):
    """A warning at the start is one object, with its place, as all that follows is."""
    warning, *others = _lines_of(tmp_path, JSON.format(endpoint="http://127.0.0.1:1"), *options)
    assert (warning["level"], warning["code"], warning["file"]) == ("warning", "plain-secret", "proxy.yaml")
    assert others[-1]["message"].startswith("stopping")


def test_a_start_that_is_refused_is_reported_in_the_form_of_the_log(tmp_path):
    """Mistakes in rules, and what there is to fall back on, are objects where the configuration asks for them."""
    rules = "target site {\n  rewrit `^/a$`\n}\n"
    lines = _lines_of(tmp_path, JSON.format(endpoint="http://127.0.0.1:1"), "--last-good", "kept", rules=rules)
    mistake = next(line for line in lines if line.get("line") == 2)
    assert (mistake["file"], mistake["column"], mistake["severity"]) == ("rules/site.rules", 3, "error")
    assert "did you mean `rewrite`" in mistake["help"]
    assert lines[-1]["message"].startswith("there is no last good copy")


def test_an_address_that_is_taken_is_reported_in_the_form_of_the_log(tmp_path):
    """What keeps a service from starting is an object too."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        text = JSON.format(endpoint="http://127.0.0.1:1").replace("port: 0", f"port: {taken.getsockname()[1]}", 1)
        lines = _lines_of(tmp_path, text)
    assert lines[-1]["message"].startswith("cannot listen on 127.0.0.1")


def test_the_start_is_logged_at_any_level(tmp_path):
    """A log for errors only says where the service listens, and nothing else that is not an error."""
    text = JSON.replace("format: json", "format: json, level: error").format(endpoint="http://127.0.0.1:1")
    lines = _lines_of(tmp_path, text.replace("{value: test}", "{env: ACCESS}"))
    assert [line["message"].split(" http")[0] for line in lines] == ["the admin listener is", "listening on"]
