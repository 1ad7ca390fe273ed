"""Certificates are read from files and URLs; those that clients do not accept are noticed before and while they serve."""

import asyncio
import math
import time
from typing import NamedTuple

import pytest
from certificates import Pair, pair
from files import CONFIGURATION, Files
from in_force import RecordingServing
from msgspec import structs

from tornado_proxy.config.model import Bucket, Mount, Settings, Target
from tornado_proxy.config.secrets import Secret, resolver
from tornado_proxy.config.server import Certificate, InternalServer, Server, Ssl
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.rules.diagnostic import Diagnostic, Severity, errors
from tornado_proxy.s3.documents import DocumentUnavailable
from tornado_proxy.service import certificates
from tornado_proxy.service.certificates import (
    FetchedDocuments,
    certificate_views,
    doubtful_certificates,
    find_certificates,
    unusable_certificates,
    validities,
)
from tornado_proxy.service.reloading import Reloader
from tornado_proxy.service.snapshot import tolerant_of_dates
from tornado_proxy.telemetry.events import ReloadOutcome
from tornado_proxy.wire.tls import names_of

A, B = pair("a.test"), pair("b.test")


def _settings(*certificates: Certificate, **options) -> Settings:
    return Settings(server=Server(ssl=Ssl(certificates=certificates, **options)))


def _fetcher(documents, requested=None):
    """A function that fetches documents by URL, and records the URLs."""

    def fetch(url, _config):
        if requested is not None:
            requested.append(url.reveal())
        if url.reveal() not in documents:
            raise DocumentUnavailable("the answer is 404")
        return documents[url.reveal()].encode()

    return fetch


class _Result(NamedTuple):
    """The result of `find_certificates`."""

    settings: Settings
    diagnostics: tuple[Diagnostic, ...]
    fetched: FetchedDocuments


def _find(settings, directory, documents=None, before=None, fetch=None):
    fetch = fetch or _fetcher(documents or {})
    return _Result(*find_certificates(settings, resolver({}, directory), before or FetchedDocuments(), fetch))


def test_certificates_are_inline_or_in_files(tmp_path):
    """Paths of files are relative to the configuration, and no private key is in a `repr`."""
    (tmp_path / "a.crt").write_text(A.chain)
    (tmp_path / "b#.key").write_text(B.key)
    inline = Certificate(certificate=B.chain, private_key_url=GuardedUrl(f"file://{tmp_path}/b%23.key"))
    in_file = Certificate(certificate_url=GuardedUrl("a.crt"), private_key=Secret("test", A.key))
    result = _find(_settings(inline, in_file), tmp_path)
    assert result.diagnostics == ()
    first, second = result.settings.server.ssl.certificates
    names_of(first)
    names_of(second)
    assert not any("PRIVATE" in repr(value) for value in (first, second, result.settings))


def test_authorities_of_clients_are_in_files_or_at_urls(tmp_path):
    (tmp_path / "a.pem").write_text(A.chain)
    options = {"client_auth": "require", "client_cas": (GuardedUrl("a.pem"), GuardedUrl("https://x.test/b.pem"))}
    result = _find(_settings(A.certificate, **options), tmp_path, {"https://x.test/b.pem": B.chain})
    roots = [root.reveal().strip() for root in result.settings.server.ssl.client_roots]
    assert roots == [A.chain.strip(), B.chain.strip()]
    assert tuple(unusable_certificates(result.settings)) == ()
    missing = _find(_settings(A.certificate, **options), tmp_path)
    assert [diagnostic.code for diagnostic in missing.diagnostics] == ["missing-certificate"]


def test_invalid_authorities_are_an_error(tmp_path):
    (tmp_path / "a.pem").write_text(A.key)
    result = _find(_settings(client_auth="require", client_cas=(GuardedUrl("a.pem"),)), tmp_path)
    assert [str(diagnostic.message) for diagnostic in unusable_certificates(result.settings)] == [
        "`clientCAs` has no certificate in PEM"
    ]


def test_a_missing_file_is_an_error(tmp_path):
    result = _find(_settings(Certificate(certificate_url=GuardedUrl("a.crt"), private_key=Secret("", "x"))), tmp_path)
    ((code, message),) = [(each.code, each.message) for each in result.diagnostics]
    assert (code, message) == ("missing-certificate", "the file `a.crt` cannot be read: No such file or directory")


REMOTE = Certificate(certificate_url=GuardedUrl("https://far.test/a"), private_key_url=GuardedUrl("s3://bucket/key"))
DOCUMENTS = {"https://far.test/a": A.chain, "s3://bucket/key": A.key}


