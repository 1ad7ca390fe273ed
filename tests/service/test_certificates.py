"""Certificates are read from files and URLs, and stay in use if they cannot be fetched again."""

import math
from typing import NamedTuple

import pytest
from certificates import pair
from files import CONFIGURATION, Files
from msgspec import structs

from tornado_proxy.config.model import Settings
from tornado_proxy.config.secrets import Secret, resolver
from tornado_proxy.config.server import Certificate, InternalServer, Server, Ssl
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.rules.diagnostic import Diagnostic, Severity
from tornado_proxy.s3.documents import DocumentUnavailable
from tornado_proxy.service import certificates
from tornado_proxy.service.certificates import FetchedDocuments, find_certificates, unusable_certificates
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
    """All authorities are read, and a missing one is an error."""
    (tmp_path / "a.pem").write_text(A.chain)
    options = {"client_auth": "require", "client_cas": (GuardedUrl("a.pem"), GuardedUrl("https://x.test/b.pem"))}
    result = _find(_settings(A.certificate, **options), tmp_path, {"https://x.test/b.pem": B.chain})
    assert [root.reveal().strip() for root in result.settings.server.ssl.client_roots] == [
        A.chain.strip(),
        B.chain.strip(),
    ]
    assert tuple(unusable_certificates(result.settings)) == ()
    missing = _find(_settings(A.certificate, **options), tmp_path)
    assert [diagnostic.code for diagnostic in missing.diagnostics] == ["missing-certificate"]


def test_invalid_authorities_are_an_error(tmp_path):
    """The message names the option."""
    (tmp_path / "a.pem").write_text(A.key)
    result = _find(_settings(client_auth="require", client_cas=(GuardedUrl("a.pem"),)), tmp_path)
    assert [str(diagnostic.message) for diagnostic in unusable_certificates(result.settings)] == [
        "`clientCAs` has no certificate in PEM"
    ]


def test_a_missing_file_is_an_error(tmp_path):
    """The message has the path of the configuration and the reason."""
    result = _find(_settings(Certificate(certificate_url=GuardedUrl("a.crt"), private_key=Secret("", "x"))), tmp_path)
    (diagnostic,) = result.diagnostics
    assert (diagnostic.code, diagnostic.message) == (
        "missing-certificate",
        "the file `a.crt` cannot be read: No such file or directory",
    )


REMOTE = Certificate(certificate_url=GuardedUrl("https://far.test/a"), private_key_url=GuardedUrl("s3://bucket/key"))
DOCUMENTS = {"https://far.test/a": A.chain, "s3://bucket/key": A.key}


def test_certificates_are_fetched_once(tmp_path):
    """A certificate of both listeners is fetched once."""
    requested = []
    settings = structs.replace(_settings(REMOTE), internal_server=InternalServer(ssl=Ssl(certificates=(REMOTE,))))
    fetch = _fetcher(DOCUMENTS, requested)
    result = _find(settings, tmp_path, fetch=fetch)
    assert sorted(requested) == sorted(DOCUMENTS)
    for listener in (result.settings.server, result.settings.internal_server):
        names_of(listener.ssl.certificates[0])


def test_a_failed_fetch_is_an_error(tmp_path):
    """The message has the URL and the reason."""
    result = _find(_settings(REMOTE), tmp_path, {"s3://bucket/key": A.key})
    assert [(diagnostic.message, diagnostic.severity) for diagnostic in result.diagnostics] == [
        ("`https://far.test/a` cannot be fetched: the answer is 404", Severity.ERROR)
    ]


def test_a_failed_renewal_keeps_the_certificate(tmp_path):
    """The previous certificate stays in use, with a warning."""
    first = _find(_settings(REMOTE), tmp_path, DOCUMENTS)
    second = _find(_settings(REMOTE), tmp_path, {}, first.fetched)
    assert {diagnostic.severity for diagnostic in second.diagnostics} == {Severity.WARNING}
    assert second.settings == first.settings


def test_a_certificate_in_der_is_an_error(tmp_path):
    """A document that is not text is not PEM."""
    result = _find(_settings(REMOTE), tmp_path, fetch=lambda *_: b"\x30\x82\xff")
    assert {diagnostic.message.rpartition(": ")[2] for diagnostic in result.diagnostics} == {"it is not text"}


def test_fetched_certificates_are_due_after_an_hour(tmp_path, monkeypatch):
    """Without fetched documents, nothing is due."""
    monkeypatch.setattr(certificates.time, "monotonic", lambda: 100.0)
    assert _find(_settings(REMOTE), tmp_path, DOCUMENTS).fetched.due == 100.0 + certificates.CERTIFICATES_FRESH
    assert _find(Settings(), tmp_path).fetched.due == math.inf


def test_a_self_signed_certificate_has_its_names(tmp_path):
    """The certificate has the configured names and stays the same over reloads."""
    names = ("files.test", "127.0.0.1")
    result = _find(_settings(self_signed_hostnames=names), tmp_path)
    (certificate,) = result.settings.server.ssl.all_certificates
    names_of(certificate)
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
    """With TLS disabled, neither files nor URLs are read."""
    settings = _settings(REMOTE, enabled=False)
    result = _find(settings, tmp_path)
    assert (result.settings, result.diagnostics) == (settings, ())
    assert list(unusable_certificates(settings)) == []


@pytest.mark.parametrize("listener", ["server", "internal_server"])
def test_a_wrong_private_key_is_an_error(listener):
    """A key of another certificate is found before the configuration is in force."""
    ssl = Ssl(certificates=(structs.replace(A.certificate, key=B.certificate.key),))
    settings = (
        Settings(server=Server(ssl=ssl)) if listener == "server" else Settings(internal_server=InternalServer(ssl=ssl))
    )
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
    (tmp_path / "a.crt").write_text(A.chain)
    (tmp_path / "a.key").write_text(A.key)
    return files


def test_a_renewed_certificate_is_a_change(files, tmp_path):
    """The files of a certificate are watched, and a new certificate with the old key is refused."""
    before = files.read()
    assert {tmp_path / "a.crt", tmp_path / "a.key"} <= {*before.watched}
    assert files.load().usable
    (tmp_path / "a.crt").write_text(B.chain)
    assert not files.read().is_as(before)
    assert not files.load().usable
    (tmp_path / "a.key").write_text(B.key)
    assert files.load().usable
