"""Commands that ask an admin listener by TLS, which demands a certificate of them."""

from __future__ import annotations

import argparse
from urllib.parse import urlsplit

import pytest
from administering import RULES
from certificates import pair
from endless_s3 import endless_s3
from running import start_proxy

from tornado_proxy.cli.admin import admin_url

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
        "tornado-proxy reload: unix:/run/none.sock cannot be asked: No such file or directory\n",
    )


def test_a_reload_without_a_certificate_is_turned_away(command, folder, listener):
    """The configuration names the address and TLS; the message says what is missing."""
    path = folder / "beside.yaml"
    path.write_text(CONFIGURATION.format(port=urlsplit(listener).port, endpoint="http://127.0.0.1:9"))
    done = command("reload", "--config", path)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"tornado-proxy reload: {listener.replace('localhost', '127.0.0.1')} cannot be asked: ")
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
