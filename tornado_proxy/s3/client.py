"""The boto3 client of a bucket, made without network access, and the endpoint that it finds.

The clients are botocore's, as boto3 makes them: boto3's own session adds a path to the shared loader of data each time.
"""

from __future__ import annotations

import logging
import os
import re
import ssl
import zlib
from base64 import b64encode
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache, partial
from hashlib import md5
from ipaddress import ip_address, ip_network
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined] # no stubs

import msgspec
from botocore import UNSIGNED, awsrequest
from botocore.config import Config
from botocore.credentials import CredentialResolver, Credentials, ReadOnlyCredentials
from botocore.exceptions import NoCredentialsError
from botocore.handlers import validate_bucket_name
from botocore.hooks import HierarchicalEmitter
from botocore.httpsession import get_cert_path
from botocore.loaders import create_loader
from botocore.model import OperationModel
from botocore.session import Session
from botocore.utils import parse_timestamp

from tornado_proxy.config.model import Bucket, CallHeaders
from tornado_proxy.s3.failures import translated
from tornado_proxy.s3.limits import PIECE_OF_THREAD
from tornado_proxy.s3.signature import Scope
from tornado_proxy.storage.errors import UpstreamError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

_log = logging.getLogger(__name__)

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


HOW_TO_TRUST = (
    "name the certificates of its authority by `bucket.caPath`, or in the environment by AWS_CA_BUNDLE, "
    "REQUESTS_CA_BUNDLE or SSL_CERT_FILE"
)


def tls_context(given: Path | None = None) -> ssl.SSLContext:
    """Returns a context that verifies S3's certificate, by a given bundle or one of the environment if there is one."""
    named = given or _new_session().get_config_variable("ca_bundle")  # of the profile, or AWS_CA_BUNDLE
    for variable in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        named = named or os.environ.get(variable)
    bundle = Path(str(named or get_cert_path(verify=True)))
    with translated(f"the certificates in `{bundle}`"):
        if bundle.is_dir():
            return ssl.create_default_context(capath=bundle)
        if named:
            return ssl.create_default_context(cafile=bundle)
        context = ssl.create_default_context()
        context.load_verify_locations(bundle)
        return context


def proxy_of(url: str) -> str | None:
    """Returns the proxy that the environment names for a URL, in lower or upper case.

    What `no_proxy` has needs none: a host, a domain with or without `*.`, or a network, each with or without a port.
    """
    place, proxies = urlsplit(url), getproxies_environment()
    host, port, proxy = place.hostname or "", place.port or PORTS[place.scheme], proxies.get(place.scheme)
    listed = re.sub(r"\*(?=\.)|[\[\]]", "", re.sub(r"[\s,]+", ",", proxies.get("no", "")))
    if not proxy or proxy_bypass_environment(f"{host}:{port}", {"no": listed}):
        return None
    with suppress(ValueError):
        address = ip_address(host)
        for each in listed.split(","):
            with suppress(ValueError):
                if address in ip_network(each, strict=False):
                    return None
    return proxy if "://" in proxy else f"http://{proxy}"


# Shared by all clients: it keeps what it has read of botocore's data, 10 MiB.
_LOADER = create_loader(os.environ.get("AWS_DATA_PATH"))


def make_client(bucket: Bucket, session: Session | None = None) -> S3Client:
    """Returns a client, which may be used by several threads; raises `StorageError` for a bad configuration.

    boto3 looks for credentials when a request needs them and not here, since some come over the network.
    """
    doing = f"a client of bucket `{bucket.name}`"
    try:
        with translated(doing):
            client: S3Client = (session or make_session(bucket)).create_client(  # type: ignore[assignment]
                "s3",
                region_name=bucket.region,
                endpoint_url=endpoint_url(bucket),
                use_ssl=not bucket.disable_ssl,
                config=_config(bucket),
            )
    except ValueError as error:  # botocore raises it for an unusable endpoint
        raise UpstreamError(f"{doing}: {error}") from error
    client.meta.events.unregister("before-parameter-build.s3", validate_bucket_name)  # it knows no tenants
    _add_headers(client, bucket.request_config)
    _Checksums(bucket).join(client)
    return client


@cache
def _handlers() -> HierarchicalEmitter:
    """Returns the handlers that every session of botocore has; each client copies them."""
    made = HierarchicalEmitter()
    Session(event_hooks=made)  # registers them, which takes most of the time of a session
    return made


def _new_session() -> Session:
    return Session(event_hooks=_handlers(), include_builtin_handlers=False)


def make_session(bucket: Bucket) -> Session:
    """Returns a new session, so that a new generation sees changes in the files that boto3 reads."""
    core = _new_session()
    core.register_component("data_loader", _LOADER)
    core.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_moment)
    if (pair := bucket.credentials) is None:
        chain = core.get_component("credential_provider")
        core.register_component("credential_provider", _LazyCredentials(chain))
    else:
        core.set_credentials(*pair.reveal())
    return core


def _moment(value: str) -> datetime | None:
    """Returns a date in an answer; None for what is none, as not all that a store dates matters."""
    try:
        return parse_timestamp(value)
    except (ValueError, OverflowError, RuntimeError):
        return None


