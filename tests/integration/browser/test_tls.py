"""TLS in a browser: a secure site, a renewed certificate, and an untrusted one."""

import base64
import hashlib
from ssl import PEM_cert_to_DER_cert, get_server_certificate

import pytest
import real_s3
from administering import eventually
from certificates import pair, renew
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509 import load_pem_x509_certificate
from running import start_proxy
from screens import shown

pytestmark = pytest.mark.integration

OLD, NEW = pair("files.test", common_name="old"), pair("files.test", common_name="new")

CONFIGURATION = """
server: {{port: 0, ssl: {{certificates: [{{certificateUrl: files.crt, privateKeyUrl: files.key}}]}}}}
targets:
  site:
    bucket: {{name: {name}, s3Endpoint: "{endpoint}", s3ForcePathStyle: true}}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A site with TLS, the folder of its files, and its URL."""
    folder = tmp_path_factory.mktemp("tls")
    renew(folder, OLD)
    with real_s3.moto_bucket("by-tls") as bucket:
        bucket.put("hello.txt", b"hello", ContentType="text/plain")
        with start_proxy(folder, CONFIGURATION.format(name=bucket.name, endpoint=bucket.endpoint)) as proxy:
            yield proxy, folder, f"https://files.test:{proxy.address[1]}/"


def _fingerprint(certificate):
    """Returns Chromium's fingerprint of a key, the SHA-256 of its SubjectPublicKeyInfo."""
    key = load_pem_x509_certificate(certificate.chain.encode()).public_key()
    return base64.b64encode(hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest())


@pytest.fixture(scope="module")
def trusting_browser(browser_starter, tmp_path_factory):
    """A browser that accepts both certificates and resolves the site's name."""
    keys = ",".join(_fingerprint(certificate).decode() for certificate in (OLD, NEW))
    options = f"--ignore-certificate-errors-spki-list={keys}", "--host-resolver-rules=MAP files.test 127.0.0.1"
    with browser_starter(tmp_path_factory.mktemp("profile"), *options) as driver:
        yield driver


def test_a_page_is_secure(trusting_browser, served):
    """The listing and everything that it loads use TLS."""
    _, _, url = served
    trusting_browser.get(url)
    assert "hello.txt" in shown(trusting_browser)
    assert trusting_browser.execute_script("return window.isSecureContext && location.protocol") == "https:"
    assert trusting_browser.get_log("browser") == []


def test_a_browser_speaks_http2(trusting_browser, served):
    """The listing and all that it loads come by one connection of HTTP/2."""
    _, _, url = served
    trusting_browser.get(url)
    script = "return performance.getEntries().map(each => each.nextHopProtocol).filter(each => each)"
    assert set(trusting_browser.execute_script(script)) == {"h2"}


def test_a_renewed_certificate_is_accepted(trusting_browser, served):
    proxy, folder, url = served
    trusting_browser.get(url)
    renew(folder, NEW)
    new = PEM_cert_to_DER_cert(NEW.chain)
    eventually(lambda: PEM_cert_to_DER_cert(get_server_certificate(proxy.address)) == new)
    trusting_browser.get(f"{url}hello.txt")
    assert shown(trusting_browser) == "hello"


def test_an_untrusted_certificate_is_refused(browser, served):
    """The browser refuses a certificate of an unknown authority before it sends a request."""
    proxy, _, _ = served
    browser.get(f"https://localhost:{proxy.address[1]}/")
    assert "ERR_CERT_AUTHORITY_INVALID" in browser.page_source
