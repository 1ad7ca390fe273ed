"""TLS as a browser meets it: a site that is secure, a certificate that is renewed, one that nobody vouches for."""

from __future__ import annotations

import base64
import hashlib
import time
from ssl import PEM_cert_to_DER_cert, get_server_certificate

import pytest
from certificates import pair
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509 import load_pem_x509_certificate
from running import Bucket, start_proxy

pytestmark = pytest.mark.integration

OLD, NEW = pair("files.test", common_name="old"), pair("files.test", common_name="new")

CONFIGURATION = """
server: {{port: 0, ssl: {{certificates: [{{certificateUrl: files.crt, privateKeyUrl: files.key}}]}}}}
internalServer: {{port: 0}}
targets:
  site:
    bucket:
      name: {name}
      s3Endpoint: {endpoint}
      s3ForcePathStyle: true
      credentials: {{accessKey: {{env: ACCESS}}, secretKey: {{env: SECRET}}}}
"""


def _renew(folder, new):
    for name, text in (("files.crt", new.chain), ("files.key", new.key)):
        (folder / f".{name}.new").write_text(text)
        (folder / f".{name}.new").replace(folder / name)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A site with TLS, its folder, and its address for a browser."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - slow to import

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    bucket = Bucket.create("http://{}:{}".format(*server.get_host_and_port()), "by-tls")
    bucket.put("hello.txt", b"hello", ContentType="text/plain")
    folder = tmp_path_factory.mktemp("tls")
    _renew(folder, OLD)
    with start_proxy(folder, CONFIGURATION.format(name=bucket.name, endpoint=bucket.endpoint)) as proxy:
        yield proxy, folder, f"https://files.test:{proxy.address[1]}/"
    bucket.client.close()
    server.stop()


def _fingerprint(shown):
    """What Chromium knows a key by: the SHA-256 of its SubjectPublicKeyInfo."""
    key = load_pem_x509_certificate(shown.chain.encode()).public_key()
    return base64.b64encode(hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest())


@pytest.fixture(scope="module")
def trusting(browser_starter, tmp_path_factory):
    """A browser that accepts these two certificates, and finds the site."""
    keys = ",".join(_fingerprint(each).decode() for each in (OLD, NEW))
    options = f"--ignore-certificate-errors-spki-list={keys}", "--host-resolver-rules=MAP files.test 127.0.0.1"
    with browser_starter(tmp_path_factory.mktemp("profile"), *options) as driver:
        yield driver


def _text(browser):
    return browser.find_element("css selector", "body").text


def test_a_page_is_secure_and_complains_of_nothing(trusting, served):
    """The listing and all that it loads come over TLS."""
    _, _, address = served
    trusting.get(address)
    assert "hello.txt" in _text(trusting)
    assert trusting.execute_script("return window.isSecureContext && location.protocol") == "https:"
    assert trusting.get_log("browser") == []


def test_a_renewed_certificate_is_taken_without_a_word(trusting, served):
    """A browser that has the page open goes on."""
    proxy, folder, address = served
    trusting.get(address)
    _renew(folder, NEW)
    until = time.monotonic() + 20
    while PEM_cert_to_DER_cert(get_server_certificate(proxy.address)) != PEM_cert_to_DER_cert(NEW.chain):
        assert time.monotonic() < until, proxy.lines
        time.sleep(0.05)
    trusting.get(f"{address}hello.txt")
    assert _text(trusting) == "hello"


def test_a_certificate_that_nobody_vouches_for_is_refused(browser, served):
    """By the browser, before a request is sent."""
    proxy, _, _ = served
    browser.get(f"https://localhost:{proxy.address[1]}/")
    assert "ERR_CERT_AUTHORITY_INVALID" in browser.page_source
