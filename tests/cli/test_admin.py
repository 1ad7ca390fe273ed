"""`tornado-proxy reload` and `fleet`, against running services, over TLS too."""

from __future__ import annotations

import argparse
import http.server
import json
import re
import shutil
import socket
import threading
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from administering import RULES, service
from certificates import pair
from endless_s3 import endless_s3
from running import start_proxy

from tornado_proxy.cli.admin import Member, admin_url, compared, most_common

CONFIGURATION = """
server: {{port: 0}}
internalServer:
  port: {port}
  ssl:
    certificates: [{{certificateUrl: own.crt, privateKeyUrl: own.key}}]
    clientAuth: require
    clientCAs: [own.crt, ann.crt]
rules: [rules]
targets:
  site:
    bucket: {{name: some-bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true,
              credentials: {{accessKey: {{env: ACCESS}}, secretKey: {{env: SECRET}}}}}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with certificates: the listener's own, Ann's, and one of nobody."""
    folder = tmp_path_factory.mktemp("admin")
    for name in ("own", "ann", "bob"):
        made = pair(f"{name}.test", common_name=name)
        (folder / f"{name}.crt").write_text(made.chain)
        (folder / f"{name}.key").write_text(made.key)
        (folder / f"{name}.pem").write_text(made.key + made.chain)
    return folder


@pytest.fixture(scope="module")
def listener(folder):
    """The URL of a listener that demands a certificate of its clients."""
    with endless_s3() as (endpoint, _):
        text = CONFIGURATION.format(port=0, endpoint=endpoint)
        local = ("--admin-socket", str(folder / "admin.sock"))
        with start_proxy(folder, text, *local, site=RULES.format("first")) as proxy:
            yield next(line.rsplit(" ", 1)[1] for line in proxy.lines if "admin listener" in line)


def test_a_socket_in_the_file_system_needs_no_certificate(command, folder, listener):
    """Whoever may connect to it may ask: `--admin-socket` of the service is what its unit reloads by."""
    done = command("reload", "--admin", f"unix:{folder}/admin.sock")
    assert (done.status, done.err) == (0, "")


def test_a_socket_that_is_not_there_cannot_be_asked(command):
    """Status 2, and the reason."""
    done = command("reload", "--admin", "unix:/run/none.sock")
    assert (done.status, done.err) == (
        2,
        "tornado-proxy reload: unix:/run/none.sock cannot be reached: No such file or directory\n",
    )


def test_a_reload_without_a_certificate_is_turned_away(command, folder, listener):
    """The configuration names the address and TLS; the message says what is missing."""
    path = folder / "beside.yaml"
    path.write_text(CONFIGURATION.format(port=urlsplit(listener).port, endpoint="http://127.0.0.1:9"))
    done = command("reload", "--config", path)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(
        f"tornado-proxy reload: {listener.replace('localhost', '127.0.0.1')} cannot be reached: "
    )
    assert done.err.endswith("; if it demands a certificate, present one with `--cert`\n")


def test_a_certificate_may_be_given(command, folder, listener):
    """`--cert` and `--key` as curl takes them, or both in one file."""
    separate = ("--cert", folder / "ann.crt", "--key", folder / "ann.key")
    assert command("reload", "--admin", listener, *separate).status == 0
    assert command("reload", "--admin", listener, "--cert", folder / "ann.pem").status == 0


def test_a_fleet_is_shown_a_certificate_too(command, folder, listener):
    """The same options hold for all services."""
    done = command("fleet", listener, "--cert", folder / "ann.pem")
    assert done.status == 0
    assert done.out.endswith("1 of 1 as expected\n")


def test_a_fleet_without_a_certificate_is_turned_away(command, listener):
    """Status 1, and the reason in the listener's line."""
    done = command("fleet", listener)
    assert done.status == 1
    assert "; if it demands a certificate, present one with `--cert`\n" in done.out