def _config(bucket: Bucket) -> Config:
    """Returns the configuration of a client.

    Checksums that boto3 would add are off, since other S3s than Amazon's refuse its trailers: `_Checksums` adds them as
    headers. The signature of each request covers the SHA-256 of its body, which every S3 verifies.
    """
    return Config(
        signature_version=UNSIGNED if bucket.anonymous else "s3v4",
        user_agent="tornado-proxy",  # as reads on the loop have; botocore puts its own together anew for each request
        connect_timeout=bucket.connect_timeout,
        read_timeout=bucket.read_timeout,
        retries={"mode": "standard", "total_max_attempts": bucket.max_attempts},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": addressing_style(bucket), "payload_signing_enabled": True},
    )


_METADATA = re.compile(r"(x-amz-meta-).*")

_UPLOADING = (
    "PutObject",
    "CreateMultipartUpload",
    "UploadPart",
    "ListParts",
    "CompleteMultipartUpload",
    "AbortMultipartUpload",
)


def _add_headers(client: S3Client, headers: CallHeaders) -> None:
    """Adds the configured headers to the calls of a client, and to the URLs that it signs."""
    for operations, given in (
        (("ListObjectsV2",), headers.list_headers),
        (("GetObject", "HeadObject"), headers.get_headers),
        (_UPLOADING, headers.put_headers),
        (("DeleteObject",), headers.delete_headers),
    ):
        for operation in operations if given else ():
            # S3 refuses the encryption of an object with one of its parts.
            of_objects = _headers_of(client, "CreateMultipartUpload") if operation in _UPLOADING else frozenset()
            foreign = of_objects - _headers_of(client, operation)
            added = {name: value for name, value in given if _METADATA.sub(r"\1", name) not in foreign}
            client.meta.events.register(f"before-call.s3.{operation}", partial(_set_headers, added))
    in_urls = {name: value for name, value in headers.get_headers if name.startswith("x-amz-")}

    def add_to_url(request: awsrequest.AWSRequest, signature_version: object, **_: object) -> None:
        if str(signature_version).endswith("-query"):  # the browser that follows it sends no headers
            request.params.update(in_urls)

    client.meta.events.register("before-sign.s3.GetObject", add_to_url)


def _headers_of(client: S3Client, operation: str) -> frozenset[str]:
    """Returns the headers that S3 knows for an operation; `x-amz-meta-` stands for all metadata."""
    shape: Any = client.meta.service_model.operation_model(operation).input_shape
    described = [each.serialization for each in shape.members.values()]
    return frozenset(each["name"].lower() for each in described if each.get("location") in ("header", "headers"))


def _set_headers(added: Mapping[str, str], params: dict[str, Any], **_: object) -> None:
    kept = {name: value for name, value in params["headers"].items() if name.lower() not in added}
    params["headers"] = {**kept, **added}


# Refusals of a checksum that was sent are not among them.
_ASKS_FOR_CHECKSUM = re.compile("Content-MD5|checksum", re.IGNORECASE)
_CHECKSUM_NAMES = {"MD5": "Content-MD5", "CRC32": "x-amz-checksum-crc32"}  # the headers, in the order of trials
_WRONG_CHECKSUM = ("BadDigest", "InvalidDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch")

# S3 sends checksums only on request. The parameter `ChecksumMode` of boto3 would ask too, but boto3 would hash every
# body, which the client can do.
CHECKSUM_MODE = ("x-amz-checksum-mode", "ENABLED")


def refuses_checksum_mode(operation: str, status: int, message: str) -> bool:
    """Whether an answer to a read refuses to be asked for checksums; the one to a HEAD does not say what it refuses."""
    return status in (400, 501) and (CHECKSUM_MODE[0] in message or operation == "HeadObject")


