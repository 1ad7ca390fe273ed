from __future__ import annotations

import socket
import ssl

import pytest

from tornado_proxy.config.model import Bucket
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.s3.client import make_client
from tornado_proxy.storage.s3.endpoint import Endpoint, find_endpoint, tls_context
from tornado_proxy.storage.s3.signature import Scope

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


def test_certificates_are_verified():
    """Name and chain of S3's certificate are checked."""
    context = tls_context()
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)


def test_the_environments_certificates_are_taken(monkeypatch, tmp_path):
    """`AWS_CA_BUNDLE` replaces boto3's own, as a file or a directory; one that is missing is an error."""
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path))
    assert tls_context().get_ca_certs() == []
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / "missing.pem"))
    with pytest.raises(StorageError, match=r"missing\.pem"):
        tls_context()
