"""Certificates are found in files and at URLs, and stay in use if they cannot be fetched again."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import pytest
from certificates import pair
from files import CONFIGURATION, Files

from tornado_proxy.config.model import Settings
from tornado_proxy.config.secrets import Secret, resolver
from tornado_proxy.config.server import Certificate, InternalServer, Server, Ssl
from tornado_proxy.gateway.tls import names_of
from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.service import certificates
from tornado_proxy.service.certificates import FetchedDocuments, find_certificates, self_signed, unusable_certificates
from tornado_proxy.storage.documents import DocumentUnavailable

A, B = pair("a.test"), pair("b.test")


def _settings(*given: Certificate, **options) -> Settings:
    return Settings(server=Server(ssl=Ssl(certificates=given, **options)))


def _far_away(documents, asked=None):
    def fetch(url, _config):
        if asked is not None:
            asked.append(url)
        if url not in documents:
            raise DocumentUnavailable("the answer is 404")
        return documents[url].encode()

    return fetch


class _Found(NamedTuple):
    settings: Settings
    diagnostics: tuple[Diagnostic, ...]
    fetched: FetchedDocuments


def _find(settings, directory, documents=None, before=None, fetch=None):
    fetch = fetch or _far_away(documents or {})
    return _Found(*find_certificates(settings, resolver({}, directory), before or FetchedDocuments(), fetch))


def test_certificates_are_found_in_the_text_and_in_files(tmp_path):
    """Files are relative to the configuration."""
    (tmp_path / "a.crt").write_text(A.chain)
    (tmp_path / "b#.key").write_text(B.key)
    inline = Certificate(certificate=B.chain, private_key_url=f"file://{tmp_path}/b%23.key")
    in_file = Certificate(certificate_url="a.crt", private_key=Secret("test", A.key))
    found = _find(_settings(inline, in_file), tmp_path)
    assert found.diagnostics == ()
    first, second = found.settings.server.ssl.certificates
    names_of(first)
    names_of(second)
    assert not any("PRIVATE" in repr(each) for each in (first, second, found.settings))


def test_authorities_of_clients_are_found_in_files_and_far_away(tmp_path):
    """All of them; one that is missing is an error."""
    (tmp_path / "a.pem").write_text(A.chain)
    options = {"client_auth": "require", "client_cas": ("a.pem", "https://x.test/b.pem")}
    found = _find(_settings(A.certificate, **options), tmp_path, {"https://x.test/b.pem": B.chain})
    assert [each.reveal().strip() for each in found.settings.server.ssl.client_roots] == [
        A.chain.strip(),
        B.chain.strip(),
    ]
    assert tuple(unusable_certificates(found.settings)) == ()
    missing = _find(_settings(A.certificate, **options), tmp_path)
    assert [each.code for each in missing.diagnostics] == ["missing-certificate"]


def test_authorities_that_cannot_be_read_are_an_error(tmp_path):
    """The text says which option."""
    (tmp_path / "a.pem").write_text(A.key)
    found = _find(_settings(client_auth="require", client_cas=("a.pem",)), tmp_path)
    assert [str(each.message) for each in unusable_certificates(found.settings)] == [
        "`clientCAs` has no certificate in PEM"
    ]


def test_a_file_that_is_missing_is_an_error(tmp_path):
    """The message names the file as the configuration does."""
    found = _find(_settings(Certificate(certificate_url="a.crt", private_key=Secret("", "x"))), tmp_path)
    (only,) = found.diagnostics
    assert (only.code, only.message) == (
        "missing-certificate",
        "the file `a.crt` cannot be read: No such file or directory",
    )


FAR = Certificate(certificate_url="https://far.test/a", private_key_url="s3://bucket/key")
DOCUMENTS = {"https://far.test/a": A.chain, "s3://bucket/key": A.key}


def test_certificates_are_fetched_once(tmp_path):
    """Even where both listeners name one."""
    asked = []
    settings = replace(_settings(FAR), internal_server=InternalServer(ssl=Ssl(certificates=(FAR,))))
    fetch = _far_away(DOCUMENTS, asked)
    found = _find(settings, tmp_path, fetch=fetch)
    assert sorted(asked) == sorted(DOCUMENTS)
    for listener in (found.settings.server, found.settings.internal_server):
        names_of(listener.ssl.certificates[0])


def test_what_cannot_be_fetched_is_an_error(tmp_path):
    """The message has the reason."""
    found = _find(_settings(FAR), tmp_path, {"s3://bucket/key": A.key})
    assert [(each.message, each.severity) for each in found.diagnostics] == [
        ("`https://far.test/a` cannot be fetched: the answer is 404", Severity.ERROR)
    ]


def test_what_cannot_be_fetched_again_stays(tmp_path):
    """The last good one stays in use, with a warning."""
    first = _find(_settings(FAR), tmp_path, DOCUMENTS)
    second = _find(_settings(FAR), tmp_path, {}, first.fetched)
    assert {each.severity for each in second.diagnostics} == {Severity.WARNING}
    assert second.settings == first.settings


def test_bytes_that_are_not_text_are_an_error(tmp_path):
    """DER is not PEM."""
    found = _find(_settings(FAR), tmp_path, fetch=lambda *_: b"\x30\x82\xff")
    assert {each.message.rpartition(": ")[2] for each in found.diagnostics} == {"it is not text"}


def test_what_was_fetched_is_due_after_a_while(tmp_path, monkeypatch):
    """Documents are due after an hour; without any, nothing is due."""
    monkeypatch.setattr(certificates.time, "monotonic", lambda: 100.0)
    assert _find(_settings(FAR), tmp_path, DOCUMENTS).fetched.due == 100.0 + certificates.RENEW_AFTER
    assert _find(Settings(), tmp_path).fetched.due == math.inf


def test_a_self_signed_certificate_has_its_names(tmp_path):
    """There is one certificate, which stays the same over reloads; it may name IP addresses."""
    names = ("files.test", "127.0.0.1")
    found = _find(_settings(self_signed_hostnames=names), tmp_path)
    (made,) = found.settings.server.ssl.all_certificates
    names_of(made)
    assert names_of(made) == ("files.test",)
    assert made is self_signed(names)


def test_tls_that_is_off_looks_for_nothing(tmp_path):
    """Not even files are read."""
    settings = _settings(FAR, enabled=False)
    found = _find(settings, tmp_path)
    assert (found.settings, found.diagnostics) == (settings, ())
    assert list(unusable_certificates(settings)) == []


@pytest.mark.parametrize("listener", ["server", "internal_server"])
def test_a_pair_that_does_not_fit_is_an_error(listener):
    """It is found before the configuration is in force."""
    ssl = Ssl(certificates=(replace(A.certificate, key=B.certificate.key),))
    settings = (
        Settings(server=Server(ssl=ssl)) if listener == "server" else Settings(internal_server=InternalServer(ssl=ssl))
    )
    assert [each.message for each in unusable_certificates(settings)] == [
        "the private key does not belong to the certificate"
    ]
    assert list(unusable_certificates(_settings(A.certificate, Certificate()))) == []


@pytest.fixture
def files(tmp_path):
    """A set with TLS."""
    files = Files.create(tmp_path)
    ssl = "ssl: {certificates: [{certificateUrl: a.crt, privateKeyUrl: a.key}]}"
    files.configure(CONFIGURATION.replace("{port: 0}", f"{{port: 0, {ssl}}}", 1))
    (tmp_path / "a.crt").write_text(A.chain)
    (tmp_path / "a.key").write_text(A.key)
    return files


def test_a_renewed_certificate_is_a_new_set(files, tmp_path):
    """Its files are watched; a half-renewed pair is refused."""
    before = files.read()
    assert {tmp_path / "a.crt", tmp_path / "a.key"} <= {*before.watched}
    assert files.load().usable
    (tmp_path / "a.crt").write_text(B.chain)
    assert not files.read().is_as(before)
    assert not files.load().usable
    (tmp_path / "a.key").write_text(B.key)
    assert files.load().usable
