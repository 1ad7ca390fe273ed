import socket
import ssl

import boto3
import pytest
from botocore.httpsession import get_cert_path

from tornado_proxy.config.model import Bucket, Credentials
from tornado_proxy.config.secrets import Secret
from tornado_proxy.s3.client import Endpoint, find_endpoint, make_client, tls_context
from tornado_proxy.s3.signature import Scope
from tornado_proxy.storage.errors import StorageError, UpstreamError

PAIR = Credentials(Secret("test", "access"), Secret("test", "secret"))


def presigned_url(client, key: str = "a b") -> str:
    return client.generate_presigned_url("get_object", Params={"Bucket": "bucket", "Key": key}, ExpiresIn=60)


@pytest.fixture
def no_credentials(monkeypatch, tmp_path):
    """An environment in which boto3's provider chain finds no credentials and uses no network."""
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
def test_the_settings_make_the_url(settings, start):
    """The URL of an object is made from endpoint, region, addressing style and scheme."""
    client = make_client(Bucket("bucket", credentials=PAIR, **settings))
    assert presigned_url(client).startswith(start)
    client.close()


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (PAIR, ("access", "secret", None)),
        (Credentials(Secret("test", "a"), Secret("test", "s"), Secret("test", "t")), ("a", "s", "t")),
    ],
)
def test_credentials_of_the_configuration_are_used(pair, expected):
    """A client uses the configured access key pair and session token."""
    client = make_client(Bucket("bucket", credentials=pair))
    credentials = client._request_signer._credentials
    assert (credentials.access_key, credentials.secret_key, credentials.token) == expected
    client.close()


def test_credentials_are_found_later(no_credentials, monkeypatch):
    """A client is made without them; a request tries the provider chain until it finds some, which are then kept."""
    client = make_client(Bucket("bucket"))
    with pytest.raises(Exception, match="Unable to locate credentials"):
        presigned_url(client)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "late")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert "Credential=late%2F" in presigned_url(client)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert "Credential=late%2F" in presigned_url(client)
    client.close()


@pytest.mark.parametrize(
    "settings", [{"s3_endpoint": "http://"}, {"s3_endpoint": "nonsense://"}, {"region": "no region"}]
)
def test_invalid_settings_of_a_client_raise_a_storage_error(settings):
    """Settings that boto3 refuses raise `UpstreamError` when the client is made."""
    with pytest.raises(UpstreamError, match="a client of bucket `bucket`"):
        make_client(Bucket("bucket", credentials=PAIR, **settings))


@pytest.mark.parametrize("region", ["eu-west-1", "cn-north-1", "us-gov-west-1"])
def test_a_region_of_any_partition_is_known(region):
    """A client has the endpoint of boto3 for regions of AWS, AWS China and AWS GovCloud."""
    own, complete = make_client(Bucket("some-bucket", region=region)), boto3.client("s3", region_name=region)
    assert own.meta.endpoint_url == complete.meta.endpoint_url
    own.close()


PATH_STYLE = {"force_path_style": True}


def endpoint_of(name: str = "bucket", **settings) -> Endpoint | None:
    return endpoint_at(Bucket(name, **settings))


def endpoint_at(bucket: Bucket) -> Endpoint | None:
    client = make_client(bucket)
    try:
        return find_endpoint(client, bucket.name)
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
        ({"s3_endpoint": "http://[::1]:9000"} | PATH_STYLE, (False, "::1", 9000, "[::1]:9000", "/bucket/", "/bucket")),
        (
            {"s3_endpoint": "https://minio.example:443"},
            (True, "bucket.minio.example", 443, "bucket.minio.example", "/", "/"),
        ),
        ({"s3_endpoint": "http://minio:80"}, (False, "minio", 80, "minio", "/bucket/", "/bucket")),
    ],
)
def test_an_endpoint_has_the_parts_of_boto3s_requests(settings, expected):
    """An endpoint has the scheme, host, port, Host header and paths of boto3's requests."""
    endpoint = endpoint_of(**settings)
    parts = (endpoint.is_tls, endpoint.host, endpoint.port, endpoint.authority, endpoint.object_path)
    assert (*parts, endpoint.bucket_path) == expected
    assert endpoint.scope == Scope(settings.get("region", "us-east-1"))


def test_the_environment_can_enable_dual_stack(monkeypatch):
    """The endpoint for reads on the loop follows `AWS_USE_DUALSTACK_ENDPOINT`."""
    monkeypatch.setenv("AWS_USE_DUALSTACK_ENDPOINT", "true")
    assert endpoint_of(region="eu-west-1").host == "bucket.s3.dualstack.eu-west-1.amazonaws.com"


def test_an_access_point_is_signed_for_its_region():
    """The signature for an access point names the region in its ARN."""
    endpoint = endpoint_of("arn:aws:s3:us-west-2:123456789012:accesspoint/point", region="us-west-2")
    assert endpoint.host == "point-123456789012.s3-accesspoint.us-west-2.amazonaws.com"
    assert endpoint.scope == Scope("us-west-2")


@pytest.mark.parametrize("make", [lambda bucket: make_client(bucket).close(), endpoint_at])
def test_a_client_and_its_endpoint_need_no_network(no_credentials, monkeypatch, make):
    """Neither resolves a name, opens a connection or needs credentials."""

    def refused(*arguments, **keywords):
        raise AssertionError("the network was used")

    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.setattr(socket, "socket", refused)
    make(Bucket("bucket", s3_endpoint="http://s3.example:9000"))


@pytest.mark.parametrize("name", ["bucket--use1-az4--x-s3", "arn:aws:s3::123456789012:accesspoint/mfzwi23gnjvgw.mrap"])
def test_buckets_with_another_signature_are_left_to_boto3(name):
    """Directory buckets and multi-region access points have no endpoint, because they need more than Signature V4."""
    assert endpoint_of(name) is None


def test_certificates_are_those_of_boto3_and_the_system(monkeypatch):
    """The trusted certificates are those that boto3 uses, and those of the system."""
    for name in ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    trusted = tls_context().get_ca_certs()
    for context in (ssl.create_default_context(cafile=get_cert_path(True)), ssl.create_default_context()):
        assert all(each in trusted for each in context.get_ca_certs())


def test_the_environment_can_replace_the_certificates(monkeypatch, tmp_path):
    """`AWS_CA_BUNDLE` replaces the certificates of boto3; a missing file raises an error."""
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path))
    assert tls_context().get_ca_certs() == []
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / "missing.pem"))
    with pytest.raises(StorageError, match=r"missing\.pem"):
        tls_context()
