"""Tests `tornado-proxy reload` against running services, over TLS too."""

import argparse
import html
import json
import re
import socket
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from administering import RULES, Admin, service
from certificates import pair
from endless_s3 import endless_s3
from running import start_proxy
from scripted_s3 import error_reply, reply, scripted_s3

from tornado_proxy.cli.inputs import admin_url

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
def certificate_folder(tmp_path_factory):
    """Creates a directory with the certificates of the listener, of Ann, and of Bob, who isn't trusted."""
    folder = tmp_path_factory.mktemp("admin")
    for name in ("own", "ann", "bob"):
        key_pair = pair(f"{name}.test", common_name=name)
        (folder / f"{name}.crt").write_text(key_pair.chain)
        (folder / f"{name}.key").write_text(key_pair.key)
        (folder / f"{name}.pem").write_text(key_pair.key + key_pair.chain)
    return folder


@pytest.fixture(scope="module")
def tls_listener(certificate_folder):
    """Starts a service whose admin listener requires client certificates, and returns its URL."""
    with endless_s3() as (endpoint, _):
        text = CONFIGURATION.format(port=0, endpoint=endpoint)
        local = ("--admin-socket", str(certificate_folder / "admin.sock"))
        with start_proxy(certificate_folder, text, *local, site=RULES.format("first")) as proxy:
            yield next(line.rsplit(" ", 1)[1] for line in proxy.lines if "admin listener" in line)


def test_a_socket_in_the_file_system_needs_no_certificate(command, certificate_folder, tls_listener):
    """The permissions of the Unix socket decide who may connect."""
    result = command("reload", "--admin", f"unix:{certificate_folder}/admin.sock")
    assert (result.status, result.err) == (0, "")


def test_a_missing_socket_is_a_failure(command):
    result = command("reload", "--admin", "unix:/run/none.sock")
    expected = (2, "tornado-proxy reload: unix:/run/none.sock cannot be reached: No such file or directory\n")
    assert (result.status, result.err) == expected


def test_a_reload_without_a_certificate_fails(command, certificate_folder, tls_listener):
    """The URL comes from the configuration, and the message suggests `--cert`."""
    path = certificate_folder / "beside.yaml"
    path.write_text(CONFIGURATION.format(port=urlsplit(tls_listener).port, endpoint="http://127.0.0.1:9"))
    result = command("reload", "--config", path)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(
        f"tornado-proxy reload: {tls_listener.replace('localhost', '127.0.0.1')} cannot be reached: "
    )
    assert result.err.endswith("; if it demands a certificate, present one with `--cert`\n")


def test_a_reload_with_a_certificate_succeeds(command, certificate_folder, tls_listener):
    """Certificate and key may be in two files or in one, as with curl."""
    separate = ("--cert", certificate_folder / "ann.crt", "--key", certificate_folder / "ann.key")
    assert command("reload", "--admin", tls_listener, *separate).status == 0
    assert command("reload", "--admin", tls_listener, "--cert", certificate_folder / "ann.pem").status == 0


def test_the_certificate_of_the_listener_is_verified_with_ca(command, certificate_folder, tls_listener):
    """On loopback the name isn't checked, and without `--ca` nothing is verified."""
    cert = ("--cert", certificate_folder / "ann.pem")
    assert command("reload", "--admin", tls_listener, *cert, "--ca", certificate_folder / "own.crt").status == 0
    result = command("reload", "--admin", tls_listener, *cert, "--ca", certificate_folder / "bob.crt")
    assert result.status == 2
    assert "its certificate is not trusted, self-signed certificate: name its authority with `--ca`" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--key", "ann.key"), "`--key` needs `--cert`"),
        (("--cert", "missing"), "`missing` cannot be used for TLS: No such file or directory"),
        (("--cert", "ann.crt"), "`ann.crt` cannot be used for TLS: it needs a certificate and its private key, in PEM"),
        (("--cert", "ann.crt", "--key", "own.key"), "`ann.crt`, `own.key` cannot be used for TLS: key values mismatch"),
        (("--ca", "ann.key"), "`ann.key` cannot be used for TLS: no certificate or crl found"),
    ],
)
def test_unusable_certificate_files_are_a_failure(command, certificate_folder, monkeypatch, words, message):
    monkeypatch.chdir(certificate_folder)
    result = command("reload", "--admin", "https://127.0.0.1:1", *words)
    assert (result.status, result.err) == (2, f"tornado-proxy reload: {message}\n")


