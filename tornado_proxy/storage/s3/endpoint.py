"""The place of a bucket: what requests are sent to, found without boto3 where the configuration says all of it."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from tornado_proxy.config.model import Bucket
from tornado_proxy.storage.s3.failures import translated
from tornado_proxy.storage.s3.signature import Scope

PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A bucket's place: `authority` is the Host header, the paths are encoded as they are sent.

    An object's path is `object_path` and its encoded key; `bucket_path` is that of a listing.
    """

    is_tls: bool
    host: str
    port: int
    authority: str
    object_path: str
    bucket_path: str
    scope: Scope


def endpoint_url(bucket: Bucket) -> str | None:
    """The endpoint as a URL; one without a scheme gets it from `disableSSL`, one with a scheme keeps its own."""
    endpoint = bucket.s3_endpoint
    if endpoint is None or "://" in endpoint:
        return endpoint
    return f"{'http' if bucket.disable_ssl else 'https'}://{endpoint}"


def addressing_style(bucket: Bucket) -> Literal["path", "virtual"]:
    """Whether the bucket's name stands in the path, or in front of the host's.

    An endpoint whose host has no dot (`localhost`, `minio`) has no hosts below it, so that only the path is left, as
    boto3 itself finds for an address. The third style, `auto`, would be the path for every endpoint there is, and a
    host without a region in signed URLs.
    """
    host = urlsplit(endpoint_url(bucket) or "").hostname
    alone = host is not None and "." not in host
    return "path" if bucket.force_path_style or alone else "virtual"


# Two hyphens in a row begin the suffixes of buckets that are signed for in other ways.
_PLAIN_NAME = re.compile(r"(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_PLAIN_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-[0-9]")
_PLAIN_URL = re.compile(r"(https?)://((?:[a-z0-9-]+\.)*[a-z0-9-]+)(?::([0-9]{1,5}))?/?")

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")

# What boto3 reads besides changes nothing where key pair, region and endpoint are configured.
_WITHOUT_EFFECT = frozenset(
    {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_CA_BUNDLE",  # has an effect below
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_EC2_METADATA_DISABLED",
    }
)


def plain_endpoint(bucket: Bucket, environment: Mapping[str, str] = os.environ) -> Endpoint | None:
    """The endpoint of a bucket on an S3 server that is not AWS; None where boto3 has to be asked.

    It is what boto3 finds, and spares most of a start: its import and a client of it.
    """
    url = _PLAIN_URL.fullmatch(endpoint_url(bucket) or "")
    if url is None or not (_PLAIN_NAME.fullmatch(bucket.name) and _PLAIN_REGION.fullmatch(bucket.region)):
        return None
    if not (bucket.credentials or bucket.anonymous) or _has_a_say(environment):
        return None
    scheme, host, port = url[1], url[2], int(url[3] or PORTS[url[1]])
    authority = host if port == PORTS[scheme] else f"{host}:{port}"
    scope = Scope(bucket.region)
    if addressing_style(bucket) == "path" or _is_address(host):
        path = f"/{bucket.name}"
        return Endpoint(scheme == "https", host, port, authority, f"{path}/", path, scope)
    below = f"{bucket.name}.{host}"
    return Endpoint(scheme == "https", below, port, f"{bucket.name}.{authority}", "/", "/", scope)


def _has_a_say(environment: Mapping[str, str]) -> bool:
    """Whether variables or files may name a profile, a proxy, certificates, or another kind of endpoint."""
    named = any(
        name.lower() in _PROXIES or (name.startswith("AWS_") and name not in _WITHOUT_EFFECT) for name in environment
    )
    return named or os.path.exists(os.path.expanduser("~/.aws"))  # noqa: PTH110, PTH111 - pathlib fails without a home


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def tls_context() -> ssl.SSLContext:
    """What verifies S3's certificate: boto3's bundle, or the one that `AWS_CA_BUNDLE` or `ca_bundle` names."""
    bundle = _bundle()
    with translated(f"the certificates in `{bundle}`"):
        if bundle.is_dir():
            return ssl.create_default_context(capath=bundle)
        return ssl.create_default_context(cafile=bundle)


def _bundle() -> Path:
    named: str | None = os.environ.get("AWS_CA_BUNDLE")
    if not named and _has_a_say(os.environ):
        from botocore.session import get_session  # noqa: PLC0415 - see `storage.s3.client`

        named = get_session().get_config_variable("ca_bundle")
    if named:
        return Path(named)
    # Where boto3 looks, which is not imported for that.
    package = find_spec("certifi") or find_spec("botocore")
    return Path(str(package and package.origin)).with_name("cacert.pem")
