from __future__ import annotations

import socket

import boto3
import pytest

from tornado_proxy.config.model import Bucket, Credentials
from tornado_proxy.config.secrets import Secret
from tornado_proxy.storage.errors import UpstreamError
from tornado_proxy.storage.s3.client import find_endpoint, make_client
from tornado_proxy.storage.s3.endpoint import Endpoint
from tornado_proxy.storage.s3.signature import Scope

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


PATH_STYLE = {"force_path_style": True}


def found(name: str = "bucket", **settings) -> Endpoint | None:
    client = make_client(Bucket(name, **settings), 1)
    try:
        return find_endpoint(client, name)
    finally:
        client.close()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"region": "eu-west-1"},
            (True, "bucket.s3.eu-west-1.amazonaws.com", 443, "bucket.s3.eu-west-1.amazonaws.com", "/", "/"),
        ),
        (
            {"region": "eu-west-1", "disable_ssl": True} | PATH_STYLE,
            (False, "s3.eu-west-1.amazonaws.com", 80, "s3.eu-west-1.amazonaws.com", "/bucket/", "/bucket"),
        ),
        (
            {"s3_endpoint": "http://127.0.0.1:9000/below"} | PATH_STYLE,
            (False, "127.0.0.1", 9000, "127.0.0.1:9000", "/below/bucket/", "/below/bucket"),
        ),
        (
            {"s3_endpoint": "http://[::1]:9000"} | PATH_STYLE,
            (False, "::1", 9000, "[::1]:9000", "/bucket/", "/bucket"),
        ),
        (
            {"s3_endpoint": "https://minio.example:443"},
            (True, "bucket.minio.example", 443, "bucket.minio.example", "/", "/"),
        ),
        ({"s3_endpoint": "http://minio:80"}, (False, "minio", 80, "minio", "/bucket/", "/bucket")),
    ],
)
def test_an_endpoint_is_what_boto3_finds(settings, expected):
    """Scheme, host, port, Host header and paths are those of boto3's own requests."""
    endpoint = found(**settings)
    told = (endpoint.is_tls, endpoint.host, endpoint.port, endpoint.authority, endpoint.object_path)
    assert (*told, endpoint.bucket_path) == expected
    assert endpoint.scope == Scope(settings.get("region", "us-east-1"))


def test_dual_stack_is_boto3s_to_choose(monkeypatch):
    """What the environment says of endpoints holds for reads on the loop too."""
    monkeypatch.setenv("AWS_USE_DUALSTACK_ENDPOINT", "true")
    assert found(region="eu-west-1").host == "bucket.s3.dualstack.eu-west-1.amazonaws.com"


def test_an_access_point_is_signed_for_its_region():
    """An access point's name holds its region, which the signature has to name."""
    endpoint = found("arn:aws:s3:us-west-2:123456789012:accesspoint/point", region="us-west-2")
    assert endpoint.host == "point-123456789012.s3-accesspoint.us-west-2.amazonaws.com"
    assert endpoint.scope == Scope("us-west-2")


@pytest.mark.parametrize("name", ["bucket--use1-az4--x-s3", "arn:aws:s3::123456789012:accesspoint/mfzwi23gnjvgw.mrap"])
def test_what_needs_another_signature_is_left_to_boto3(name):
    """Directory buckets and multi-region access points are not signed for by Signature V4 alone."""
    assert found(name) is None


def test_a_proxy_of_the_environment_is_left_to_boto3(monkeypatch):
    """Where the environment wants requests to go through a proxy, boto3 makes them; `no_proxy` is obeyed."""
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    assert found(s3_endpoint="http://minio:9000") is None
    monkeypatch.setenv("no_proxy", "minio")
    assert found(s3_endpoint="http://minio:9000") is not None


def test_an_endpoint_is_found_without_the_network_or_credentials(monkeypatch):
    """No name is resolved, nothing is connected, and no credentials are looked for."""

    def refused(*arguments, **keywords):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.setattr(socket, "socket", refused)
    assert found(s3_endpoint="http://s3.example:9000") is not None