def test_the_listener_is_verified_by_the_authorities_that_are_given(command, folder, listener):
    """On loopback the name does not count, and without `--ca` nothing is verified."""
    cert = ("--cert", folder / "ann.pem")
    assert command("reload", "--admin", listener, *cert, "--ca", folder / "own.crt").status == 0
    done = command("reload", "--admin", listener, *cert, "--ca", folder / "bob.crt")
    assert done.status == 2
    assert "its certificate is not trusted, self-signed certificate: name its authority with `--ca`" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--key", "ann.key"), "`--key` needs `--cert`"),
        (("--cert", "missing"), "`missing` cannot be used for TLS: No such file or directory"),
        (("--cert", "ann.crt"), "`ann.crt` cannot be used for TLS: it needs a certificate and its private key, in PEM"),
        (
            ("--cert", "ann.crt", "--key", "own.key"),
            "`ann.crt`, `own.key` cannot be used for TLS: key values mismatch",
        ),
        (("--ca", "ann.key"), "`ann.key` cannot be used for TLS: no certificate or crl found"),
    ],
)
@pytest.mark.parametrize("name", ["reload --admin", "fleet"])
def test_files_that_are_no_use_are_named(command, folder, monkeypatch, name, words, message):
    """Status 2, before anything is asked."""
    monkeypatch.chdir(folder)
    done = command(*name.split(), "https://127.0.0.1:1", *words)
    assert (done.status, done.err) == (2, f"tornado-proxy {name.split()[0]}: {message}\n")


@pytest.mark.parametrize(
    "text",
    [
        "ftp://x",
        "http://",
        "http://u:p@x",
        "http://x/path",
        "http://[::1",
        "x:0",
        "x:port",
        "unix://host/x",
        "unix:/x?y",
    ],
)
def test_only_the_url_of_a_listener_is_taken(text):
    """A path, a user or another scheme is a mistake."""
    with pytest.raises(argparse.ArgumentTypeError, match="is not the URL of an admin listener"):
        admin_url(text)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("x:1", "http://x:1"),
        ("https://x", "https://x"),
        ("http://[::1]:9", "http://[::1]:9"),
        ("unix:/run/a.sock", "unix:/run/a.sock"),
    ],
)
def test_the_scheme_may_be_left_out(text, url):
    """Plain HTTP is the default."""
    assert admin_url(text).geturl() == url


PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder_reload(tmp_path_factory):
    """Where the files of the service are."""
    return tmp_path_factory.mktemp("reload")


@pytest.fixture(scope="module")
def admin(folder_reload):
    """The address of the admin listener of a service."""
    with service(folder_reload) as (_, admin):
        yield admin.url


@pytest.fixture
def rules(folder_reload, admin):
    """The rule file, good again."""
    path = folder_reload / "rules" / "site.rules"
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


def test_what_the_service_found_before_is_shown_again(command, admin, rules, folder_reload):
    """The page's example: the watcher loaded the edit first, but its warning and what needs a restart are printed."""
    configuration = folder_reload / "proxy.yaml"
    before = configuration.read_text()
    configuration.write_text(before.replace("server: {port: 0}", "server: {port: 81}", 1))
    rules.write_text('target site {\n    rewrite press `^/a$` -> "/b"\n    test "/a" -> "/c"\n}\n')
    command("reload", "--admin", admin)
    done = command("reload", "--admin", admin)
    configuration.write_text(before)
    printed = (done.err + done.out).replace(f"{folder_reload}/", "/etc/tornado-proxy/")
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


def test_the_configuration_says_where_the_listener_is(command, admin, rules, folder_reload):
    """Its address and port are those of `internalServer`; secrets are not needed."""
    text = (folder_reload / "proxy.yaml").read_text()
    path = folder_reload / "beside.yaml"
    path.write_text(text.replace("internalServer: {port: 0}", f"internalServer: {{port: {admin.rpartition(':')[2]}}}"))
    assert command("reload", "--config", str(path)).status == 0


def test_any_free_port_cannot_be_asked(command, admin, rules, folder_reload):
    """With `port: 0` only the log knows: `--admin` has to name it."""
    done = command("reload", "--config", str(folder_reload / "proxy.yaml"))
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
    expected = f"tornado-proxy reload: http://127.0.0.1:{port} cannot be reached: Connection refused\n"
    assert (done.status, done.err) == (2, expected)


def test_a_service_that_hangs_is_not_waited_for(command):
    """Status 2 after the time-out."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = command("reload", "--timeout", "0.2", "--admin", f"127.0.0.1:{server.getsockname()[1]}")
    assert done.status == 2
    assert done.err.endswith("cannot be reached: no answer within 0.2 s\n")


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


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Two services with files of their own, and the rule file of each."""
    folders = [tmp_path_factory.mktemp("fleet") for _ in range(2)]
    with service(folders[0]) as (_, first), service(folders[1]) as (_, second):
        yield (first, second), [folder / "rules" / "site.rules" for folder in folders]


