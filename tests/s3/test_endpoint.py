from __future__ import annotations

import pwd
import ssl

import pytest
from botocore.httpsession import get_cert_path
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.model import Bucket, Credentials
from tornado_proxy.config.secrets import Secret
from tornado_proxy.s3.client import find_endpoint, make_client
from tornado_proxy.s3.endpoint import plain_endpoint, tls_context
from tornado_proxy.storage.errors import StorageError

PAIR = Credentials(Secret("test", "access"), Secret("test", "secret"))

NAMES = st.sampled_from(["bucket", "a-b", "a.b", "10.0.0.1", "ab", "Bucket", "b--x-s3", "a_b", "x" * 63, "123"])
REGIONS = st.sampled_from(["us-east-1", "cn-north-1", "us-gov-west-1", "aws-global", "garage", "fips-us-east-1"])
HOSTS = st.sampled_from(["minio", "s3.example.org", "127.0.0.1", "[::1]", "S3.Example", "s3.eu-west-1.amazonaws.com"])
URLS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["http://", "https://", ""]),
    HOSTS,
    st.sampled_from(["", ":80", ":443", ":9000"]),
    st.sampled_from(["", "/", "/below"]),
)


def _endpoint_of_boto3(bucket: Bucket):
    """The endpoint that boto3 finds, or None if it refuses the bucket."""
    client = make_client(bucket, 1)
    try:
        return find_endpoint(client, bucket.name)
    except StorageError:
        return None
    finally:
        client.close()


@given(NAMES, REGIONS, URLS, st.booleans(), st.booleans())
def test_a_plain_endpoint_is_the_one_that_boto3_finds(name, region, url, in_path, without_tls):
    """For any settings, `plain_endpoint` returns the endpoint that boto3 finds, or None."""
    bucket = Bucket(
        name, region=region, s3_endpoint=url, force_path_style=in_path, disable_ssl=without_tls, credentials=PAIR
    )
    endpoint = plain_endpoint(bucket, {})
    assert endpoint is None or endpoint == _endpoint_of_boto3(bucket)


@pytest.mark.parametrize("url", ["http://minio:9000", "https://s3.example.org", "s3.example.org:443"])
def test_an_s3_server_other_than_aws_is_plain(url):
    """An endpoint other than AWS, with credentials in the configuration or anonymous, needs no boto3."""
    assert plain_endpoint(Bucket("bucket", s3_endpoint=url, credentials=PAIR), {}) is not None
    assert plain_endpoint(Bucket("bucket", s3_endpoint=url, anonymous=True), {}) is not None


@pytest.mark.parametrize(
    "bucket",
    [
        Bucket("bucket", s3_endpoint="http://minio:9000"),
        Bucket("bucket", credentials=PAIR),
        Bucket("arn:aws:s3:us-west-2:123456789012:accesspoint/point", s3_endpoint="http://minio", credentials=PAIR),
    ],
    ids=["credentials of the chain", "AWS", "an access point"],
)
def test_other_endpoints_need_boto3(bucket):
    """Buckets with credentials from the provider chain, of AWS or with an ARN have no plain endpoint."""
    assert plain_endpoint(bucket, {}) is None


@pytest.mark.parametrize("name", ["AWS_PROFILE", "AWS_USE_FIPS_ENDPOINT", "AWS_CONFIG_FILE", "http_proxy", "ALL_PROXY"])
def test_an_environment_that_boto3_reads_needs_boto3(name):
    """A bucket has no plain endpoint if the environment has a profile, a proxy, or another variable that changes it."""
    bucket = Bucket("bucket", s3_endpoint="http://minio:9000", credentials=PAIR)
    assert plain_endpoint(bucket, {name: "x"}) is None
    assert plain_endpoint(bucket, {"AWS_ACCESS_KEY_ID": "x", "no_proxy": "minio"}) is not None


def test_files_of_aws_need_boto3(tmp_path, monkeypatch):
    """A bucket has no plain endpoint if `~/.aws` exists, which may set a proxy, certificates or other endpoints."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".aws").mkdir()
    assert plain_endpoint(Bucket("bucket", s3_endpoint="http://minio:9000", credentials=PAIR), {}) is None


def test_a_user_may_have_no_home(monkeypatch):
    """A user without a home, such as one of systemd's `DynamicUser=`, has a plain endpoint."""

    def unknown(uid):
        raise KeyError(uid)

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert plain_endpoint(Bucket("bucket", s3_endpoint="http://minio:9000", credentials=PAIR), {})


def test_certificates_are_those_of_boto3(monkeypatch):
    """The trusted certificates are those that boto3 uses."""
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    expected = ssl.create_default_context(cafile=get_cert_path(True))
    assert tls_context().get_ca_certs() == expected.get_ca_certs()


def test_certificates_are_verified():
    """The name and the chain of S3's certificate are verified."""
    context = tls_context()
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)


def test_the_environment_can_replace_the_certificates(monkeypatch, tmp_path):
    """`AWS_CA_BUNDLE` replaces the certificates of boto3; a missing file raises an error."""
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path))
    assert tls_context().get_ca_certs() == []
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / "missing.pem"))
    with pytest.raises(StorageError, match=r"missing\.pem"):
        tls_context()