@pytest.mark.parametrize(
    "text",
    [
        "ftp://x", "http://", "http://u:p@x", "http://x/path", "http://[::1", "x:0", "x:port", "unix://host/x",
        "unix:/x?y",
    ],
)  # fmt: skip
def test_a_url_that_is_not_of_a_listener_is_a_usage_error(text):
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
def test_the_default_scheme_is_http(text, url):
    assert admin_url(text).geturl() == url


@pytest.fixture(scope="module")
def service_folder(tmp_path_factory):
    """Creates the directory with the files of the service."""
    return tmp_path_factory.mktemp("reload")


@pytest.fixture(scope="module")
def listener_url(service_folder):
    """Starts a service and returns the URL of its admin listener."""
    with service(service_folder) as (_, admin):
        yield admin.url


@pytest.fixture
def rule_file(service_folder, listener_url):
    """Restores the rule file of the service and returns its path."""
    path = service_folder / "rules" / "site.rules"
    path.write_text(RULES.format("first"))
    return path


def test_valid_rules_are_in_force_after_a_reload(command, listener_url, rule_file):
    rule_file.write_text(RULES.format("second"))
    result = command("reload", "--admin", listener_url)
    assert (result.status, result.err) == (0, "")
    assert re.match(r"generation \d+ is in force", result.out)


def test_changes_are_printed(command):
    report = {
        "outcome": "loaded",
        "generation": 4,
        "changes": ["a", "b"],
        "restartNeededFor": ["log"],
        "diagnostics": [],
    }
    with _serve_response(200, json.dumps(report), "application/json") as address:
        result = command("reload", "--admin", address)
    assert result.out == "generation 4 is in force\na\nb\n"
    assert result.err == "`log` changed, and needs a restart to take effect\n"


def test_warnings_of_an_earlier_reload_are_printed_again(command, listener_url, rule_file, service_folder):
    """If the watcher loaded the edit first, its warning and the needed restart are printed."""
    configuration = service_folder / "proxy.yaml"
    before = configuration.read_text()
    configuration.write_text(before.replace("server: {port: 0}", "server: {port: 81}", 1))
    rule_file.write_text('target site {\n    rewrite press `^/a$` -> "/b"\n    test "/a" -> "/c"\n}\n')
    command("reload", "--admin", listener_url)
    result = command("reload", "--admin", listener_url)
    configuration.write_text(before)
    assert "site.rules:3:18: warning[failing-test]" in result.err
    assert "`server` changed, and needs a restart to take effect" in result.err
    assert re.fullmatch(r"generation \d+ is in force, loaded at [\dT:.-]+Z\n", result.out)


def test_a_reload_of_invalid_rules_fails(command, listener_url, rule_file):
    rule_file.write_text("target site { rewrite `^/(` }")
    result = command("reload", "--admin", listener_url)
    assert (result.status, result.out) == (1, "")
    assert f"{rule_file}:1:" in result.err
    assert re.search(r"\nrefused: generation \d+ stays in force\n\Z", result.err)


def test_a_quiet_reload_prints_only_failures(command, listener_url, rule_file):
    rule_file.write_text(RULES.format("third"))
    result = command("reload", "--quiet", "--admin", listener_url)
    assert (result.status, result.out, result.err) == (0, "", "")
    rule_file.write_text("target site {")
    assert "error[" in command("reload", "--quiet", "--admin", listener_url).err


def test_the_address_of_the_listener_is_read_from_the_configuration(command, listener_url, rule_file, service_folder):
    """Address and port come from `internalServer`, and secrets aren't needed."""
    text = (service_folder / "proxy.yaml").read_text()
    path = service_folder / "beside.yaml"
    path.write_text(
        text.replace("internalServer: {port: 0}", f"internalServer: {{port: {listener_url.rpartition(':')[2]}}}")
    )
    assert command("reload", "--config", str(path)).status == 0


