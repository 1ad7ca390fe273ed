"""`tornado-proxy reload`, against a running service."""

import http.server
import json
import re
import socket
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from administering import RULES, service

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the files of the service are."""
    return tmp_path_factory.mktemp("reload")


@pytest.fixture(scope="module")
def admin(folder):
    """The address of the admin listener of a service."""
    with service(folder) as (_, admin):
        yield admin.url


@pytest.fixture
def rules(folder, admin):
    """The rule file, good again."""
    path = folder / "rules" / "site.rules"
    path.write_text(RULES.format("first"))
    return path


def test_good_rules_are_in_force_when_it_ends(command, admin, rules):
    """Status 0, and the generation."""
    rules.write_text(RULES.format("second"))
    done = command("reload", "--admin", admin)
    assert (done.status, done.err) == (0, "")
    assert re.match(r"generation \d+ is in force", done.out)


def test_what_changed_is_printed(command):
    """A line for each change, and a warning for what only a restart changes."""
    report = {
        "outcome": "loaded",
        "generation": 4,
        "changes": ["a", "b"],
        "restartNeededFor": ["log"],
        "diagnostics": [],
    }
    with _answering(200, json.dumps(report), "application/json") as address:
        done = command("reload", "--admin", address)
    assert done.out == "generation 4 is in force\na\nb\n"
    assert done.err == "`log` changed, and needs a restart to take effect\n"


def test_nothing_new_is_no_failure(command, admin, rules):
    """The files on disk are in force: status 0, and since when."""
    command("reload", "--admin", admin)
    done = command("reload", "--admin", admin)
    assert done.status == 0
    assert re.fullmatch(r"generation \d+ is in force, loaded at [\dT:.-]+Z\n", done.out)


def test_what_the_service_found_before_is_shown_again(command, admin, rules, folder):
    """The page's example: the watcher loaded the edit first, but its warning and what needs a restart are printed."""
    configuration = folder / "proxy.yaml"
    before = configuration.read_text()
    configuration.write_text(before.replace("server: {port: 0}", "server: {port: 81}", 1))
    rules.write_text('target site {\n    rewrite press `^/a$` -> "/b"\n    test "/a" -> "/c"\n}\n')
    command("reload", "--admin", admin)
    done = command("reload", "--admin", admin)
    configuration.write_text(before)
    printed = (done.err + done.out).replace(f"{folder}/", "/etc/tornado-proxy/")
    (number,) = re.findall(r"generation (\d+)", printed)
    shown = re.sub(r"loaded at \S+", "loaded at 2026-05-01T10:05:00.000Z", printed).replace(f"ion {number} ", "ion 4 ")
    assert f"$ tornado-proxy reload --config /etc/tornado-proxy/proxy.yaml\n{shown}```\n" in PAGE


def test_refused_rules_fail(command, admin, rules):
    """The diagnostics are shown; status 1, and the generation stays."""
    rules.write_text("target site { rewrite `^/(` }")
    done = command("reload", "--admin", admin)
    assert (done.status, done.out) == (1, "")
    assert f"{rules}:1:" in done.err
    assert re.search(r"\nrefused: generation \d+ stays in force\n\Z", done.err)


def test_quiet_is_for_units(command, admin, rules):
    """A reload that succeeds prints nothing; one that fails says why."""
    rules.write_text(RULES.format("third"))
    done = command("reload", "--quiet", "--admin", admin)
    assert (done.status, done.out, done.err) == (0, "", "")
    rules.write_text("target site {")
    assert "error[" in command("reload", "--quiet", "--admin", admin).err


def test_the_configuration_says_where_the_listener_is(command, admin, rules, folder):
    """Its address and port are those of `internalServer`; secrets are not needed."""
    text = (folder / "proxy.yaml").read_text()
    path = folder / "beside.yaml"
    path.write_text(text.replace("internalServer: {port: 0}", f"internalServer: {{port: {admin.rpartition(':')[2]}}}"))
    assert command("reload", "--config", str(path)).status == 0


def test_any_free_port_cannot_be_asked(command, admin, rules, folder):
    """With `port: 0` only the log knows: `--admin` has to name it."""
    done = command("reload", "--config", str(folder / "proxy.yaml"))
    assert done.status == 2
    assert "name the listener with `--admin`" in done.err


def test_a_configuration_with_a_mistake_fails(command, tmp_path):
    """The service would refuse it too: the diagnostics, and status 1."""
    (tmp_path / "proxy.yaml").write_text("nonsense: 1\n")
    done = command("reload", "--config", "proxy.yaml")
    assert done.status == 1
    assert "unknown option `nonsense`" in done.err


def test_a_service_that_does_not_run_cannot_be_asked(command):
    """Status 2, and the reason."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    done = command("reload", "--admin", f"127.0.0.1:{port}")
    expected = f"tornado-proxy reload: http://127.0.0.1:{port} cannot be asked: Connection refused\n"
    assert (done.status, done.err) == (2, expected)


def test_a_service_that_hangs_is_not_waited_for(command):
    """Status 2 after the time-out."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = command("reload", "--timeout", "0.2", "--admin", f"127.0.0.1:{server.getsockname()[1]}")
    assert done.status == 2
    assert done.err.endswith("cannot be asked: no answer within 0.2 s\n")


@contextmanager
def _answering(status: int, body: str, kind: str = "text/plain"):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            """Stay silent."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_another_server_is_not_obeyed(command):
    """What it answers is shown, cut short, and steers no terminal; status 2."""
    with _answering(403, "no\x1b[31m" + "x" * 1000) as address:
        done = command("reload", "--admin", address)
    assert done.status == 2
    assert "answered 403: no␛[31mxxx" in done.err
    assert len(done.err) < 400
