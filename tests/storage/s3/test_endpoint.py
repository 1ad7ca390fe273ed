from __future__ import annotations

import pwd
import ssl
import subprocess
import sys

import pytest
from botocore.httpsession import get_cert_path
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.model import Bucket, Credentials
from tornado_proxy.config.secrets import Secret
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.s3.client import find_endpoint, make_client
from tornado_proxy.storage.s3.endpoint import plain_endpoint, tls_context

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


def _asked(bucket: Bucket):
    """What boto3 finds; a bucket that it refuses has no endpoint."""
    client = make_client(bucket, 1)
    try:
        return find_endpoint(client, bucket.name)
    except StorageError:
        return None
    finally:
        client.close()


@given(NAMES, REGIONS, URLS, st.booleans(), st.booleans())
def test_a_plain_endpoint_is_the_one_that_boto3_finds(name, region, url, in_path, without_tls):
    """Host, port, paths and scope are the same, whatever is configured; where in doubt, boto3 is asked."""
    bucket = Bucket(
        name, region=region, s3_endpoint=url, force_path_style=in_path, disable_ssl=without_tls, credentials=PAIR
    )
    found = plain_endpoint(bucket, {})
    assert found is None or found == _asked(bucket)


@pytest.mark.parametrize("url", ["http://minio:9000", "https://s3.example.org", "s3.example.org:443"])
def test_a_server_of_ones_own_is_plain(url):
    """The usual configuration needs no boto3."""
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
def test_the_rest_is_boto3s_to_find(bucket):
    """Credentials that are looked for, AWS's own endpoints and ARNs are not plain."""
    assert plain_endpoint(bucket, {}) is None


@pytest.mark.parametrize("name", ["AWS_PROFILE", "AWS_USE_FIPS_ENDPOINT", "AWS_CONFIG_FILE", "http_proxy", "ALL_PROXY"])
def test_an_environment_with_a_say_is_boto3s_to_read(name):
    """A profile or a proxy may change where requests go."""
    bucket = Bucket("bucket", s3_endpoint="http://minio:9000", credentials=PAIR)
    assert plain_endpoint(bucket, {name: "x"}) is None
    assert plain_endpoint(bucket, {"AWS_ACCESS_KEY_ID": "x", "no_proxy": "minio"}) is not None


def test_files_of_aws_are_boto3s_to_read(tmp_path, monkeypatch):
    """They may name a proxy, certificates or another kind of endpoint."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".aws").mkdir()
    assert plain_endpoint(Bucket("bucket", s3_endpoint="http://minio:9000", credentials=PAIR), {}) is None


def test_a_user_may_have_no_home(monkeypatch):
    """As the one that systemd makes for a service (`DynamicUser=`), of which no database of users knows anything."""

    def unknown(uid):
        raise KeyError(uid)

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert plain_endpoint(Bucket("bucket", s3_endpoint="http://minio:9000", credentials=PAIR), {})


def test_a_plain_bucket_is_read_without_boto3():
    """Its import takes a third of a start, and the memory of a hundred connections."""
    script = """
import sys
from tornado_proxy.config.model import Bucket
from tornado_proxy.config.server import S3Pool
from tornado_proxy.storage.s3 import S3Store
S3Store(Bucket("bucket", s3_endpoint="http://minio:9000", anonymous=True), S3Pool())
print([name for name in ("botocore", "boto3", "urllib3") if name in sys.modules])
"""
    told = subprocess.run([sys.executable, "-c", script], env={}, capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


def test_certificates_are_those_of_boto3(monkeypatch):
    """They are found without its import."""
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    expected = ssl.create_default_context(cafile=get_cert_path(True))
    assert tls_context().get_ca_certs() == expected.get_ca_certs()


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
