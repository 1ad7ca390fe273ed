"""Certificates that clients do not accept are noticed before and while they are in force."""

import asyncio
import time

import pytest
from certificates import Pair, pair
from files import CONFIGURATION, Files
from in_force import RecordingServing
from msgspec import structs

from tornado_proxy.config.model import Bucket, Mount, Settings, Target
from tornado_proxy.config.server import Certificate, InternalServer, Server, Ssl
from tornado_proxy.rules.diagnostic import Severity, errors
from tornado_proxy.service.certificates import certificate_views, doubtful_certificates, validities
from tornado_proxy.service.reloading import Reloader
from tornado_proxy.service.snapshot import tolerant_of_dates
from tornado_proxy.telemetry.events import ReloadOutcome

VALID, OTHER = pair("a.test"), pair("*.b.test")
EXPIRED, EARLY, SOON = (pair("old.test", days=(-2, -1)), pair("new.test", days=(1, 2)), pair("soon.test", days=(-2, 1)))


def _settings(*pairs: Pair, hosts: tuple[str, ...] = (), **options: object) -> Settings:
    targets = tuple(Target(f"t{number}", Mount(host), Bucket("b")) for number, host in enumerate(hosts))
    ssl = Ssl(certificates=tuple(each.certificate for each in pairs), **options)
    return Settings(server=Server(ssl=ssl), targets=targets)


def _said(settings: Settings) -> list[tuple[str, Severity]]:
    return [(each.message.split(" at ")[0].split(" 2")[0], each.severity) for each in _doubts(settings)]


def _doubts(settings: Settings):
    return [*doubtful_certificates(settings, time.time())]


@pytest.mark.parametrize(
    ("certificate", "message"),
    [
        (EXPIRED, "the certificate for `old.test` expired"),
        (EARLY, "the certificate for `new.test` is not valid before"),
    ],
)
def test_dates_that_clients_refuse_are_errors(certificate, message):
    """The message names the certificate and the date."""
    assert _said(_settings(VALID, certificate)) == [(message, Severity.ERROR)]


def test_a_certificate_that_ends_soon_is_a_warning():
    """A check says it before clients do."""
    assert _said(_settings(VALID, SOON)) == [("the certificate for `soon.test` expires", Severity.WARNING)]


def test_a_host_without_a_certificate_has_its_place(files):
    """The caret is at the host of the mount."""
    _install(files, VALID)
    text = (files.folder / "proxy.yaml").read_text()
    files.configure(text.replace("path: [/]", "host: c.test, path: [/]"))
    (found,) = files.load().diagnostics
    assert (found.code, found.span.text) == ("other-host", "host")


def test_a_passphrase_has_its_own_advice(files):
    """What to do differs from that for other mistakes in a pair."""
    _install(files, pair("a.test", passphrase=b"x"))
    (found,) = files.load().diagnostics
    assert "openssl pkey" in found.help


def test_a_certificate_of_the_admin_listener_is_looked_at_too():
    """Both listeners have certificates."""
    ssl = Ssl(certificates=(EXPIRED.certificate,))
    assert len(_doubts(Settings(internal_server=InternalServer(ssl=ssl)))) == 1


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        (("a.test", "x.b.test", "*.c.test", ""), []),
        (("c.test",), ["no certificate is for `c.test`, where target `t0` is mounted"]),
        (("x.y.b.test",), ["no certificate is for `x.y.b.test`, where target `t0` is mounted"]),
    ],
)
def test_a_host_without_a_certificate_is_a_warning(hosts, message):
    """A wildcard stands for one label; patterns of hosts are not compared."""
    found = _doubts(_settings(VALID, OTHER, hosts=hosts))
    assert ([each.message for each in found], errors(found)) == (message, ())


def test_a_self_signed_certificate_is_for_any_host():
    """It is made to try things out."""
    assert _doubts(_settings(VALID, hosts=("c.test",), self_signed_hostnames=("localhost",))) == []


def test_what_cannot_be_read_has_no_dates():
    """A certificate that cannot be used is reported as such, once."""
    broken = structs.replace(VALID.certificate, key=OTHER.certificate.key)
    assert [*validities(Settings(server=Server(ssl=Ssl(certificates=(broken, Certificate())))))] == []
    assert [*validities(_settings(VALID, enabled=False))] == []


def test_views_say_what_ends_soon():
    """Two weeks before its end a certificate has a problem."""
    views = certificate_views(_settings(VALID, SOON, EXPIRED), time.time())
    assert [each["names"] for each in views] == [["a.test"], ["soon.test"], ["old.test"]]
    assert [(str(each["problem"]) or "").split(" ")[0] for each in views] == ["None", "expires", "expired"]


@pytest.fixture
def files(tmp_path):
    """Files with TLS."""
    files = Files.create(tmp_path)
    ssl = "ssl: {certificates: [{certificateUrl: a.crt, privateKeyUrl: a.key}]}"
    files.configure(CONFIGURATION.replace("{port: 0}", f"{{port: 0, {ssl}}}", 1))
    return files


def _install(files: Files, certificate: Pair) -> None:
    (files.folder / "a.crt").write_text(certificate.chain)
    (files.folder / "a.key").write_text(certificate.key)


def _reload(files: Files, before: Pair, after: Pair):
    _install(files, before)
    first = tolerant_of_dates(files.load(), None, time.time())
    assert first.usable
    reloader = Reloader(RecordingServing(first), files.read, [].append)
    _install(files, after)
    return asyncio.run(reloader.reload())


def test_a_valid_certificate_is_not_replaced_by_an_expired_one(files):
    """The edit is refused, and the caret is at the certificate's file."""
    report = _reload(files, VALID, EXPIRED)
    assert report.outcome is ReloadOutcome.REFUSED
    (found,) = report.diagnostics
    assert found.message.startswith("the certificate for `old.test` expired")
    assert found.span.text == "a.crt"


def test_an_expired_certificate_does_not_hold_up_other_edits(files):
    """If the one in force has expired itself, there is nothing to lose."""
    report = _reload(files, EXPIRED, pair("older.test", days=(-4, -3)))
    assert (report.outcome, [each.severity for each in report.diagnostics]) == (
        ReloadOutcome.LOADED,
        [Severity.WARNING],
    )


def test_the_caret_is_at_the_file_that_fails(files):
    """A missing key is shown at the option of the key, and so is one of another certificate."""
    _install(files, VALID)
    (files.folder / "a.key").unlink()
    (missing,) = files.load().diagnostics
    assert missing.span.text == "a.key"
    (files.folder / "a.key").write_text(OTHER.key)
    (wrong,) = files.load().diagnostics
    assert wrong.span.text == "a.key"


def test_the_caret_is_at_the_authority_that_fails(files):
    """Of several files, the one that is missing is shown."""
    _install(files, VALID)
    text = files.configuration.read_text()
    files.configure(text.replace("ssl: {", "ssl: {clientAuth: request, clientCAs: [a.crt, b.crt], ", 1))
    (missing,) = files.load().diagnostics
    assert missing.span.text == "b.crt"