def test_an_automatic_port_needs_the_option_admin(command, listener_url, rule_file, service_folder):
    """With `port: 0` the configuration doesn't contain the port, so `--admin` must give it."""
    result = command("reload", "--config", str(service_folder / "proxy.yaml"))
    assert result.status == 2
    assert "name the listener with `--admin`" in result.err


def test_a_stopped_service_is_a_failure(command, closed_port):
    result = command("reload", "--admin", f"127.0.0.1:{closed_port}")
    expected = f"tornado-proxy reload: http://127.0.0.1:{closed_port} cannot be reached: Connection refused\n"
    assert (result.status, result.err) == (2, expected)


def test_a_service_that_does_not_answer_is_a_failure(command):
    with socket.create_server(("127.0.0.1", 0)) as server:
        result = command("reload", "--timeout", "0.2", "--admin", f"127.0.0.1:{server.getsockname()[1]}")
    assert result.status == 2
    assert result.err.endswith("cannot be reached: no answer within 0.2 s\n")


@contextmanager
def _serve_response(status: int, body: str, kind: str = "text/plain"):
    """Serves one response to a request."""
    with scripted_s3(reply(status, body.encode(), Content_Type=kind)) as server:
        yield server.url.removeprefix("http://")


def test_the_response_of_another_server_is_shown_shortened(command):
    with _serve_response(403, "no\x1b[31m" + "x" * 1000) as address:
        result = command("reload", "--admin", address)
    assert result.status == 2
    assert "answered 403: no␛[31mxxx" in result.err
    assert len(result.err) < 400


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((405, "<!doctype html>\n<html>", "text/html; charset=utf-8"), "405: a page; is it the port of `internalServer`?"),
        ((200, "[1]", "application/json"), "200: [1]"),
    ],
)  # fmt: skip
def test_an_answer_that_is_no_object_is_a_failure(command, answer, told):
    """A page is not shown, but the message asks for the right port; a list is shown, without a traceback."""
    with _serve_response(*answer) as address:
        result = command("reload", "--admin", address)
    assert (result.status, result.err) == (2, f"tornado-proxy reload: http://{address} answered {told}\n")


_DOWN = """
  {name}:
    mount: {{path: [/{name}]}}
    bucket: {{name: {name}, s3Endpoint: "{endpoint}", s3ForcePathStyle: true, maxAttempts: 1,
              credentials: {{accessKey: {{env: ACCESS}}, secretKey: {{env: SECRET}}}}}}
"""


def test_targets_whose_buckets_are_down_are_named(command, listener_url, rule_file, closed_port):
    """`reload`, also a quiet one, and the status page name each with the reason, until it is mended."""
    listener = Admin(listener_url)
    configuration = rule_file.parents[1] / "proxy.yaml"
    good = configuration.read_text()
    refusal = error_reply(403, "InvalidAccessKeyId")
    reasons = {
        "gone": f"no connection to 127.0.0.1:{closed_port}: Connection refused",
        "refused": "S3 does not know the access key",
    }
    with scripted_s3(*[refusal] * 20) as s3:
        gone = _DOWN.format(name="gone", endpoint=f"http://127.0.0.1:{closed_port}")
        configuration.write_text(good + gone + _DOWN.format(name="refused", endpoint=s3.url))
        quiet = command("reload", "--quiet", "--admin", listener.url)
        loud = command("reload", "--admin", listener.url)
        page = html.unescape(re.sub("<[^>]+>", "", listener.request("GET", "/-/")[1]))
    configuration.write_text(good)
    mended = command("reload", "--admin", listener.url)
    assert [result.status for result in (quiet, loud, mended)] == [0, 0, 0]
    for name, reason in reasons.items():
        sentence = f"the bucket of target `{name}` cannot be used: {reason}"
        for text in (quiet.err, loud.err):
            assert sentence in text
        assert f"The bucket of target {name} cannot be used: {reason}." in page
    assert "cannot be used" not in mended.out + mended.err
