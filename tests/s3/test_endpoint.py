from __future__ import annotations

import ssl

import pytest
from botocore.httpsession import get_cert_path

from tornado_proxy.s3.endpoint import tls_context
from tornado_proxy.storage.errors import StorageError


def test_certificates_are_those_of_boto3(monkeypatch):
    """The trusted certificates are those that boto3 uses."""
    for name in ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    expected = ssl.create_default_context(cafile=get_cert_path(True))
    assert tls_context().get_ca_certs() == expected.get_ca_certs()


def test_certificates_are_verified():
    """The name and the chain of S3's certificate are verified."""
    context = tls_context()
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)


def test_the_environment_can_replace_the_certificates(monkeypatch, tmp_path):
    """`AWS_CA_BUNDLE` replaces the certificates of boto3; a missing file raises an error."""
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path))
    assert tls_context().get_ca_certs() == []
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / "missing.pem"))
    with pytest.raises(StorageError, match=r"missing\.pem"):
        tls_context()
