"""The client of boto3 for a bucket, and the endpoint that it finds, both without network access.

It is made by botocore, boto3's lower half: the upper one has nothing that is used here, and takes 3 MiB.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast
from urllib.parse import urlsplit

import botocore.session
from botocore import UNSIGNED
from botocore.config import Config
from botocore.credentials import CredentialResolver, Credentials, ReadOnlyCredentials
from botocore.exceptions import NoCredentialsError
from botocore.httpsession import get_cert_path
from botocore.loaders import Loader
from botocore.session import Session, get_session
from botocore.utils import get_environ_proxies

from tornado_proxy.config.model import Bucket
from tornado_proxy.storage.errors import UpstreamError
from tornado_proxy.storage.s3.executor import current_call, make_interruptible
from tornado_proxy.storage.s3.failures import translated
from tornado_proxy.storage.s3.signature import Scope

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

T = TypeVar("T")

Parameters = Mapping[str, Any]
"""Parameters of an operation, by the names of the S3 API."""

_OPERATIONS = frozenset(
    {
        "GetObject", "HeadObject", "ListObjectsV2", "PutObject", "DeleteObject",
        "CreateMultipartUpload", "UploadPart", "ListParts", "CompleteMultipartUpload", "AbortMultipartUpload",
        "HeadBucket",  # by which botocore finds the region of a bucket
        "CreateSession",  # with which botocore signs for directory buckets
        "CreateBucket",  # by whose URL it signs forms
    }
)  # fmt: skip

# S3, and what gives credentials for it.
_SERVICES = frozenset({"s3", "sts", "oidc", "portal.sso", "signin"})


class _SmallLoader(Loader):
    """Reads what botocore knows of AWS, and keeps of it what a bucket needs: all of it would take 5 MiB more."""

    def load_data_with_path(self, name: str) -> tuple[Any, str]:
        """The data of a name, and the path of their file."""
        data, path = super().load_data_with_path(name)
        if name == "endpoints":
            for partition in data["partitions"]:
                partition["services"] = _only(partition["services"], _SERVICES)
        elif name.startswith("s3/") and name.endswith("/service-2"):
            data["operations"] = _only(data["operations"], _OPERATIONS)
            data["shapes"] = _only(data["shapes"], _shapes_of(data["operations"], data["shapes"], set()))
        return data, path


def _only(described: Mapping[str, Any], names: Container[str]) -> dict[str, Any]:
    return {name: description for name, description in described.items() if name in names}


def _shapes_of(description: Any, shapes: Mapping[str, Any], known: set[str]) -> set[str]:
    """Adds to the known shapes all to which a description leads, and drops its documentation."""
    if isinstance(description, list):
        for each in description:
            _shapes_of(each, shapes, known)
    elif isinstance(description, dict):
        description.pop("documentation", None)
        name = description.get("shape")
        if isinstance(name, str) and name not in known:
            known.add(name)
            _shapes_of(shapes[name], shapes, known)
        _shapes_of([*description.values()], shapes, known)
    return known


# What boto3 reads of the S3 API is the same for every client, and takes 60 ms to read.
_LOADER = _SmallLoader()

# A body that a client takes slowly holds its connection while no thread works on it: more connections than threads may
# be in use, and this many of them are kept for the next request.
_CONNECTIONS_PER_THREAD = 4


def make_client(bucket: Bucket, threads: int, session: Session | None = None) -> S3Client:
    """A client for `threads` threads at once; raises `StorageError` where the configuration makes none.

    boto3's chain looks for credentials when a request needs them, not here, since some come over the network.
    """
    doing = f"a client of bucket `{bucket.name}`"
    try:
        with translated(doing):
            made = (session or make_session(bucket)).create_client(
                "s3",
                region_name=bucket.region,
                endpoint_url=_endpoint(bucket),
                use_ssl=not bucket.disable_ssl,
                config=_config(bucket, threads),
            )
    except ValueError as error:  # botocore's own for an endpoint that it cannot use
        raise UpstreamError(f"{doing}: {error}") from error
    client = cast("S3Client", made)
    make_interruptible(client)
    for operation in ("GetObject", "HeadObject"):
        client.meta.events.register(f"before-call.s3.{operation}", _ask_for_checksums)
    return client


def ask(method: Callable[..., T], **parameters: object) -> T:
    """What an operation of a client returns; raises `UpstreamError` for an invalid number or date in the answer."""
    try:
        return method(**parameters)
    except (ValueError, OverflowError, RuntimeError) as error:  # the last is botocore's for a date of no sense
        # Nobody reads the rest of the answer.
        if (call := current_call()) is not None:
            call.close_connection()
        raise UpstreamError(f"S3's answer cannot be parsed: {error}") from error


def make_session(bucket: Bucket) -> Session:
    """A session of its own: a new generation sees what has changed in the files that boto3 reads."""
    session = get_session()
    session.register_component("data_loader", _LOADER)
    pair = bucket.credentials
    if pair is None:
        chain = session.get_component("credential_provider")
        session.register_component("credential_provider", _LateChain(chain))
    else:
        token = pair.session_token.reveal() if pair.session_token else None
        session.set_credentials(pair.access_key.reveal(), pair.secret_key.reveal(), token)
    return session


def _config(bucket: Bucket, threads: int) -> Config:
    """How requests are made.

    Checksums that boto3 would add by itself are left out, since S3s other than Amazon's refuse the headers or the
    trailers that carry them. Instead each request is signed over its payload's SHA-256, which every S3 verifies.
    """
    return Config(
        signature_version=UNSIGNED if bucket.anonymous else "s3v4",
        user_agent_extra="tornado-proxy",
        connect_timeout=bucket.connect_timeout,
        read_timeout=bucket.read_timeout,
        max_pool_connections=threads * _CONNECTIONS_PER_THREAD,
        tcp_keepalive=True,
        retries={"mode": "standard", "total_max_attempts": bucket.max_attempts},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": _addressing_style(bucket), "payload_signing_enabled": True},
    )


def _endpoint(bucket: Bucket) -> str | None:
    """The endpoint as a URL; one without a scheme gets it from `disableSSL`, one with a scheme keeps its own."""
    endpoint = bucket.s3_endpoint
    if endpoint is None or "://" in endpoint:
        return endpoint
    return f"{'http' if bucket.disable_ssl else 'https'}://{endpoint}"


def _addressing_style(bucket: Bucket) -> Literal["path", "virtual"]:
    """Whether the bucket's name stands in the path, or in front of the host's.

    An endpoint whose host has no dot (`localhost`, `minio`) has no hosts below it, so that only the path is left, as
    boto3 itself finds for an address. The third style, `auto`, would be the path for every endpoint there is, and a
    host without a region in signed URLs.
    """
    host = urlsplit(_endpoint(bucket) or "").hostname
    alone = host is not None and "." not in host
    return "path" if bucket.force_path_style or alone else "virtual"


def _ask_for_checksums(params: dict[str, Any], **_: object) -> None:
    """Requests the checksums of objects from S3.

    The parameter `ChecksumMode` would do the same and have boto3 hash every body that passes: the client has the
    digest to do that itself.
    """
    params["headers"]["x-amz-checksum-mode"] = "ENABLED"


class _LateChain:
    """boto3's credential chain, which a session asks at once, answering later."""

    def __init__(self, chain: CredentialResolver) -> None:
        self._chain = chain

    def load_credentials(self) -> Credentials:
        """Credentials that are looked for when they are needed."""
        return _LateCredentials(self._chain)


class _LateCredentials(Credentials):
    """The credentials of the chain, looked for by the first signed request, and again as long as none are found."""

    def __init__(self, chain: CredentialResolver) -> None:
        super().__init__("", "", method="late")
        self._chain = chain
        self._found: Credentials | None = None
        self._lock = Lock()

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """The credentials of this moment, refreshed if they were about to expire."""
        with self._lock:
            self._found = self._found or self._chain.load_credentials()
        if self._found is None:
            raise NoCredentialsError
        return self._found.get_frozen_credentials()


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
