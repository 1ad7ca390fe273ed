"""Where a bucket is, as boto3 resolves it: found out once, so that a request only has to be written and signed."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import botocore.session
from botocore import UNSIGNED
from botocore.httpsession import get_cert_path
from botocore.utils import get_environ_proxies

from tornado_proxy.storage.s3.failures import translated
from tornado_proxy.storage.s3.signature import Scope

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

_PORTS = {"http": 80, "https": 443}


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


def find_endpoint(client: S3Client, bucket: str) -> Endpoint | None:
    """The endpoint that a client finds for a bucket; None where requests need more than Signature V4 and a connection.

    Directory buckets sign with keys of a session, multi-region access points with another signature, and a proxy
    of the environment wants to be asked first. Raises `StorageError` where boto3 finds nothing.
    """
    found: dict[str, Any] = {}

    def leave_unsigned(*, region_name: str, signing_name: str, context: Mapping[str, Any], **_: object) -> object:
        signing = context.get("signing", {})
        found.update(
            version=context.get("auth_type"),
            scope=Scope(signing.get("region", region_name), signing.get("signing_name", signing_name)),
        )
        return UNSIGNED

    events: Any = client.meta.events  # whose stubs know no handler that answers
    # A URL is made in the way that a request is, without a word to the network; unsigned it needs no credentials.
    events.register_first("choose-signer.s3", leave_unsigned)
    try:
        with translated(f"the endpoint of bucket `{bucket}`"):
            object_url = client.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "k"})
            bucket_url = client.generate_presigned_url("list_objects_v2", Params={"Bucket": bucket})
    finally:
        events.unregister("choose-signer.s3", leave_unsigned)
    place = urlsplit(object_url)
    if found["version"] not in ("s3v4", "v4", "none") or get_environ_proxies(object_url).get(place.scheme):
        return None
    default = _PORTS[place.scheme]
    port = place.port or default
    return Endpoint(
        is_tls=place.scheme == "https",
        host=place.hostname or "",
        port=port,
        authority=place.netloc if port != default else place.netloc.removesuffix(f":{default}"),
        object_path=place.path.removesuffix("k"),
        bucket_path=urlsplit(bucket_url).path,
        scope=found["scope"],
    )


def tls_context() -> ssl.SSLContext:
    """What verifies S3's certificate: boto3's bundle, or the one that `AWS_CA_BUNDLE` or `ca_bundle` names."""
    named: str | None = botocore.session.get_session().get_config_variable("ca_bundle")
    bundle = Path(named or str(get_cert_path(True)))
    with translated(f"the certificates in `{bundle}`"):
        if bundle.is_dir():
            return ssl.create_default_context(capath=bundle)
        return ssl.create_default_context(cafile=bundle)
