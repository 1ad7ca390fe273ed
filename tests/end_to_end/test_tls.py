"""TLS: certificates that curl and openssl verify, and their renewal under load."""

import shutil
import ssl
import subprocess
import threading
import urllib.request

import pytest
from administering import Admin, eventually
from certificates import pair, renew
from programs import TOGETHER, output_of
from running import answers, start_proxy

OLD, NEW = pair("files.test", "localhost", common_name="old"), pair("files.test", "localhost", common_name="new")

CONFIGURATION = """
server:
  port: 0
  ssl: {certificates: [{certificateUrl: files.crt, privateKeyUrl: files.key}], selfSignedHostnames: [own.test]}
log: {access: false}
targets:
  site:
    bucket: {name: %s, s3Endpoint: "%s", s3ForcePathStyle: true}
"""


@pytest.fixture(scope="module")
def served(bucket, tmp_path_factory):
    """A server with TLS, and the folder of its files."""
    bucket.put("hello.txt", b"hello")
    folder = tmp_path_factory.mktemp("tls")
    renew(folder, OLD)
    with start_proxy(folder, CONFIGURATION % (bucket.name, bucket.endpoint)) as proxy:
        yield proxy, folder


def _presented(proxy, name):
    command = ["openssl", "s_client", "-connect", "{}:{}".format(*proxy.address), "-servername", name]
    return subprocess.run(command, input="", capture_output=True, text=True, timeout=20, check=False).stdout


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_curl_verifies_the_certificate(served):
    proxy, folder = served
    port = proxy.address[1]
    command = ("curl", "-sS", "--cacert", folder / "files.crt", "--resolve", f"files.test:{port}:127.0.0.1")
    assert output_of(*command, f"https://files.test:{port}/hello.txt", timeout=20, **TOGETHER) == "hello"


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_openssl_gets_the_certificate_of_its_server_name(served):
    """The server presents the certificate of the requested name, over TLS 1.3."""
    proxy, _ = served
    assert "CN = own.test" in _presented(proxy, "own.test")
    assert "CN = old" in (text := _presented(proxy, "files.test"))
    assert "TLSv1.3" in text


def test_a_renewal_fails_no_request(served):
    """While certificates are replaced, every request is answered over the old or the new one."""
    proxy, folder = served
    url, failures, answers = f"https://localhost:{proxy.address[1]}/hello.txt", [], []
    stop = threading.Event()
    context = ssl.create_default_context(cadata=OLD.chain + NEW.chain)

    def ask():
        while not stop.is_set():
            try:
                with urllib.request.urlopen(url, timeout=20, context=context) as answer:
                    answers.append(answer.read())
            except OSError as error:
                failures.append(error)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for new in (NEW, OLD, NEW):
            renew(folder, new)
            expected = ssl.PEM_cert_to_DER_cert(new.chain)
            eventually(lambda expected=expected: _certificate(proxy) == expected)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert set(answers) == {b"hello"}


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["one", "workers"])
def test_an_edit_turns_tls_on_and_off(bucket, tmp_path, options):
    """An edit turns TLS of both listeners on and off for the next connections, without a restart."""
    bucket.put("hello.txt", b"hello")
    plain = PLAIN % (bucket.name, bucket.endpoint)
    secure = plain.replace("port: 0", "port: 0, ssl: {selfSignedHostnames: [localhost]}")
    with start_proxy(tmp_path, plain, *options) as proxy:
        ports = proxy.address[1], Admin.of(proxy).url.rpartition(":")[2]
        for text, scheme in ((secure, "https"), (plain, "http")):
            (tmp_path / "proxy.yaml").write_text(text)
            for port, path in zip(ports, ("/hello.txt", "/-/healthy"), strict=True):
                url = f"{scheme}://localhost:{port}{path}"
                eventually(lambda url=url: answers(url))


PLAIN = """
server: {port: 0}
internalServer: {port: 0}
targets: {site: {bucket: {name: %s, s3Endpoint: "%s", s3ForcePathStyle: true}}}
"""


def _certificate(proxy):
    text = ssl.get_server_certificate(("localhost", proxy.address[1]), timeout=20)
    return ssl.PEM_cert_to_DER_cert(text)
