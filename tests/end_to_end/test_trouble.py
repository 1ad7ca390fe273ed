"""What goes wrong gets a clear answer: a dead S3, a missing bucket, a bad configuration; never a traceback."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import ExitStack
from textwrap import dedent

import pytest
from endless_s3 import endless_s3
from running import START_LIMIT, start_proxy

CONFIGURATION = """
server: {{port: 0}}
internalServer: {{port: 0}}
targets:
  site:
    mount: {{path: [/]}}
    bucket: {{name: {name}, s3Endpoint: "{endpoint}", s3ForcePathStyle: true, maxAttempts: 1, connectTimeout: 1s, readTimeout: 1s,
              credentials: {{accessKey: {{env: ACCESS}}, secretKey: {{env: SECRET}}}}}}
    actions: {{PUT: {{enabled: true}}, DELETE: {{enabled: true}}}}
"""


@pytest.fixture(scope="module")
def without_s3(tmp_path_factory):
    """A server whose S3 was never there."""
    # Bound, so that no other process gets the port, and not listening, so that connections are refused.
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{closed.getsockname()[1]}"
        configuration = CONFIGURATION.format(name="some-bucket", endpoint=endpoint)
        with start_proxy(tmp_path_factory.mktemp("dead"), configuration) as running:
            yield running


@pytest.mark.parametrize(("method", "path"), [("GET", "/x"), ("HEAD", "/x"), ("GET", "/"), ("DELETE", "/x")])
def test_a_dead_s3_is_a_bad_gateway(without_s3, method, path):
    """The service starts without S3, and answers 502 with a request id for the log."""
    answer = without_s3.request(method, path)
    assert answer.status == 502
    assert answer.headers["x-request-id"]
    assert b"Traceback" not in answer.body


def test_an_upload_to_a_dead_s3_is_a_bad_gateway(without_s3):
    """A PUT that cannot be stored says so."""
    assert without_s3.upload("/", "a.txt", b"a").status == 502


def test_an_s3_that_never_answers_is_a_gateway_timeout(tmp_path):
    """A silent S3 is given up on after the read timeout."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with start_proxy(tmp_path, CONFIGURATION.format(name="some-bucket", endpoint=endpoint)) as proxy:
            assert proxy.request("GET", "/x").status == 504


TWO = """
server: {{port: 0}}
internalServer: {{port: 0}}
s3: {{threads: 2}}
targets:
  hangs:
    mount: {{path: [/hangs/]}}
    bucket: {{name: some-bucket, s3Endpoint: "{silent}", s3ForcePathStyle: true, maxAttempts: 1, readTimeout: 10s,
              credentials: &keys {{accessKey: {{env: ACCESS}}, secretKey: {{env: SECRET}}}}}}
  site:
    mount: {{path: [/]}}
    bucket: {{name: some-bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true, credentials: *keys}}
"""


def test_a_bucket_that_hangs_holds_up_no_other(tmp_path):
    """Each target has threads of its own: however many wait for one, the others answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent, endless_s3() as (endpoint, _), ExitStack() as stack:
        configuration = TWO.format(silent=f"http://127.0.0.1:{silent.getsockname()[1]}", endpoint=endpoint)
        proxy = stack.enter_context(start_proxy(tmp_path, configuration))
        for _ in range(8):
            waiting = stack.enter_context(socket.create_connection(proxy.address))
            waiting.sendall(b"GET /hangs/a HTTP/1.1\r\nHost: x\r\n\r\n")
        silent.accept()[0].close()
        assert proxy.request("GET", "/first/a.txt").status == 200


def test_a_missing_bucket_is_a_mistake_of_ours(s3_endpoint, tmp_path):
    """A bucket that does not exist is 502, since no client can have asked for it, and the log names it."""
    # moto takes a while for its first answer.
    patient = CONFIGURATION.replace("readTimeout: 1s", "readTimeout: 20s")
    with start_proxy(tmp_path, patient.format(name="no-such-bucket", endpoint=s3_endpoint)) as proxy:
        assert proxy.request("GET", "/x").status == 502
        assert proxy.request("HEAD", "/x").status == 502
        assert proxy.request("GET", "/").status == 502
    assert any("no-such-bucket" in line or "NoSuchBucket" in line for line in proxy.lines)


def _serve(folder, configuration: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "proxy.yaml").write_text(dedent(configuration), encoding="utf-8")
    command = [sys.executable, "-m", "tornado_proxy", "serve", "--config", str(folder / "proxy.yaml"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=START_LIMIT)


GOOD = """
server: {port: 0}
internalServer: {port: 0}
rules: [site.rules]
targets: {site: {mount: {path: [/]}, bucket: {name: some-bucket, region: eu-west-1}}}
"""


def test_check_is_clean_without_s3_or_network(tmp_path):
    """`serve --check` reads configuration and rules, and asks nobody."""
    (tmp_path / "site.rules").write_text('target site { rewrite `^/a$` -> "/b" }\n')
    result = _serve(tmp_path, GOOD, "--check")
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("options", [[], ["--check"]])
def test_a_bad_rule_file_is_shown_where_it_is_wrong(tmp_path, options):
    """A service with bad rules does not start: status 1, with place, excerpt and cure."""
    (tmp_path / "site.rules").write_text('target site {\n    rewrit `^/a$` -> "/b"\n}\n')
    result = _serve(tmp_path, GOOD, *options)
    assert result.returncode == 1
    assert "site.rules:2:5" in result.stderr
    assert "did you mean `rewrite`" in result.stderr


def test_rules_for_a_target_that_does_not_exist_are_an_error(tmp_path):
    """A block of an unknown target names the one that was meant."""
    (tmp_path / "site.rules").write_text("target sight {}\n")
    result = _serve(tmp_path, GOOD, "--check")
    assert result.returncode == 1
    assert "did you mean `site`" in result.stderr


def test_a_bad_configuration_is_shown_where_it_is_wrong(tmp_path):
    """An unknown option is an error with its place."""
    result = _serve(tmp_path, GOOD.replace("mount:", "mounts:"), "--check")
    assert result.returncode == 1
    assert "did you mean `mount`" in result.stderr


def test_a_configuration_that_is_not_there_is_no_finding(tmp_path):
    """A file that cannot be read is status 2."""
    command = [sys.executable, "-m", "tornado_proxy", "serve", "--config", str(tmp_path / "none.yaml")]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2


def test_a_port_that_is_taken_is_reported_plainly(tmp_path):
    """A listen address in use is status 2 and one line."""
    (tmp_path / "site.rules").write_text("target site {}\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = _serve(tmp_path, GOOD.replace("port: 0", f"port: {port}", 1))
    assert result.returncode == 2
    assert f"127.0.0.1:{port}" in result.stderr
    assert "Traceback" not in result.stderr