def test_certificates_are_fetched_once(tmp_path):
    requested = []
    settings = structs.replace(_settings(REMOTE), internal_server=InternalServer(ssl=Ssl(certificates=(REMOTE,))))
    fetch = _fetcher(DOCUMENTS, requested)
    result = _find(settings, tmp_path, fetch=fetch)
    assert sorted(requested) == sorted(DOCUMENTS)
    for listener in (result.settings.server, result.settings.internal_server):
        names_of(listener.ssl.certificates[0])


def test_a_failed_fetch_is_an_error(tmp_path):
    result = _find(_settings(REMOTE), tmp_path, {"s3://bucket/key": A.key})
    assert [(diagnostic.message, diagnostic.severity) for diagnostic in result.diagnostics] == [
        ("`https://far.test/a` cannot be fetched: the answer is 404", Severity.ERROR)
    ]


def test_a_failed_renewal_keeps_the_certificate(tmp_path):
    first = _find(_settings(REMOTE), tmp_path, DOCUMENTS)
    second = _find(_settings(REMOTE), tmp_path, {}, first.fetched)
    assert {diagnostic.severity for diagnostic in second.diagnostics} == {Severity.WARNING}
    assert second.settings == first.settings


def test_a_certificate_in_der_is_an_error(tmp_path):
    result = _find(_settings(REMOTE), tmp_path, fetch=lambda *_: b"\x30\x82\xff")
    assert {diagnostic.message.rpartition(": ")[2] for diagnostic in result.diagnostics} == {"it is not text"}


def test_fetched_certificates_are_due_after_an_hour(tmp_path, monkeypatch):
    """Without fetched documents, nothing is due."""
    monkeypatch.setattr(certificates.time, "monotonic", lambda: 100.0)
    assert _find(_settings(REMOTE), tmp_path, DOCUMENTS).fetched.due == 100.0 + certificates.CERTIFICATES_FRESH
    assert _find(Settings(), tmp_path).fetched.due == math.inf


def test_a_self_signed_certificate_has_its_names(tmp_path):
    names = ("files.test", "127.0.0.1")
    result = _find(_settings(self_signed_hostnames=names), tmp_path)
    (certificate,) = result.settings.server.ssl.all_certificates
    assert names_of(certificate) == ("files.test",)
    again = _find(_settings(self_signed_hostnames=names), tmp_path, before=result.fetched)
    assert again.settings.server.ssl.all_certificates == (certificate,)
    assert again.settings.server.ssl.all_certificates[0].key is certificate.key
    other = _find(_settings(self_signed_hostnames=names), tmp_path)
    assert other.settings.server.ssl.all_certificates != (certificate,)


def test_a_removed_self_signed_certificate_is_forgotten(tmp_path):
    """The private key of a self-signed certificate is kept no longer than the generation that has it."""
    first = _find(_settings(self_signed_hostnames=("a.test",)), tmp_path)
    second = _find(_settings(self_signed_hostnames=("b.test",)), tmp_path, before=first.fetched)
    assert list(second.fetched.self_signed) == [("b.test",)]
    assert "PRIVATE" not in repr(second)


def test_disabled_tls_reads_nothing(tmp_path):
    settings = _settings(REMOTE, enabled=False)
    result = _find(settings, tmp_path)
    assert (result.settings, result.diagnostics) == (settings, ())
    assert list(unusable_certificates(settings)) == []


@pytest.mark.parametrize("listener", ["server", "internal_server"])
def test_a_wrong_private_key_is_an_error(listener):
    """A key of another certificate is found before the configuration is in force."""
    ssl = Ssl(certificates=(structs.replace(A.certificate, key=B.certificate.key),))
    settings = Settings(**{listener: {"server": Server, "internal_server": InternalServer}[listener](ssl=ssl)})
    assert [diagnostic.message for diagnostic in unusable_certificates(settings)] == [
        "the private key does not belong to the certificate"
    ]
    assert list(unusable_certificates(_settings(A.certificate, Certificate()))) == []


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


def test_a_renewed_certificate_is_a_change(files, tmp_path):
    """The files of a certificate are watched, and a new certificate with the old key is refused."""
    _install(files, A)
    before = files.read()
    assert {tmp_path / "a.crt", tmp_path / "a.key"} <= {*before.watched}
    assert files.load().usable
    (tmp_path / "a.crt").write_text(B.chain)
    assert not files.read().is_as(before)
    assert not files.load().usable
    (tmp_path / "a.key").write_text(B.key)
    assert files.load().usable


