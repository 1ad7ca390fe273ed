"""Certificates are fetched by HTTP, from S3, SSM or Secrets Manager, with limits on size and time."""

import json

import pytest
from msgspec.structs import replace
from scripted_s3 import Reply, Then, error_reply, reply, scripted_s3

from tornado_proxy.config.secrets import Credentials, Secret
from tornado_proxy.config.server import UrlConfig
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.s3.documents import DocumentUnavailable, fetch_document

KEYS = Credentials(Secret("test", "a"), Secret("test", "b"))

CONTENT = reply(200, b"content")
SLOW = Reply(b"HTTP/1.1 200 OK\r\n\r\n", drop=b"x")
CUT = Reply(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncontent", Then.CLOSE)


def _aws(endpoint):
    return UrlConfig(aws_region="eu-west-1", aws_endpoint=endpoint, aws_credentials=KEYS)


@pytest.mark.parametrize("replies", [(CONTENT,), (reply(302, Location="/other"), CONTENT)])
def test_a_document_is_fetched_by_http(replies):
    """A document is fetched by HTTP, also after a redirect."""
    with scripted_s3(*replies) as server:
        assert fetch_document(GuardedUrl(f"{server.url}/a"), UrlConfig()) == b"content"


@pytest.mark.parametrize("url", ["s3://bucket/folder/key.pem", "arn:aws:s3:::bucket/folder/key.pem"])
def test_a_document_is_fetched_from_s3(url):
    """A document is fetched from S3 by its URL or its ARN, from an endpoint with or without a scheme."""
    with scripted_s3(CONTENT, CONTENT) as server:
        assert fetch_document(GuardedUrl(url), _aws(server.url)) == b"content"
        # The host is still an IP address, so the bucket stays in the path.
        without_scheme = replace(_aws(server.url.removeprefix("http://")), aws_disable_ssl=True)
        assert fetch_document(GuardedUrl(url), without_scheme) == b"content"
    assert server.request_lines() == ["GET /bucket/folder/key.pem"] * 2


SSM = "arn:aws:ssm:eu-west-1:123456789012:parameter/a/b"
SECRET = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:a"
OF_SECRET = "secretsmanager.GetSecretValue", {"SecretId": SECRET}


@pytest.mark.parametrize(
    ("arn", "answer", "asked"),
    [
        (SSM, {"Parameter": {"Value": "content"}}, ("AmazonSSM.GetParameter", {"Name": SSM, "WithDecryption": True})),
        (SECRET, {"SecretString": "content"}, OF_SECRET),
        (SECRET, {"SecretBinary": "Y29udGVudA=="}, OF_SECRET),
    ],
    ids=["SSM", "Secrets Manager, text", "Secrets Manager, bytes"],
)
def test_a_document_is_fetched_from_a_service_of_aws(arn, answer, asked):
    """It is requested by its ARN, which also names the account; a parameter of SSM is requested decrypted."""
    with scripted_s3(reply(200, json.dumps(answer).encode())) as server:
        assert fetch_document(GuardedUrl(arn), _aws(server.url)) == b"content"
    assert (server.header(0, "x-amz-target"), json.loads(server.bodies[0])) == asked


@pytest.mark.parametrize(
    ("answer", "timeout", "message"),
    [
        (reply(404), 20, "the answer is 404"),
        (reply(200, b"x" * 2_000_000), 20, "the document has more than 1048576 bytes"),
        (SLOW, 0.5, "the answer takes too long"),
        (CUT, 20, "('Connection broken: IncompleteRead(7 bytes read, 2 more expected)',"),
    ],
    ids=["missing", "large", "slow", "cut"],
)
def test_a_failure_to_fetch_by_http_is_reported(answer, timeout, message):
    """A document that is missing, too large or cut, and an answer that goes on and on, are reported."""
    with scripted_s3(answer) as server, pytest.raises(DocumentUnavailable) as error:
        fetch_document(GuardedUrl(server.url), UrlConfig(http_timeout=timeout))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("answer", "message"),
    [(error_reply(404, "NoSuchKey"), "AWS answers `NoSuchKey`"), (SLOW, "the answer takes too long")],
    ids=["missing", "slow"],
)
def test_a_failure_to_fetch_from_s3_is_reported(answer, message):
    """The message has the code of S3's error."""
    with scripted_s3(answer) as server, pytest.raises(DocumentUnavailable) as error:
        fetch_document(GuardedUrl("s3://bucket/missing"), replace(_aws(server.url), http_timeout=0.5))
    assert str(error.value) == message


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/a", "s3://bucket/key"])
def test_a_dead_server_is_reported(url):
    """A refused connection is reported."""
    with pytest.raises(DocumentUnavailable):
        fetch_document(GuardedUrl(url), _aws("http://127.0.0.1:1"))


@pytest.mark.parametrize(
    "url", ["http://ann:hush@127.0.0.1:1/a?t=hush", "http://127.0.0.1:1/hush?hush", "{server}/redirects"]
)
def test_no_failure_shows_an_address(url):
    """The reason of a failed fetch has no path and no query, which a library would add, and not where a redirect leads."""
    redirect = reply(302, Location="http://127.0.0.1:1/hush?hush")
    with scripted_s3(redirect) as server, pytest.raises(DocumentUnavailable) as error:
        fetch_document(GuardedUrl(url.format(server=server.url)), UrlConfig())
    assert "hush" not in str(error.value)
