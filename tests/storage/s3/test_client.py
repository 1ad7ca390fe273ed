from __future__ import annotations

import socket

import boto3
import pytest

from tornado_proxy.config.model import Bucket, Credentials
from tornado_proxy.config.secrets import Secret
from tornado_proxy.storage.errors import UpstreamError
from tornado_proxy.storage.s3.client import make_client

PAIR = Credentials(Secret("test", "access"), Secret("test", "secret"))


def signed(client, key: str = "a b") -> str:
    return client.generate_presigned_url("get_object", Params={"Bucket": "bucket", "Key": key}, ExpiresIn=60)


@pytest.fixture
def nothing_around(monkeypatch, tmp_path):
    """An environment in which boto3's chain finds nothing, and asks no network."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.mark.parametrize(
    ("settings", "start"),
    [
        ({"s3_endpoint": "http://127.0.0.1:9000", "force_path_style": True}, "http://127.0.0.1:9000/bucket/a%20b?"),
        ({"s3_endpoint": "http://127.0.0.1:9000"}, "http://127.0.0.1:9000/bucket/a%20b?"),
        ({"s3_endpoint": "https://minio.example"}, "https://bucket.minio.example/a%20b?"),
        ({"s3_endpoint": "https://minio.example", "force_path_style": True}, "https://minio.example/bucket/a%20b?"),
        ({"s3_endpoint": "minio.example:9000", "force_path_style": True}, "https://minio.example:9000/bucket/a%20b?"),
        ({"s3_endpoint": "minio:9", "force_path_style": True, "disable_ssl": True}, "http://minio:9/bucket/a%20b?"),
        ({"s3_endpoint": "https://minio:9", "force_path_style": True, "disable_ssl": True}, "https://minio:9/bucket/"),
        ({"s3_endpoint": "http://localhost:9000"}, "http://localhost:9000/bucket/a%20b?"),
        ({"s3_endpoint": "minio"}, "https://minio/bucket/a%20b?"),
        ({"region": "eu-west-1"}, "https://bucket.s3.eu-west-1.amazonaws.com/a%20b?"),
        ({"region": "eu-west-1", "force_path_style": True}, "https://s3.eu-west-1.amazonaws.com/bucket/a%20b?"),
        ({"region": "eu-west-1", "disable_ssl": True}, "http://bucket.s3.eu-west-1.amazonaws.com/a%20b?"),
    ],
)
def test_the_configuration_says_where_a_bucket_is(settings, start):
    """Endpoint, region, addressing style and scheme make the URL."""
    client = make_client(Bucket("bucket", credentials=PAIR, **settings), 8)
    assert signed(client).startswith(start)
    client.close()


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (PAIR, ("access", "secret", None)),
        (Credentials(Secret("test", "a"), Secret("test", "s"), Secret("test", "t")), ("a", "s", "t")),
    ],
)
def test_credentials_of_the_configuration_are_used(pair, expected):
    """An access key pair is used as it is, with its session token."""
    client = make_client(Bucket("bucket", credentials=pair), 8)
    found = client._request_signer._credentials
    assert (found.access_key, found.secret_key, found.token) == expected
    client.close()


def test_connections_suit_the_threads():
    """There are more connections to keep than threads: a body that is read slowly holds one and no thread."""
    client = make_client(Bucket("bucket", credentials=PAIR, connect_timeout=1, read_timeout=2, max_attempts=4), 8)
    config = client.meta.config
    assert (config.max_pool_connections, config.connect_timeout, config.read_timeout) == (32, 1, 2)
    assert config.retries["total_max_attempts"] == 4
    client.close()


def test_a_client_without_credentials_is_made_all_the_same(nothing_around):
    """Credentials are looked for when a request needs them, not when the configuration is read."""
    client = make_client(Bucket("bucket"), 8)
    with pytest.raises(Exception, match="Unable to locate credentials"):
        signed(client)
    client.close()


def test_credentials_that_come_later_are_found(nothing_around, monkeypatch):
    """A chain that found nothing is asked again; what it has found stays."""
    client = make_client(Bucket("bucket"), 8)
    with pytest.raises(Exception, match="Unable to locate credentials"):
        signed(client)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "late")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert "Credential=late%2F" in signed(client)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert "Credential=late%2F" in signed(client)
    client.close()


def test_a_client_is_made_without_the_network(nothing_around, monkeypatch):
    """No name is resolved and no connection is opened until a request is made."""

    def refused(*arguments, **keywords):
        raise AssertionError("the network was asked")

    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.setattr(socket, "socket", refused)
    make_client(Bucket("bucket", s3_endpoint="http://s3.example:9000"), 8).close()


@pytest.mark.parametrize(
    "settings", [{"s3_endpoint": "http://"}, {"s3_endpoint": "nonsense://"}, {"region": "no region"}]
)
def test_a_configuration_that_makes_no_client_is_an_error_of_ours(settings):
    """What boto3 cannot use is told when the client is made, in a word of ours."""
    with pytest.raises(UpstreamError, match="a client of bucket `bucket`"):
        make_client(Bucket("bucket", credentials=PAIR, **settings), 8)


def test_a_client_knows_only_the_operations_that_are_used():
    """Of the hundred operations of S3 a client has those that this service calls, with all that they answer."""
    client = make_client(Bucket("some-bucket"), 1)
    assert len(client.meta.service_model.operation_names) < 15
    for name in client.meta.service_model.operation_names:
        operation = client.meta.service_model.operation_model(name)
        for shape in (operation.input_shape, operation.output_shape):
            assert shape is None or all(member.type_name for member in shape.members.values())
    client.close()


@pytest.mark.parametrize("region", ["eu-west-1", "cn-north-1", "us-gov-west-1"])
def test_a_region_of_any_partition_is_known(region):
    """The hosts of Amazon's regions in China and of its government regions are those that boto3 itself finds."""
    own, whole = make_client(Bucket("some-bucket", region=region), 1), boto3.client("s3", region_name=region)
    assert own.meta.endpoint_url == whole.meta.endpoint_url
    own.close()
