"""TLS as its users meet it: curl and openssl, and certificates that are renewed while requests run."""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
import threading
import time
import urllib.request

import pytest
from certificates import pair
from running import start_proxy

OLD, NEW = pair("files.test", "localhost", common_name="old"), pair("files.test", "localhost", common_name="new")

CONFIGURATION = """
server:
  port: 0
  ssl: {certificates: [{certificateUrl: files.crt, privateKeyUrl: files.key}], selfSignedHostnames: [own.test]}
internalServer: {port: 0}
log: {access: false}
targets:
  site:
    bucket:
      name: %s
      s3Endpoint: %s
      s3ForcePathStyle: true
      credentials: {accessKey: {env: ACCESS}, secretKey: {env: SECRET}}
"""


def _renew(folder, new):
    """As tools do it: each file is replaced, one after the other."""
    for name, text in (("files.crt", new.chain), ("files.key", new.key)):
        (folder / f".{name}.new").write_text(text)
        (folder / f".{name}.new").replace(folder / name)


@pytest.fixture(scope="module")
def served(bucket, tmp_path_factory):
    """A server with TLS, and its folder."""
    bucket.put("hello.txt", b"hello")
    folder = tmp_path_factory.mktemp("tls")
    _renew(folder, OLD)
    with start_proxy(folder, CONFIGURATION % (bucket.name, bucket.endpoint)) as proxy:
        yield proxy, folder


def _presented(proxy, name):
    command = ["openssl", "s_client", "-connect", "{}:{}".format(*proxy.address), "-servername", name]
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=20, check=False)
    return done.stdout


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_curl_verifies_the_certificate(served):
    """By the name that it asks for."""
    proxy, folder = served
    port = proxy.address[1]
    command = ["curl", "-sS", "--cacert", str(folder / "files.crt"), "--resolve", f"files.test:{port}:127.0.0.1"]
    done = subprocess.run(
        [*command, f"https://files.test:{port}/hello.txt"], capture_output=True, timeout=20, check=False
    )
    assert (done.stdout, done.stderr) == (b"hello", b"")


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_openssl_gets_the_certificate_that_it_asks_for(served):
    """Over TLS 1.3."""
    proxy, _ = served
    assert "CN = own.test" in _presented(proxy, "own.test")
    assert "CN = old" in (text := _presented(proxy, "files.test"))
    assert "TLSv1.3" in text


def test_a_certificate_is_renewed_under_load_without_a_failed_request(served):
    """Each request gets the old certificate or the new one, and its answer."""
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

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for new in (NEW, OLD, NEW):
            _renew(folder, new)
            wanted = ssl.PEM_cert_to_DER_cert(new.chain)
            until = time.monotonic() + 20
            while _certificate(proxy) != wanted:
                assert time.monotonic() < until, proxy.lines
                time.sleep(0.05)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert set(answers) == {b"hello"}


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["one", "workers"])
def test_an_edit_turns_tls_on_and_off(bucket, tmp_path, options):
    """Of both listeners, without a restart: the next connections begin as the configuration says."""
    bucket.put("hello.txt", b"hello")
    plain = PLAIN % (bucket.name, bucket.endpoint)
    secure = plain.replace("port: 0", "port: 0, ssl: {selfSignedHostnames: [localhost]}")
    with start_proxy(tmp_path, plain, *options) as proxy:
        ports = proxy.address[1], _admin_port(proxy)
        for text, scheme in ((secure, "https"), (plain, "http")):
            (tmp_path / "proxy.yaml").write_text(text)
            for port, path in zip(ports, ("/hello.txt", "/-/healthy"), strict=True):
                _wait_for(f"{scheme}://localhost:{port}{path}", proxy)


PLAIN = """
server: {port: 0}
internalServer: {port: 0}
targets: {site: {bucket: {name: %s, s3Endpoint: "%s", s3ForcePathStyle: true,
                          credentials: {accessKey: {env: ACCESS}, secretKey: {env: SECRET}}}}}
"""


def _admin_port(proxy):
    return next(int(found[1]) for line in proxy.lines if (found := re.search(r"admin listener.*:(\d+)", line)))


def _wait_for(url, proxy):
    context, until = ssl._create_unverified_context() if url.startswith("https") else None, time.monotonic() + 20
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5, context=context) as answer:
                assert answer.status == 200
                return
        except OSError:
            assert time.monotonic() < until, (url, proxy.lines)
            time.sleep(0.05)


def _certificate(proxy):
    text = ssl.get_server_certificate(("localhost", proxy.address[1]), timeout=20)
    return ssl.PEM_cert_to_DER_cert(text)
