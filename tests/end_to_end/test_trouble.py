"""Failures have clear answers without a traceback: an unreachable S3, a missing bucket, a bad configuration."""

import socket
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from administering import eventually
from endless_s3 import endless_s3
from programs import until_end
from running import answers, refused_start, start_proxy

CONFIGURATION = """
targets:
  site:
    mount: {{path: [/]}}
    bucket: {{name: {name}, s3Endpoint: "{endpoint}", s3ForcePathStyle: true, maxAttempts: 1, connectTimeout: 1s, readTimeout: 1s}}
    actions: {{PUT: {{enabled: true}}, DELETE: {{enabled: true}}}}
"""


@pytest.fixture(scope="module")
def proxy_without_s3(tmp_path_factory, closed_port):
    """A server with an unreachable S3."""
    configuration = CONFIGURATION.format(name="some-bucket", endpoint=f"http://127.0.0.1:{closed_port}")
    with start_proxy(tmp_path_factory.mktemp("dead"), configuration) as started:
        yield started


@pytest.mark.parametrize(("method", "path"), [("GET", "/x"), ("HEAD", "/x"), ("GET", "/"), ("DELETE", "/x")])
def test_an_unreachable_s3_is_a_bad_gateway(proxy_without_s3, method, path):
    """The service starts without S3, and answers 502 with a request ID for the log."""
    answer = proxy_without_s3.request(method, path)
    assert answer.status == 502
    assert answer.headers["x-request-id"]
    assert b"Traceback" not in answer.body


def test_an_upload_to_an_unreachable_s3_is_a_bad_gateway(proxy_without_s3):
    assert proxy_without_s3.upload("/", "a.txt", b"a").status == 502


def test_a_silent_s3_is_a_gateway_timeout(tmp_path):
    """A request to an S3 that never answers ends with 504 after the read timeout."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with start_proxy(tmp_path, CONFIGURATION.format(name="some-bucket", endpoint=endpoint)) as proxy:
            assert proxy.request("GET", "/x").status == 504


TWO_BUCKETS = """
s3: {{threads: 2}}
targets:
  hangs:
    mount: {{path: [/hangs/]}}
    bucket: {{name: some-bucket, s3Endpoint: "{silent}", s3ForcePathStyle: true, maxAttempts: 1, readTimeout: 10s}}
  site:
    mount: {{path: [/]}}
    bucket: {{name: some-bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true}}
"""


def test_a_silent_bucket_delays_no_other(tmp_path):
    """Each target has its own threads: requests that wait for one S3 don't delay requests to another."""
    with socket.create_server(("127.0.0.1", 0)) as silent, endless_s3() as (endpoint, _), ExitStack() as stack:
        configuration = TWO_BUCKETS.format(silent=f"http://127.0.0.1:{silent.getsockname()[1]}", endpoint=endpoint)
        proxy = stack.enter_context(start_proxy(tmp_path, configuration))
        for _ in range(8):
            client = stack.enter_context(socket.create_connection(proxy.address))
            client.sendall(b"GET /hangs/a HTTP/1.1\r\nHost: x\r\n\r\n")
        silent.accept()[0].close()
        assert proxy.request("GET", "/first/a.txt").status == 200


def test_a_missing_bucket_is_a_bad_gateway(s3_endpoint, tmp_path):
    """A missing bucket is answered with 502, since it isn't the client's mistake, and the log names the bucket."""
    # moto takes a while for its first answer.
    patient = CONFIGURATION.replace("readTimeout: 1s", "readTimeout: 20s")
    with start_proxy(tmp_path, patient.format(name="no-such-bucket", endpoint=s3_endpoint)) as proxy:
        assert proxy.request("GET", "/x").status == 502
        assert proxy.request("HEAD", "/x").status == 502
        assert proxy.request("GET", "/").status == 502
    assert any("no-such-bucket" in line or "NoSuchBucket" in line for line in proxy.lines)


GOOD = """
server: {port: 0}
internalServer: {port: 0}
rules: [site.rules]
targets: {site: {mount: {path: [/]}, bucket: {name: some-bucket, region: eu-west-1}}}
"""


@pytest.mark.parametrize("options", [[], ["--check"]])
def test_a_bad_rule_file_is_reported_with_its_place(tmp_path, options):
    """A service with bad rules ends with status 1, the place and a suggestion."""
    (tmp_path / "site.rules").write_text('target site {\n    rewrit `^/a$` -> "/b"\n}\n')
    (tmp_path / "proxy.yaml").write_text(GOOD)
    status, log = refused_start(tmp_path, *options)
    assert status == 1
    assert "site.rules:2:5" in log
    assert "did you mean `rewrite`" in log


def test_a_full_disk_keeps_no_service_from_starting(tmp_path):
    """A service whose warnings cannot be written, here about a failing test, starts, answers and ends well."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    (tmp_path / "site.rules").write_text('target site {\n    test "/a" -> "/b"\n}\n')
    configuration = GOOD.replace("port: 0", f"port: {port}, healthPath: /healthz", 1)
    (tmp_path / "proxy.yaml").write_text(configuration, encoding="utf-8")
    command = (sys.executable, "-m", "tornado_proxy", "serve", "--config", tmp_path / "proxy.yaml")
    with Path("/dev/full").open("w") as full, until_end(*command, stderr=full) as process:
        eventually(lambda: process.poll() is not None or answers(f"http://127.0.0.1:{port}/healthz"))
        assert process.poll() is None
    assert process.returncode == 0