# What clients do not accept


OTHER = pair("*.b.test")
EXPIRED, EARLY, SOON = (pair("old.test", days=(-2, -1)), pair("new.test", days=(1, 2)), pair("soon.test", days=(-2, 1)))


def _settings_of(*pairs: Pair, hosts: tuple[str, ...] = (), **options: object) -> Settings:
    targets = tuple(Target(f"t{number}", Mount(host), Bucket("b")) for number, host in enumerate(hosts))
    return structs.replace(_settings(*(each.certificate for each in pairs), **options), targets=targets)


def _doubts(settings: Settings):
    return [*doubtful_certificates(settings, time.time())]


@pytest.mark.parametrize(
    ("certificate", "said"),
    [
        (EXPIRED, ("the certificate for `old.test` expired", Severity.ERROR)),
        (EARLY, ("the certificate for `new.test` is not valid before", Severity.ERROR)),
        (SOON, ("the certificate for `soon.test` expires", Severity.WARNING)),
    ],
)
def test_dates_that_clients_refuse_are_errors(certificate, said):
    """The message names the certificate and the date; a check says it before clients do."""
    (doubt,) = _doubts(_settings_of(A, certificate))
    assert (doubt.message.split(" at ")[0].split(" 2")[0], doubt.severity) == said


def test_a_host_without_a_certificate_has_its_place(files):
    _install(files, A)
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
    found = _doubts(_settings_of(A, OTHER, hosts=hosts))
    assert ([each.message for each in found], errors(found)) == (message, ())


def test_a_self_signed_certificate_is_for_any_host():
    """It is made to try things out."""
    assert _doubts(_settings_of(A, hosts=("c.test",), self_signed_hostnames=("localhost",))) == []


def test_what_cannot_be_read_has_no_dates():
    """A certificate that cannot be used is reported as such, once."""
    broken = structs.replace(A.certificate, key=OTHER.certificate.key)
    assert [*validities(Settings(server=Server(ssl=Ssl(certificates=(broken, Certificate())))))] == []
    assert [*validities(_settings_of(A, enabled=False))] == []


def test_views_say_what_ends_soon():
    """Two weeks before its end a certificate has a problem."""
    views = certificate_views(_settings_of(A, SOON, EXPIRED), time.time())
    assert [each["names"] for each in views] == [["a.test"], ["soon.test"], ["old.test"]]
    assert [(str(each["problem"]) or "").split(" ")[0] for each in views] == ["None", "expires", "expired"]


def _reload(files: Files, before: Pair, after: Pair):
    _install(files, before)
    first = tolerant_of_dates(files.load(), None, time.time())
    assert first.usable
    reloader = Reloader(RecordingServing(first), files.read, [].append)
    _install(files, after)
    return asyncio.run(reloader.reload())


def test_a_valid_certificate_is_not_replaced_by_an_expired_one(files):
    """The edit is refused, and the caret is at the certificate's file."""
    report = _reload(files, A, EXPIRED)
    assert report.outcome is ReloadOutcome.REFUSED
    (found,) = report.diagnostics
    assert found.message.startswith("the certificate for `old.test` expired")
    assert found.span.text == "a.crt"


def test_an_expired_certificate_does_not_hold_up_other_edits(files):
    """If the one in force has expired itself, there is nothing to lose."""
    report = _reload(files, EXPIRED, pair("older.test", days=(-4, -3)))
    assert report.outcome is ReloadOutcome.LOADED
    assert [each.severity for each in report.diagnostics] == [Severity.WARNING]


def test_the_caret_is_at_the_file_that_fails(files):
    """A missing key is shown at the option of the key, and so is one of another certificate."""
    _install(files, A)
    (files.folder / "a.key").unlink()
    (missing,) = files.load().diagnostics
    assert missing.span.text == "a.key"
    (files.folder / "a.key").write_text(OTHER.key)
    (wrong,) = files.load().diagnostics
    assert wrong.span.text == "a.key"


def test_the_caret_is_at_the_authority_that_fails(files):
    """Of several files, the one that is missing is shown."""
    _install(files, A)
    text = files.configuration.read_text()
    files.configure(text.replace("ssl: {", "ssl: {clientAuth: request, clientCAs: [a.crt, b.crt], ", 1))
    (missing,) = files.load().diagnostics
    assert missing.span.text == "b.crt"
