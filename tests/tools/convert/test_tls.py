from __future__ import annotations

import pytest
from certificates import pair
from conversions import made

from tornado_proxy.tools.convert.options import Unreadable
from tornado_proxy.tools.convert.report import OptionOutcome

MINIMAL = "targets: {site: {mount: {path: [/]}, bucket: {name: my-bucket}}}\n"
PAIR = pair("a.test")


def _made(ssl, name="server"):
    return made(f"{MINIMAL}{name}: {{listenAddr: 0.0.0.0, ssl: {{enabled: true, {ssl}}}}}\n")


@pytest.mark.parametrize("name", ["server", "internalServer"])
def test_tls_is_carried_over(name):
    """Its versions, suites and names have the same options."""
    options = "minTLSVersion: TLSv1.2, maxTLSVersion: '1.3', cipherSuites: [TLS_AES_128_GCM_SHA256]"
    done = _made(f"selfSignedHostnames: [a.test], {options}", name)
    assert done.document[name]["ssl"] == {
        "selfSignedHostnames": ["a.test"],
        "minTLSVersion": "TLSv1.2",
        "maxTLSVersion": "1.3",
        "cipherSuites": ["TLS_AES_128_GCM_SHA256"],
    }
    assert done.messages(OptionOutcome.LEFT_OUT, OptionOutcome.CLOSED, OptionOutcome.CHANGED) == []


def test_certificates_in_the_text_become_files():
    """A key belongs in a file of its own, which only its owner reads."""
    text = f"certificates: [{{certificate: {PAIR.chain!r}, privateKey: {PAIR.key!r}}}]".replace("'", '"')
    done = _made(text)
    assert done.document["server"]["ssl"]["certificates"] == [
        {"certificateUrl": "certificates/server-1.crt", "privateKeyUrl": "certificates/server-1.key"}
    ]
    assert done.files["certificates/server-1.crt"] == PAIR.chain
    assert done.files["certificates/server-1.key"] == PAIR.key


def test_places_are_carried_over():
    """With how they are fetched."""
    keys = "awsCredentials: {accessKey: {env: A}, secretKey: {path: /b}}"
    config = f"{{httpTimeout: 1500ms, awsRegion: eu-west-1, awsEndpoint: 'a:1', awsDisableSSL: true, {keys}}}"
    done = _made(
        "certificates: [{certificateUrl: 's3://a/b', certificateUrlConfig: " + config + ", privateKeyUrl: /etc/a.key}]"
    )
    (only,) = done.settings.server.ssl.certificates
    assert (only.certificate_url, only.private_key_url) == ("s3://a/b", "/etc/a.key")
    asked = only.certificate_url_config
    assert (asked.http_timeout, asked.aws_region, asked.aws_endpoint, asked.aws_disable_ssl) == (
        1.5,
        "eu-west-1",
        "a:1",
        True,
    )
    assert asked.aws_credentials.access_key.origin == "the environment variable `A`"
    assert done.messages(OptionOutcome.LEFT_OUT, OptionOutcome.CHANGED) == []


def test_a_relative_file_starts_elsewhere():
    """Here it starts from the configuration."""
    done = _made("certificates: [{certificateUrl: a.crt, privateKeyUrl: a.key}]")
    assert done.subjects(OptionOutcome.CHANGED) == [
        "server.ssl.certificates.certificateUrl",
        "server.ssl.certificates.privateKeyUrl",
    ]


@pytest.mark.parametrize(
    "certificate",
    [
        "certificate: x, certificateUrl: a, privateKey: y",
        "certificateUrl: 's3://a/b', certificateUrlConfig: {httpTimeout: -1s}, privateKey: y",
    ],
)
def test_what_s3_proxy_refuses_is_refused(certificate):
    """It would not start either."""
    with pytest.raises(Unreadable):
        _made(f"certificates: [{{{certificate}}}]")