def test_one_service_is_up_to_date(command, fleet):
    """Its digest and the time when it was loaded are shown; status 0."""
    (admin, _), _ = fleet
    done = command("fleet", admin.url)
    status = admin.status()
    assert (done.status, done.err) == (0, "")
    assert done.out == f"{admin.url}  {status['digest'][:12]}  {status['loadedAt']}  OK\n\n1 of 1 as expected\n"


def test_a_service_with_other_files_differs(command, fleet):
    """The first digits of a digest name the expected files; the status is 1."""
    (first, second), (rules, _) = fleet
    rules.write_text(RULES.format("newer"))
    first.reload()
    expected = second.status()["digest"][:12]
    done = command("fleet", first.url, second.url, "--expect", expected)
    assert done.status == 1
    assert [line.rsplit("  ", 1)[1] for line in done.out.splitlines()[:2]] == [f"differs from {expected}", "OK"]
    assert done.out.endswith("\n1 of 2 as expected\n")


def test_a_checkout_names_what_must_be_in_force(command, fleet, tmp_path):
    """The same files have the same digest in every directory, and their secrets need not exist."""
    (first, _), (rules, _) = fleet
    shutil.copytree(rules.parents[1], tmp_path / "checkout")
    assert command("fleet", first.url, "--expect", "checkout/proxy.yaml").status == 0
    (tmp_path / "checkout" / "rules" / "site.rules").write_text(RULES.format("next"))
    assert command("fleet", first.url, "--expect", "checkout/proxy.yaml").status == 1


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("nonsense: 1\n", 1, "unknown option `nonsense`"),
        (b"\xff", 2, "invalid UTF-8"),
    ],
)
def test_a_checkout_that_cannot_be_used_names_nothing(command, tmp_path, text, status, message):
    """Its mistakes are shown, and nothing is asked."""
    (tmp_path / "proxy.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    done = command("fleet", "127.0.0.1:1", "--expect", "proxy.yaml")
    assert (done.status, done.out) == (status, "")
    assert message in done.err


@pytest.mark.parametrize("text", ["missing.yaml", "52f8a1b", "x" * 12])
def test_what_is_expected_is_a_file_or_a_digest(command, text):
    """Status 2."""
    done = command("fleet", "127.0.0.1:1", "--expect", text)
    message = f"tornado-proxy fleet: `{text}` is neither a file nor 8 digits or more of a digest\n"
    assert (done.status, done.err) == (2, message)


def test_a_refused_edit_is_shown(command, fleet):
    """With the place of the mistake."""
    (first, _), (rules, _) = fleet
    good = rules.read_text()
    rules.write_text("target site { rewrite `^/(` }")
    first.reload()
    done = command("fleet", first.url)
    rules.write_text(good)
    first.reload()
    assert done.status == 1
    assert f"refuses its files: {rules}:1: " in done.out


def test_what_does_not_answer_is_shown(command, fleet):
    """The others are shown all the same; programs read JSON."""
    (first, _), _ = fleet
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    done = command("fleet", f"127.0.0.1:{port}", first.url, "--format", "json")
    dead, alive = json.loads(done.out)["services"]
    assert done.status == 1
    assert (dead["trouble"], dead["digest"]) == ("Connection refused", "")
    assert (alive["trouble"], alive["generation"]) == (None, first.status()["generation"])


def test_an_address_with_a_user_is_a_mistake(command, fleet):
    """The listener has no sign-in, so a user in its URL is an error."""
    (first, _), _ = fleet
    done = command("fleet", first.url.replace("http://", "http://localhost.invalid@"))
    assert done.status == 2


def test_a_restart_with_old_files_is_not_taken_for_the_newest():
    """Without `--expect`, what most services have in force is expected."""
    members = [
        Member("a", digest="2", loaded_at="2026-05-02"),
        Member("b", digest="2", loaded_at="2026-05-02"),
        Member("restarted", digest="1", loaded_at="2026-05-03"),
    ]
    assert most_common(members) == "2"


def test_of_equally_common_files_the_last_loaded_are_expected():
    """And services that do not answer do not count."""
    members = [
        Member("a", digest="1", loaded_at="2026-05-02"),
        Member("b", digest="2", loaded_at="2026-05-03"),
        Member("c"),
        Member("d"),
    ]
    assert most_common(members) == "2"


def test_a_service_that_is_not_ready_is_not_reported_as_different():
    """One trouble is enough."""
    good = Member("a", digest="2", loaded_at="2026-05-02")
    waiting = Member("b", digest="1", loaded_at="2026-05-01", trouble="not ready")
    assert compared([good, waiting], "2") == [good, waiting]
