"""The endpoint of a bucket, found without boto3 if the configuration suffices."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Mapping
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec
from botocore.session import get_session

from tornado_proxy.config.model import Bucket
from tornado_proxy.s3.failures import translated
from tornado_proxy.s3.signature import Scope

PORTS = {"http": 80, "https": 443}


class Endpoint(msgspec.Struct, frozen=True):
    """The place of a bucket: `authority` is the Host header; the paths are encoded.

    The path of an object is `object_path` followed by its encoded key; `bucket_path` is for listings.
    """

    is_tls: bool
    host: str
    port: int
    authority: str
    object_path: str
    bucket_path: str
    scope: Scope


def endpoint_url(bucket: Bucket) -> str | None:
    """Returns the endpoint as a URL; `disableSSL` decides about the scheme if it has none."""
    endpoint = bucket.s3_endpoint
    if endpoint is None or "://" in endpoint:
        return endpoint
    return f"{'http' if bucket.disable_ssl else 'https'}://{endpoint}"


def addressing_style(bucket: Bucket) -> Literal["path", "virtual"]:
    """Returns whether the name of the bucket is in the path or in front of the host.

    An endpoint whose host has no dot (`localhost`, `minio`) has no virtual hosts, so it needs the path, as boto3
    decides for addresses. The style `auto` of boto3 would mean the path for every endpoint, and a host without region
    in signed URLs.
    """
    host = urlsplit(endpoint_url(bucket) or "").hostname
    alone = host is not None and "." not in host
    return "path" if bucket.force_path_style or alone or has_tenant(bucket.name) else "virtual"


def has_tenant(name: str) -> bool:
    """Whether the name of a bucket begins with that of its tenant, as in Ceph; a host cannot contain it."""
    return ":" in name and not name.startswith("arn:")


# Names with `--` belong to buckets that need other signatures.
_PLAIN_NAME = re.compile(r"(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_PLAIN_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-[0-9]")
_PLAIN_URL = re.compile(r"(https?)://((?:[a-z0-9-]+\.)*[a-z0-9-]+)(?::([0-9]{1,5}))?/?")

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")

# Variables without effect if key pair, region and endpoint are configured.
_WITHOUT_EFFECT = frozenset(
    {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_CA_BUNDLE",  # used below
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_EC2_METADATA_DISABLED",
    }
)


def plain_endpoint(bucket: Bucket, environment: Mapping[str, str] = os.environ) -> Endpoint | None:
    """Returns the endpoint of a bucket on an S3 server other than AWS; None if boto3 must find it.

    It is the one that boto3 finds, but saves importing boto3 and making a client, which is most of the start.
    """
    url = _PLAIN_URL.fullmatch(endpoint_url(bucket) or "")
    if url is None or not (_PLAIN_NAME.fullmatch(bucket.name) and _PLAIN_REGION.fullmatch(bucket.region)):
        return None
    if not (bucket.credentials or bucket.anonymous) or _may_affect_endpoint(environment):
        return None
    scheme, host, port = url[1], url[2], int(url[3] or PORTS[url[1]])
    authority = host if port == PORTS[scheme] else f"{host}:{port}"
    scope = Scope(bucket.region)
    if addressing_style(bucket) == "path" or is_address(host):
        path = f"/{bucket.name}"
        return Endpoint(scheme == "https", host, port, authority, f"{path}/", path, scope)
    below = f"{bucket.name}.{host}"
    return Endpoint(scheme == "https", below, port, f"{bucket.name}.{authority}", "/", "/", scope)


def _may_affect_endpoint(environment: Mapping[str, str]) -> bool:
    """Whether variables or files may configure a profile, a proxy, certificates, or another endpoint."""
    named = any(
        name.lower() in _PROXIES or (name.startswith("AWS_") and name not in _WITHOUT_EFFECT) for name in environment
    )
    return named or os.path.exists(os.path.expanduser("~/.aws"))  # noqa: PTH110, PTH111 - pathlib fails without a home


def is_address(host: str) -> bool:
    """Whether a host is an IP address."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def tls_context() -> ssl.SSLContext:
    """Returns a context that verifies S3's certificate with boto3's bundle, `AWS_CA_BUNDLE` or `ca_bundle`."""
    bundle = _bundle()
    with translated(f"the certificates in `{bundle}`"):
        if bundle.is_dir():
            return ssl.create_default_context(capath=bundle)
        return ssl.create_default_context(cafile=bundle)


def _bundle() -> Path:
    named: str | None = os.environ.get("AWS_CA_BUNDLE")
    if not named and _may_affect_endpoint(os.environ):
        named = get_session().get_config_variable("ca_bundle")
    if named:
        return Path(named)
    # Where boto3 looks, without importing it.
    package = find_spec("certifi") or find_spec("botocore")
    return Path(str(package and package.origin)).with_name("cacert.pem")
