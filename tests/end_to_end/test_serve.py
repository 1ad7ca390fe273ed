"""`tornado-proxy serve`: its start, its checks and its end."""

import os
import signal
import socket
from contextlib import ExitStack, contextmanager

import pytest
from administering import CONFIGURATION, RULES, Admin, eventually, service
from endless_s3 import endless_s3
from forking import SERVE, ForkedProgram
from running import START_LIMIT, start_proxy
from steady_load import under_load

from tornado_proxy.cli.main import main


@pytest.fixture
def files(tmp_path):
    """Good files for a service with an unreachable S3."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "site.rules").write_text(RULES.format("some"))
    path = tmp_path / "proxy.yaml"
    path.write_text(CONFIGURATION.format(endpoint="http://127.0.0.1:1"))
    return path


@pytest.fixture(autouse=True)
def _secrets(monkeypatch):
    """Sets the environment variables that the configuration names."""
    monkeypatch.setenv("ACCESS", "test")
    monkeypatch.setenv("SECRET", "test")


def test_check_does_not_count_page_templates_as_rule_files(files, capfd):
    options = "rules: []\ntemplates: {notFoundError: {path: gone.html}}"
    files.write_text(files.read_text().replace("rules: [rules]", options))
    (files.parent / "gone.html").write_text("gone")
    assert main(["serve", "--check", "--config", str(files)]) == 0
    assert capfd.readouterr().out.endswith("1 target, 0 rewrites in 0 files\n")


@pytest.mark.parametrize(
    ("bucket", "reason"),
    [
        ('s3Endpoint: "http://my_minio:9000"', "Invalid endpoint: http://my_minio:9000"),
        ('s3Endpoint: "https://minio:9000", caPath: nowhere.pem', "nowhere.pem`: FileNotFoundError"),
    ],
)
def test_check_builds_what_serve_builds(files, capfd, bucket, reason):
    """A bucket that would end the start ends the check as well."""
    given = 's3Endpoint: "http://127.0.0.1:1", s3ForcePathStyle: true'
    files.write_text(files.read_text().replace(given, f"{bucket}, s3ForcePathStyle: true"))
    assert main(["serve", "--check", "--config", str(files)]) == 1
    assert reason in capfd.readouterr().err


def test_a_directory_is_no_configuration(files, capfd):
    """A directory in place of the configuration ends the command with status 2, and is not called missing."""
    assert main(["serve", "--config", str(files.parent)]) == 2
    assert f"`{files.parent}` cannot be read: Is a directory" in capfd.readouterr().err


def test_readiness_may_need_a_bucket(files, tmp_path):
    """With `readyNeedsBucket`, a service without a reachable bucket serves, but is not ready."""
    text = files.read_text().replace("probeInterval: 1h", "readyNeedsBucket: true, probeInterval: 100ms")
    with start_proxy(tmp_path, text, site=RULES.format("some")) as proxy:
        admin = Admin.of(proxy)
        status = admin.wait_for_status(lambda status: status["targets"]["site"]["probe"])
        assert status["targets"]["site"]["probe"]["problem"]["code"] == "unreachable"
        assert admin.request("GET", "/-/ready")[0] == 503
        assert admin.metric("tornado_proxy_target_up") == 0
        assert proxy.request("GET", "/a").status == 502
        with endless_s3() as (endpoint, _):
            (tmp_path / "proxy.yaml").write_text(text.replace("http://127.0.0.1:1", endpoint))
            eventually(lambda: admin.request("GET", "/-/ready")[0] == 200)
            eventually(lambda: sum("the bucket" in line for line in proxy.lines) > 1)
    lines = [line for line in proxy.lines if "the bucket" in line]
    assert ["error" in line for line in lines] == [True, False]


# Starts a service as systemd does: LISTEN_PID is the process itself.
_ACTIVATED = f"import os\nos.environ['LISTEN_PID'] = str(os.getpid())\n{SERVE}"


@contextmanager
def _activated(listening: socket.socket, *options: str):
    environment = {**os.environ, "LISTEN_FDS": "1", "LISTEN_FDNAMES": "http"}
    process = ForkedProgram(_ACTIVATED, ["serve", *options], environment, listeners=[listening.fileno()])
    with process.stderr as log:
        try:
            yield
        finally:
            process.terminate()
            errors = log.read()
            assert process.wait(timeout=START_LIMIT) == 0, errors


@pytest.mark.parametrize("options", [(), ("--workers", "2")])
def test_a_restart_with_an_inherited_socket_loses_no_request(files, options):
    """Connections wait in the queue of the inherited socket while one process ends and the next one starts."""
    with (
        endless_s3() as (endpoint, _),
        socket.create_server(("127.0.0.1", 0), backlog=128) as listening,
        ExitStack() as stack,
    ):
        files.write_text(CONFIGURATION.format(endpoint=endpoint))
        (files.parent / "rules" / "site.rules").write_text(RULES.format("first"))
        arguments = ("--config", str(files), *options)
        with under_load(listening.getsockname()) as load:
            with _activated(listening, *arguments):
                load.wait_for_answers(30)
            stack.enter_context(_activated(listening, *arguments))
            load.wait_for_answers(30)
    print(f"{load.answered} requests over a restart")
    assert load.failures == []


def test_queued_connections_are_answered_at_the_end(tmp_path):
    """Connections that nobody has accepted yet are served before the port is closed, also without a service manager."""
    with service(tmp_path) as (proxy, _):
        os.kill(proxy.process.pid, signal.SIGSTOP)
        clients = [socket.create_connection(proxy.address, timeout=20) for _ in range(8)]
        for client in clients:
            client.sendall(b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
        proxy.process.send_signal(signal.SIGTERM)
        os.kill(proxy.process.pid, signal.SIGCONT)
        answers = [client.makefile("rb").read() for client in clients]
        for client in clients:
            client.close()
        assert proxy.process.wait(timeout=START_LIMIT) == 0
    assert [answer.rpartition(b"\r\n\r\n")[2] for answer in answers] == [b"first/a.txt"] * 8
