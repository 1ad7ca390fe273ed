"""Certificates are fetched by HTTP, from S3, SSM or Secrets Manager, with limits on size and time."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from msgspec.structs import replace

from tornado_proxy.config.secrets import Credentials, Secret
from tornado_proxy.config.server import UrlConfig
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.s3.documents import DocumentUnavailable, fetch_document

KEYS = Credentials(Secret("test", "a"), Secret("test", "b"))


class _Handler(BaseHTTPRequestHandler):
    """Answers as an HTTP server, S3, SSM and Secrets Manager; the server's `requested` lists what was requested."""

    def do_GET(self):
        self.server.requested.append(self.path)
        if self.path == "/slow":
            self.send_response(200)
            self.end_headers()
            for _ in range(50):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.05)
        elif self.path == "/redirected":
            self._answer(302, b"", Location="/plain")
        elif self.path == "/broken":
            self._answer(302, b"", Location="http://127.0.0.1:1/hush?hush")
        elif self.path == "/large":
            self._answer(200, b"x" * 2_000_000)
        elif self.path in ("/plain", "/bucket/folder/key.pem"):
            self._answer(200, b"content")
        else:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def do_POST(self):
        parameters = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        target = self.headers["X-Amz-Target"]
        self.server.requested.append((target, parameters))
        if target == "AmazonSSM.GetParameter":
            self._answer(200, json.dumps({"Parameter": {"Value": "content"}}).encode())
        elif parameters["SecretId"].endswith("binary"):
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
        """Logs nothing."""


@pytest.fixture
def server():
    """A running server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.requested, server.url = [], f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def _aws(endpoint):
    return UrlConfig(aws_region="eu-west-1", aws_endpoint=endpoint, aws_credentials=KEYS)


@pytest.mark.parametrize("path", ["/plain", "/redirected"])
def test_a_document_is_fetched_by_http(server, path):
    """A document is fetched by HTTP, also after a redirect."""
    assert fetch_document(GuardedUrl(server.url + path), UrlConfig()) == b"content"


@pytest.mark.parametrize("url", ["s3://bucket/folder/key.pem", "arn:aws:s3:::bucket/folder/key.pem"])
def test_a_document_is_fetched_from_s3(server, url):
    """A document is fetched from S3 by its URL or its ARN, from an endpoint with or without a scheme."""
    assert fetch_document(GuardedUrl(url), _aws(server.url)) == b"content"
    # The host is still an IP address, so the bucket stays in the path.
    without_scheme = replace(_aws(server.url.removeprefix("http://")), aws_disable_ssl=True)
    assert fetch_document(GuardedUrl(url), without_scheme) == b"content"
    assert server.requested == ["/bucket/folder/key.pem"] * 2


SSM = "arn:aws:ssm:eu-west-1:123456789012:parameter/a/b"
SECRETS = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:"


@pytest.mark.parametrize(
    ("arn", "requested"),
    [
        (SSM, ("AmazonSSM.GetParameter", {"Name": SSM, "WithDecryption": True})),
        *(
            (SECRETS + name, ("secretsmanager.GetSecretValue", {"SecretId": SECRETS + name}))
            for name in ("text", "binary")
        ),
    ],
    ids=["SSM", "Secrets Manager, text", "Secrets Manager, bytes"],
)
def test_a_document_is_fetched_from_a_service_of_aws(server, arn, requested):
    """It is requested by its ARN, which also names the account; a parameter of SSM is requested decrypted."""
    assert fetch_document(GuardedUrl(arn), _aws(server.url)) == b"content"
    assert server.requested == [requested]


@pytest.mark.parametrize(
    ("path", "timeout", "message"),
    [
        ("/missing", 20, "the answer is 404"),
        ("/large", 20, "the document has more than 1048576 bytes"),
        ("/slow", 1.5, "the answer takes too long"),
    ],
)
def test_a_failure_to_fetch_by_http_is_reported(server, path, timeout, message):
    """A missing document, a document that is too large, and an answer that takes too long are reported."""
    with pytest.raises(DocumentUnavailable) as error:
        fetch_document(GuardedUrl(server.url + path), UrlConfig(http_timeout=timeout))
    assert str(error.value) == message


def test_a_failure_to_fetch_from_s3_is_reported(server):
    """The message has the code of S3's error."""
    with pytest.raises(DocumentUnavailable, match="`NoSuchKey`"):
        fetch_document(GuardedUrl("s3://bucket/missing"), _aws(server.url))


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/a", "s3://bucket/key"])
def test_a_dead_server_is_reported(url):
    """A refused connection is reported."""
    with pytest.raises(DocumentUnavailable):
        fetch_document(GuardedUrl(url), _aws("http://127.0.0.1:1"))


@pytest.mark.parametrize(
    "url", ["http://ann:hush@127.0.0.1:1/a?t=hush", "http://127.0.0.1:1/hush?hush", "{server}/broken"]
)
def test_no_failure_shows_an_address(server, url):
    """The reason of a failed fetch has no path and no query, which a library would add, and not where a redirect leads."""
    with pytest.raises(DocumentUnavailable) as error:
        fetch_document(GuardedUrl(url.format(server=server.url)), UrlConfig())
    assert "hush" not in str(error.value)