class _Checksums:
    """The checksums of a client: what S3 wants by a refusal is sent then, and from then on, and what it refuses not."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket.name
        self._may_learn = bucket.checksums == "when_required"
        self._kind = {"when_supported": "CRC32", "md5": "MD5"}.get(bucket.checksums)
        self._are_asked = True

    def join(self, client: S3Client) -> None:
        """Adds checksums to the requests of a client."""
        events: Any = client.meta.events
        for operation in ("PutObject", "UploadPart", "CreateMultipartUpload", "CompleteMultipartUpload"):
            events.register(f"before-call.s3.{operation}", self._add)
            events.register_first(f"needs-retry.s3.{operation}", self._learn)
        for operation in ("GetObject", "HeadObject"):
            events.register(f"before-call.s3.{operation}", self._ask)
            events.register_first(f"needs-retry.s3.{operation}", self._stop_asking)

    def _ask(self, params: dict[str, Any], **_: object) -> None:
        if self._are_asked:
            _set_headers(dict([CHECKSUM_MODE]), params)

    def _stop_asking(
        self, response: tuple[Any, Any] | None, request_dict: dict[str, Any], operation: OperationModel, **_: object
    ) -> int | None:
        if response is None or response[0].headers.get("x-amz-bucket-region"):  # S3 of another region
            return None
        message = response[1].get("Error", {}).get("Message", "")
        if not refuses_checksum_mode(operation.name, response[0].status_code, message):
            return None
        was_asked = request_dict["headers"].pop(CHECKSUM_MODE[0], None) is not None
        self._are_asked = not was_asked  # refused without, too: it was not this
        return 0 if was_asked else None

    def _add(self, model: OperationModel, params: dict[str, Any], **_: object) -> None:
        _set_headers(_checksum_headers(self._kind, model.name, params["body"]), params)

    def _learn(
        self, response: tuple[Any, Any] | None, request_dict: dict[str, Any], operation: OperationModel, **_: object
    ) -> int | None:
        """Returns the pause before the request is repeated; None if S3 does not ask for another checksum."""
        error = response[1].get("Error", {}) if response is not None and response[0].status_code == 400 else {}
        is_asked = _ASKS_FOR_CHECKSUM.search(error.get("Message", "")) and error.get("Code") not in _WRONG_CHECKSUM
        if not self._may_learn or not is_asked:
            return None
        sent, tried = request_dict["headers"], request_dict["context"].setdefault("checksums tried", {None})
        tried |= {kind for kind, name in _CHECKSUM_NAMES.items() if sent.pop(name, None)}
        for kind in (each for each in _CHECKSUM_NAMES if each not in tried):
            tried.add(kind)
            if added := _checksum_headers(kind, operation.name, request_dict["body"]):
                _log.info("S3 wants a checksum of what is uploaded to `%s`: %s is sent from now on", self._bucket, kind)
                self._kind = kind
                sent.update(added)
                return 0
        self._kind = None  # it was not that
        return None


def _checksum_headers(kind: str | None, operation: str, body: Any) -> Mapping[str, str]:
    """Returns the headers of a checksum; nothing in them tells S3 about the object but that of the object's bytes."""
    if kind == "CRC32" and operation == "CreateMultipartUpload":
        return {"x-amz-checksum-algorithm": "CRC32"}
    if kind == "CRC32" and operation in ("PutObject", "UploadPart"):
        crc = 0
        for block in _blocks(body):
            crc = zlib.crc32(block, crc)
        return {
            "x-amz-checksum-crc32": b64encode(crc.to_bytes(4, "big")).decode(),
            "x-amz-sdk-checksum-algorithm": "CRC32",
        }
    if kind == "MD5" and operation != "CreateMultipartUpload":
        digest = md5(usedforsecurity=False)
        for block in _blocks(body):
            digest.update(block)
        return {"Content-MD5": b64encode(digest.digest()).decode()}
    return {}


def _blocks(body: Any) -> Iterable[bytes]:
    """Yields the bytes of the body of a request; a file is at its beginning afterwards."""
    if isinstance(body, bytes):
        yield body
    else:
        body.seek(0)
        yield from iter(partial(body.read, PIECE_OF_THREAD), b"")
        body.seek(0)


class _LazyCredentials(Credentials):
    """The credentials of boto3's chain, looked up by the first signed request, and again until some are found.

    They stand for the chain as well, which a session would search at once.
    """

    def __init__(self, chain: CredentialResolver) -> None:
        super().__init__("", "", method="lazy")
        self._chain = chain
        self._found: Credentials | None = None
        self._lock = Lock()

    def load_credentials(self) -> Credentials:
        """Returns themselves, in place of the chain."""
        return self

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """Returns the current credentials, refreshed if they are about to expire."""
        with self._lock:
            self._found = self._found or self._chain.load_credentials()
        if self._found is None:
            raise NoCredentialsError
        return self._found.get_frozen_credentials()


def find_endpoint(client: S3Client, bucket: str) -> Endpoint | None:
    """Returns the endpoint that a client finds for a bucket; None if requests need more than Signature V4.

    Directory buckets sign with the keys of a session, multi-region access points with another signature, and a proxy
    may be configured in the environment. Raises `StorageError` if boto3 finds no endpoint.
    """
    found: dict[str, Any] = {}

    def choose_unsigned(*, region_name: str, signing_name: str, context: Mapping[str, Any], **_: object) -> object:
        signing = context.get("signing", {})
        found.update(
            version=context.get("auth_type"),
            scope=Scope(signing.get("region", region_name), signing.get("signing_name", signing_name)),
        )
        return UNSIGNED

    events: Any = client.meta.events  # the stubs allow no handler that returns a value
    # A URL is made like a request, but without network access; unsigned, it needs no credentials.
    events.register_first("choose-signer.s3", choose_unsigned)
    try:
        with translated(f"the endpoint of bucket `{bucket}`"):
            object_url = client.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "k"})
            bucket_url = client.generate_presigned_url("list_objects_v2", Params={"Bucket": bucket})
    finally:
        events.unregister("choose-signer.s3", choose_unsigned)
    place = urlsplit(object_url)
    if found["version"] not in ("s3v4", "v4", "none") or proxy_of(object_url):
        return None
    default = PORTS[place.scheme]
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
