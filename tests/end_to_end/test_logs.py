"""The log of a running service: unread, without standard streams, and as JSON."""

import json
import os
import re
import shlex
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from administering import CONFIGURATION, RULES, Admin, eventually
from endless_s3 import endless_s3
from forking import SERVE, ForkedProgram
from programs import until_end
from running import START_LIMIT, Proxy, free_port

CONFIGURATION_WITH_WARNING = CONFIGURATION.replace("{{env: SECRET}}", "{{value: test}}")
"""A valid configuration with a warning."""


@contextmanager
def _service_with_unread_log(folder, *options: str) -> Iterator[tuple[Proxy, Admin]]:
    """Runs a service; nobody reads its standard error after the line with its address."""
    (folder / "rules").mkdir()
    (folder / "rules" / "site.rules").write_text(RULES.format("first"))
    with endless_s3() as (endpoint, _):
        (folder / "proxy.yaml").write_text(CONFIGURATION.format(endpoint=endpoint))
        environment = {**os.environ, "ACCESS": "test", "SECRET": "test"}
        process = ForkedProgram(SERVE, ["serve", "--config", str(folder / "proxy.yaml"), *options], environment)
        with process.stderr as log:
            try:
                proxy = Proxy(process, "")
                for line in log:
                    proxy.lines.append(line.rstrip("\n"))
                    if match := re.search(r"listening on (http://\S+)", line):
                        proxy.url = match[1]
                        break
                yield proxy, Admin.of(proxy)
            finally:
                process.kill()
                process.wait()


@pytest.mark.parametrize("options", [(), ("--workers", "2")])
def test_an_unread_log_does_not_block_the_service(tmp_path, options):
    """A service with an unread log answers clients and operators, and ends on SIGTERM."""
    with _service_with_unread_log(tmp_path, *options) as (proxy, admin):
        # Few requests with long paths fill the pipe.
        for number in range(100):
            assert proxy.request("GET", f"/{number}{'x' * 8000}").status in (200, 400, 404)
        assert admin.request("GET", "/-/healthy")[0] == 200
        assert admin.reload()[0] == 200
        proxy.process.send_signal(signal.SIGTERM)
        assert proxy.process.wait(timeout=START_LIMIT) == 0


def test_a_late_reader_gets_every_line(tmp_path):
    """Lines that were logged while nobody read are written later, in order and completely."""
    with _service_with_unread_log(tmp_path) as (proxy, _):
        for number in range(100):
            proxy.request("GET", f"/{number}-{'x' * 900}")
        proxy.process.send_signal(signal.SIGTERM)
        lines = [line for line in proxy.process.stderr if " path=/" in line]
    assert [int(re.search(r"path=/(\d+)-", line)[1]) for line in lines] == list(range(100))


@pytest.mark.parametrize(("options", "closed"), [("", "2>&-"), ("", "<&- >&- 2>&-"), ("--workers 2", "<&- >&- 2>&-")])
def test_a_service_needs_no_standard_streams(tmp_path, closed, options):
    """A service with closed standard streams starts, also with a warning, serves, and ends with status 0."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "site.rules").write_text(RULES.format("first"))
    with endless_s3() as (endpoint, _):
        text = CONFIGURATION_WITH_WARNING.format(endpoint=endpoint)
        admin, port = free_port(), free_port()
        text = text.replace("{port: 0}", f"{{port: {port}}}", 1).replace("{port: 0}", f"{{port: {admin}}}")
        (tmp_path / "proxy.yaml").write_text(text)
        command = f"exec {shlex.quote(sys.executable)} -m tornado_proxy serve --config proxy.yaml {options} {closed}"
        environment = {**os.environ, "ACCESS": "test", "SECRET": "test"}
        with until_end("sh", "-c", command, cwd=tmp_path, env=environment) as process:
            eventually(lambda: process.poll() is not None or Admin(f"http://127.0.0.1:{admin}").is_ready())
            assert Proxy(process, f"http://127.0.0.1:{port}").request("GET", "/a").text == "first/a.txt"
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=START_LIMIT) == 0


JSON_LOG = CONFIGURATION_WITH_WARNING + "log: {{format: json}}\n"


def _log_of(
    folder, text: str, *options: str, rules: str = RULES.format("first"), status: int = 0
) -> list[dict[str, Any]]:
    """Returns the log of a service that cannot start, or that is stopped as soon as it listens, and ends with a status."""
    (folder / "rules").mkdir()
    (folder / "rules" / "site.rules").write_text(rules)
    (folder / "proxy.yaml").write_text(text)
    arguments = ["serve", "--config", str(folder / "proxy.yaml"), *options]
    process, lines = ForkedProgram(SERVE, arguments, {**os.environ, "ACCESS": "test"}), []
    with process.stderr as log:
        for line in log:
            lines.append(json.loads(line))
            if "listening on" in line:
                process.terminate()
    assert process.wait(timeout=START_LIMIT) == status
    assert all(line["time"].endswith("Z") for line in lines)
    return lines


@pytest.mark.parametrize("options", [(), ("--workers", "2")])
def test_a_json_log_contains_only_json(tmp_path, options):
    """In a JSON log, a warning at the start is an object with its place, like each later line."""
    warning, *rest = _log_of(tmp_path, JSON_LOG.format(endpoint="http://127.0.0.1:1"), *options)
    found = warning["level"], warning["code"], warning["file"]
    assert found == ("warning", "plain-secret", str(tmp_path / "proxy.yaml"))
    assert rest[-1]["message"].startswith("stopping")


def test_a_json_log_reports_a_refused_start(tmp_path):
    """Mistakes in rules and the missing last good copy are objects in a JSON log."""
    rules = "target site {\n  rewrit `^/a$`\n}\n"
    options = "--last-good", str(tmp_path / "kept")
    lines = _log_of(tmp_path, JSON_LOG.format(endpoint="http://127.0.0.1:1"), *options, rules=rules, status=1)
    mistake = next(line for line in lines if line.get("line") == 2)
    found = mistake["file"], mistake["column"], mistake["severity"]
    assert found == (str(tmp_path / "rules" / "site.rules"), 3, "error")
    assert "did you mean `rewrite`" in mistake["help"]
    assert lines[-1]["message"].startswith("there is no last good copy")


def test_a_json_log_reports_a_taken_address(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        text = JSON_LOG.replace("port: 0", f"port: {occupied.getsockname()[1]}", 1)
        lines = _log_of(tmp_path, text.format(endpoint="http://127.0.0.1:1"), status=2)
    assert lines[-1]["message"].startswith("cannot listen on 127.0.0.1")


def test_the_start_is_logged_at_any_level(tmp_path):
    """A log of level `error` still contains the addresses, and nothing else that isn't an error."""
    text = JSON_LOG.replace("format: json", "format: json, level: error")
    with endless_s3() as (endpoint, _):  # a bucket that cannot be used is an error
        lines = _log_of(tmp_path, text.format(endpoint=endpoint).replace("{value: test}", "{env: ACCESS}"))
    assert [line["message"].split(" http")[0] for line in lines] == ["the admin listener is", "listening on"]
