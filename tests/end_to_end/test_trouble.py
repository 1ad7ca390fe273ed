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

TARGET = """
  {name}:
    mount: {{path: [/{name}/]}}
    bucket: {{name: no-such-bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true, maxAttempts: 1, readTimeout: {timeout}}}
    actions: {{PUT: {{enabled: true}}, DELETE: {{enabled: true}}}}
"""


@pytest.fixture(scope="module")
def silent():
    """The socket of an S3 that never answers."""
    return socket.create_server(("127.0.0.1", 0))


@pytest.fixture(scope="module")
def proxy(silent, tmp_path_factory, closed_port, s3_endpoint):
    """A server with a target for each trouble of an S3, and one without any."""
    with silent, endless_s3() as (endpoint, _):
        silence = f"http://127.0.0.1:{silent.getsockname()[1]}"
        targets = (
            ("unreachable", f"http://127.0.0.1:{closed_port}", "1s"),
            ("silent", silence, "1s"),
            ("hangs", silence, "10s"),
            ("missing", s3_endpoint, "20s"),  # moto takes a while for its first answer
            ("healthy", endpoint, "1s"),
        )
        described = "".join(TARGET.format(name=name, endpoint=url, timeout=timeout) for name, url, timeout in targets)
        with start_proxy(
            tmp_path_factory.mktemp("trouble"), f"s3: {{threads: 2, probeInterval: 0}}\ntargets:{described}"
        ) as started:
            yield started


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        *((method, "/unreachable/x", 502) for method in ("GET", "HEAD", "DELETE")),
        *((method, "/missing/x", 502) for method in ("GET", "HEAD")),
        *(("GET", path, 502) for path in ("/unreachable/", "/missing/")),
        ("GET", "/silent/x", 504),
    ],
)
def test_an_s3_that_cannot_answer_is_a_bad_gateway_or_a_timeout(proxy, method, path, status):
    """The service starts without S3, and answers with a request ID for the log; a missing bucket is no mistake of the client."""
    answer = proxy.request(method, path)
    assert answer.status == status
    assert answer.headers["x-request-id"]
    assert b"Traceback" not in answer.body


def test_the_log_names_a_bucket_that_is_missing(proxy):
    assert proxy.request("GET", "/missing/x").status == 502
    eventually(lambda: any("no-such-bucket" in line or "NoSuchBucket" in line for line in proxy.lines))


def test_an_upload_to_an_unreachable_s3_is_a_bad_gateway(proxy):
    assert proxy.upload("/unreachable/", "a.txt", b"a").status == 502


def test_a_silent_bucket_delays_no_other(proxy, silent):
    """Each target has its own threads: requests that wait for one S3 don't delay requests to another."""
    with ExitStack() as stack:
        for _ in range(8):
            client = stack.enter_context(socket.create_connection(proxy.address))
            client.sendall(b"GET /hangs/a HTTP/1.1\r\nHost: x\r\n\r\n")
        silent.accept()[0].close()
        assert proxy.request("GET", "/healthy/a.txt").status == 200


GOOD = """
server: {port: 0}
internalServer: {port: 0}
rules: [site.rules]
targets: {site: {mount: {path: [/]}, bucket: {name: some-bucket, region: eu-west-1}}}
"""


def test_a_bad_rule_file_is_reported_with_its_place(tmp_path):
    """A service with bad rules ends with status 1, the place and a suggestion."""
    (tmp_path / "site.rules").write_text('target site {\n    rewrit `^/a$` -> "/b"\n}\n')
    (tmp_path / "proxy.yaml").write_text(GOOD)
    status, log = refused_start(tmp_path)
    assert (status, "site.rules:2:5" in log, "did you mean `rewrite`" in log) == (1, True, True)


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
