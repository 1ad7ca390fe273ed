"""Certificates are fetched from wherever they stand, within bounds."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tornado_proxy.config.secrets import Credentials, Secret
from tornado_proxy.config.server import UrlConfig
from tornado_proxy.storage.documents import DocumentUnavailable, fetch_document

KEYS = Credentials(Secret("test", "a"), Secret("test", "b"))


class _Far(BaseHTTPRequestHandler):
    """HTTP, S3, SSM and Secrets Manager in one; `asked` has what each request was for."""

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path == "/slow":
            self.send_response(200)
            self.end_headers()
            for _ in range(50):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.05)
        elif self.path == "/redirected":
            self._answer(302, b"", Location="/plain")
        elif self.path == "/large":
            self._answer(200, b"x" * 2_000_000)
        elif self.path in ("/plain", "/bucket/folder/key.pem"):
            self._answer(200, b"content")
        else:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        target = self.headers["X-Amz-Target"]
        self.server.asked.append((target, asked))
        if target == "AmazonSSM.GetParameter":
            self._answer(200, json.dumps({"Parameter": {"Value": "content"}}).encode())
        elif asked["SecretId"].endswith("binary"):
            self._answer(200, json.dumps({"SecretBinary": "Y29udGVudA=="}).encode())
        else:
            self._answer(200, json.dumps({"SecretString": "content"}).encode())

    def _answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Nothing is logged."""


@contextmanager
def _far():
    with ThreadingHTTPServer(("127.0.0.1", 0), _Far) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server, f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _aws(endpoint):
    return UrlConfig(aws_region="eu-west-1", aws_endpoint=endpoint, aws_credentials=KEYS)


@pytest.mark.parametrize("path", ["/plain", "/redirected"])
def test_a_document_is_fetched_by_http(path):
    """Redirects are followed."""
    with _far() as (_, url):
        assert fetch_document(url + path, UrlConfig()) == b"content"


@pytest.mark.parametrize("url", ["s3://bucket/folder/key.pem", "arn:aws:s3:::bucket/folder/key.pem"])
def test_a_document_is_fetched_from_s3(url):
    """By its URL or its ARN, with the endpoint's scheme or without it."""
    with _far() as (server, endpoint):
        assert fetch_document(url, _aws(endpoint)) == b"content"
        bare = UrlConfig(
            aws_region="eu-west-1",
            aws_endpoint=endpoint.removeprefix("http://"),
            aws_disable_ssl=True,
            aws_credentials=KEYS,
        )
        # Without a scheme, the host still is an IP address.
        assert fetch_document(url, bare) == b"content"
        assert server.asked == ["/bucket/folder/key.pem"] * 2


def test_a_document_is_fetched_from_ssm():
    """Decrypted, and by its ARN, so that no other account's can be meant."""
    arn = "arn:aws:ssm:eu-west-1:123456789012:parameter/a/b"
    with _far() as (server, endpoint):
        assert fetch_document(arn, _aws(endpoint)) == b"content"
        assert server.asked == [("AmazonSSM.GetParameter", {"Name": arn, "WithDecryption": True})]


@pytest.mark.parametrize("name", ["text", "binary"])
def test_a_document_is_fetched_from_secrets_manager(name):
    """As text or as bytes."""
    arn = f"arn:aws:secretsmanager:eu-west-1:123456789012:secret:{name}"
    with _far() as (server, endpoint):
        assert fetch_document(arn, _aws(endpoint)) == b"content"
        assert server.asked == [("secretsmanager.GetSecretValue", {"SecretId": arn})]


@pytest.mark.parametrize(
    ("path", "timeout", "message"),
    [
        ("/missing", 20, "the answer is 404"),
        ("/large", 20, "the document has more than 1048576 bytes"),
        ("/slow", 1.5, "the answer takes too long"),
    ],
)
def test_what_cannot_be_fetched_by_http_is_reported(path, timeout, message):
    """A wrong address, a wrong file, and a server that never ends."""
    with _far() as (_, url), pytest.raises(DocumentUnavailable) as error:
        fetch_document(url + path, UrlConfig(http_timeout=timeout))
    assert str(error.value) == message


def test_what_cannot_be_fetched_from_s3_is_reported():
    """With the code of the error."""
    with _far() as (_, endpoint), pytest.raises(DocumentUnavailable, match="`NoSuchKey`"):
        fetch_document("s3://bucket/missing", _aws(endpoint))


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/a", "s3://bucket/key"])
def test_a_dead_server_is_reported(url):
    """At once, where it refuses."""
    with pytest.raises(DocumentUnavailable):
        fetch_document(url, _aws("http://127.0.0.1:1"))
