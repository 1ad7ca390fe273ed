"""The endpoint of a bucket, and the certificates that it is trusted by."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec
from botocore.httpsession import get_cert_path
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


def tls_context() -> ssl.SSLContext:
    """Returns a context that verifies S3's certificate with boto3's bundle, `AWS_CA_BUNDLE` or `ca_bundle`."""
    named = get_session().get_config_variable("ca_bundle") or os.environ.get("REQUESTS_CA_BUNDLE")
    bundle = Path(str(named or get_cert_path(verify=True)))
    with translated(f"the certificates in `{bundle}`"):
        if bundle.is_dir():
            return ssl.create_default_context(capath=bundle)
        return ssl.create_default_context(cafile=bundle)
