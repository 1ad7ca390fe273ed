"""The boto3 client of a bucket, made without network access; its connections, and the endpoint that it finds.

botocore has a single time-out for connecting and sending: the socket keeps `connect_timeout` while a body is sent, and
`sendall` must send the whole body within it. These connections limit silence instead.
"""

from __future__ import annotations

import gzip
import math
import re
import time
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from functools import partial
from http.client import HTTPResponse, RemoteDisconnected
from pathlib import PurePath
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeVar, cast
from urllib.parse import urlsplit

import botocore.session
from boto3.session import Session
from botocore import UNSIGNED, awsrequest
from botocore.config import Config
from botocore.credentials import CredentialResolver, Credentials, ReadOnlyCredentials
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError, NoCredentialsError
from botocore.handlers import add_expect_header, validate_bucket_name
from botocore.loaders import JSONFileLoader, Loader
from botocore.model import OperationModel
from botocore.utils import get_environ_proxies
from msgspec import Raw
from msgspec.json import decode, encode
from urllib3.exceptions import HeaderParsingError
from urllib3.util.response import assert_header_parsing

from tornado_proxy.config.model import Bucket, CallHeaders
from tornado_proxy.s3.endpoint import PORTS, Endpoint, addressing_style, endpoint_url
from tornado_proxy.s3.executor import PIECE, InterruptibleConnection, current_call
from tornado_proxy.s3.failures import translated
from tornado_proxy.s3.pool import lifetime
from tornado_proxy.s3.signature import Scope
from tornado_proxy.storage.errors import UpstreamError

if TYPE_CHECKING:
    from io import BufferedReader

    from mypy_boto3_s3.client import S3Client

T = TypeVar("T")

_OPERATIONS = frozenset(
    {
        "GetObject", "HeadObject", "ListObjectsV2", "PutObject", "DeleteObject",
        "CreateMultipartUpload", "UploadPart", "ListParts", "CompleteMultipartUpload", "AbortMultipartUpload",
        "HeadBucket",  # botocore finds the region of a bucket by it
        "CreateSession",  # botocore signs for directory buckets with it
        "CreateBucket",  # botocore signs forms for its URL
    }
)  # fmt: skip

# S3 and the services that issue credentials.
_SERVICES = frozenset({"s3", "sts", "oidc", "portal.sso", "signin"})


class _SmallFiles(JSONFileLoader):
    """Reads of botocore's data about AWS what a bucket needs.

    It does not make objects of the rest: they would take 6 MiB, and Python would keep half of that once they are freed.
    """

    def load_file(self, file_path: str) -> Any:
        """Returns the data of a file, compressed or not; None without one."""
        for path, open_file in ((f"{file_path}.json.gz", gzip.open), (f"{file_path}.json", open)):
            with suppress(FileNotFoundError), open_file(path, "rb") as file:
                return _reader(PurePath(file_path))(file.read())
        return None


class SmallLoader(Loader):
    """Loads from botocore's data about AWS what a bucket needs."""

    FILE_LOADER_CLASS = _SmallFiles

    @property
    def search_paths(self) -> list[str]:
        """The directories of botocore's data; each session would add that of boto3's resources, which are not used."""
        return [*super().search_paths]


_Texts = dict[str, Raw]


def _reader(path: PurePath) -> Callable[[bytes], Any]:
    if path.name == "endpoints":
        return _read_endpoints
    if path.name.startswith("endpoint-rule-set"):
        return lambda text: _shared(decode(text), {})
    return _read_service if path.match("s3/*/service-2") else decode


def _read_endpoints(text: bytes) -> dict[str, Any]:
    partitions = []
    for partition in decode(decode(text, type=_Texts)["partitions"], type=list[_Texts]):
        services = decode(partition.pop("services"), type=_Texts)
        partitions.append({**_chosen(partition, partition), "services": _chosen(services, _SERVICES)})
    return {"partitions": partitions}


def _read_service(text: bytes) -> dict[str, Any]:
    texts = decode(text, type=_Texts)
    operations = _chosen(decode(texts.pop("operations"), type=_Texts), _OPERATIONS)
    shapes: dict[str, Any] = {}
    _add_shapes(operations, decode(texts.pop("shapes"), type=_Texts), shapes)
    return {**_chosen(texts, texts), "operations": operations, "shapes": shapes}


def _shared(value: Any, known: dict[bytes, Any]) -> Any:
    """Returns a value in which equal parts are one object: the rules repeat each other, which is 0.6 MiB."""
    if isinstance(value, dict):
        value = {_shared(name, known): _shared(each, known) for name, each in value.items()}
    elif isinstance(value, list):
        value = [_shared(each, known) for each in value]
    return known.setdefault(encode(value), value)


def _chosen(texts: Mapping[str, Raw], names: Container[str]) -> dict[str, Any]:
    return {name: decode(text) for name, text in texts.items() if name in names}


def _add_shapes(description: Any, texts: Mapping[str, Raw], shapes: dict[str, Any]) -> None:
    """Adds all shapes that a description refers to, and drops its documentation."""
    if isinstance(description, list):
        for each in description:
            _add_shapes(each, texts, shapes)
    elif isinstance(description, dict):
        description.pop("documentation", None)
        name = description.get("shape")
        if isinstance(name, str) and name not in shapes:
            shapes[name] = decode(texts[name])
            _add_shapes(shapes[name], texts, shapes)
        _add_shapes([*description.values()], texts, shapes)


# Shared by all clients, because it takes 30 ms to read.
_LOADER = SmallLoader()

# Failures after which a conditional write has not happened.
_NOT_WRITTEN = (429, 503)
_NOT_SENT = (ConnectTimeoutError, EndpointConnectionError)

# A slow client holds a connection while no thread works on it, so there may be more connections in use than threads.
# This many of them are kept for later requests.
_CONNECTIONS_PER_THREAD = 4


def make_client(bucket: Bucket, threads: int, session: Session | None = None) -> S3Client:
    """Returns a client for concurrent use by `threads` threads; raises `StorageError` for a bad configuration.

    boto3 looks for credentials when a request needs them and not here, since some come over the network.
    """
    doing = f"a client of bucket `{bucket.name}`"
    try:
        with translated(doing):
            client = (session or make_session(bucket)).client(
                "s3",
                region_name=bucket.region,
                endpoint_url=endpoint_url(bucket),
                use_ssl=not bucket.disable_ssl,
                config=_config(bucket, threads),
            )
    except ValueError as error:  # botocore raises it for an unusable endpoint
        raise UpstreamError(f"{doing}: {error}") from error
    make_interruptible(client)
    for operation in ("GetObject", "HeadObject"):
        client.meta.events.register(f"before-call.s3.{operation}", _ask_for_checksums)
    client.meta.events.unregister("before-parameter-build.s3", validate_bucket_name)  # it knows no tenants
    _add_headers(client, bucket.request_config)
    return client


def make_session(bucket: Bucket) -> Session:
    """Returns a new session, so that a new generation sees changes in the files that boto3 reads."""
    core = botocore.session.get_session()
    core.register_component("data_loader", _LOADER)
    if (pair := bucket.credentials) is None:
        chain = core.get_component("credential_provider")
        core.register_component("credential_provider", _LazyChain(chain))
    else:
        core.set_credentials(*pair.reveal())
    return Session(botocore_session=core)


def _config(bucket: Bucket, threads: int) -> Config:
    """Returns the configuration of a client.

    Checksums that boto3 would add are off, since other S3s than Amazon's refuse their headers or trailers. Instead the
    signature of each request covers the SHA-256 of its body, which every S3 verifies.
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
        s3={"addressing_style": addressing_style(bucket), "payload_signing_enabled": True},
    )


def _ask_for_checksums(params: dict[str, Any], **_: object) -> None:
    """Requests the checksums of objects from S3.

    The parameter `ChecksumMode` would do the same, but boto3 would hash every body; the client can do that itself.
    """
    params["headers"]["x-amz-checksum-mode"] = "ENABLED"


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
    client.meta.events.register("before-sign.s3.GetObject", partial(_set_parameters, in_urls))


def _headers_of(client: S3Client, operation: str) -> frozenset[str]:
    """Returns the headers that S3 knows for an operation; `x-amz-meta-` stands for all metadata."""
    shape: Any = client.meta.service_model.operation_model(operation).input_shape
    described = [each.serialization for each in shape.members.values()]
    return frozenset(each["name"].lower() for each in described if each.get("location") in ("header", "headers"))


def _set_headers(added: Mapping[str, str], params: dict[str, Any], **_: object) -> None:
    kept = {name: value for name, value in params["headers"].items() if name.lower() not in added}
    params["headers"] = {**kept, **added}


def _set_parameters(
    added: Mapping[str, str], request: awsrequest.AWSRequest, signature_version: object, **_: object
) -> None:
    """Adds headers to a URL that is signed, as the browser that follows it sends none of them."""
    if str(signature_version).endswith("-query"):
        request.params.update(added)


class _LazyChain:
    """boto3's credential chain, searched later than the session asks for it."""

    def __init__(self, chain: CredentialResolver) -> None:
        self._chain = chain

    def load_credentials(self) -> Credentials:
        """Returns credentials that are looked up when they are needed."""
        return _LazyCredentials(self._chain)


class _LazyCredentials(Credentials):
    """The credentials of the chain, looked up by the first signed request, and again until some are found."""

    def __init__(self, chain: CredentialResolver) -> None:
        super().__init__("", "", method="lazy")
        self._chain = chain
        self._found: Credentials | None = None
        self._lock = Lock()

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
    if found["version"] not in ("s3v4", "v4", "none") or get_environ_proxies(object_url).get(place.scheme):
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


def make_interruptible(client: S3Client) -> None:
    """Makes a client use interruptible connections, and retry only idempotent calls.

    With botocore's own, a call whose client has left would hold its thread until S3 answers or is silent for
    `readTimeout`, and a thread of a few dozen is soon missed.
    """
    session = client._endpoint.http_session  # type: ignore[attr-defined] # noqa: SLF001 - botocore has no option for it
    session._pool_classes_by_scheme.update(http=_Pool, https=_TLSPool)  # noqa: SLF001 - proxies use them too
    # boto3 sends `Expect: 100-continue` with files; an S3 that does not support it would delay each by a second.
    client.meta.events.unregister("before-call.s3", add_expect_header)
    client.meta.events.register_first("needs-retry.s3", _refuse_retry)  # type: ignore[arg-type]


class _WholeHead:
    """The beginning of an answer, which must not end within its head: http.client would take that for a whole one."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readline(self, limit: int) -> bytes:
        line = self._file.readline(limit)
        if len(line) < limit and not line.endswith(b"\n"):
            raise RemoteDisconnected("the answer ends within its head")
        return line

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _StrictResponse(HTTPResponse):
    def begin(self) -> None:
        file, self.fp = self.fp, cast("BufferedReader", _WholeHead(self.fp))
        super().begin()
        if not self.isclosed():
            self.fp = file


class _StrictConnection(InterruptibleConnection):
    """A connection that refuses the head of an answer that urllib3 would only warn about."""

    response_class = _StrictResponse
    old_at = math.inf  # in the time of `time.monotonic`

    def connect(self) -> None:
        self.old_at = time.monotonic() + lifetime()
        super().connect()

    def getresponse(self) -> Any:
        response = super().getresponse()
        try:
            assert_header_parsing(response._original_response.msg)  # noqa: SLF001 - a response has no other name for it
        except HeaderParsingError:
            self.abandon()
            raise
        return response


class _Connection(_StrictConnection, awsrequest.AWSHTTPConnection):  # type: ignore[misc]
    pass


class _TLSConnection(_StrictConnection, awsrequest.AWSHTTPSConnection):  # type: ignore[misc]
    pass


class _Connecting:
    """A pool whose connections have its time-out for silence, and are replaced when they are old."""

    def _get_conn(self, timeout: float | None = None) -> Any:
        connection = super()._get_conn(timeout)  # type: ignore[misc]
        if time.monotonic() >= connection.old_at:
            connection.close()  # a request opens it again
        return connection

    def _new_conn(self) -> Any:
        connection = super()._new_conn()  # type: ignore[misc]
        connection.silence = self.timeout.read_timeout  # type: ignore[attr-defined]
        connection.blocksize = PIECE
        return connection


class _Pool(_Connecting, awsrequest.AWSHTTPConnectionPool):
    ConnectionCls = _Connection


class _TLSPool(_Connecting, awsrequest.AWSHTTPSConnectionPool):
    ConnectionCls = _TLSConnection


def _refuse_retry(
    response: tuple[Any, Any] | None,
    caught_exception: Exception | None,
    request_dict: dict[str, Any],
    operation: OperationModel,
    **_: object,
) -> Literal[False] | None:
    """Returns False for a call that must not be repeated.

    A conditional write without an answer may have succeeded; a second attempt would find the object of the first and
    fail. So may have a completion, whose upload a second attempt would not find.
    """
    call = current_call()
    if call is not None and call.outcome.done():
        return False
    headers = request_dict["headers"]
    is_conditional = request_dict["method"] != "GET" and ("If-None-Match" in headers or "If-Match" in headers)
    if not is_conditional and operation.name != "CompleteMultipartUpload":
        return None
    is_lost = caught_exception is not None and not isinstance(caught_exception, _NOT_SENT)
    is_unclear = response is not None and response[0].status_code >= 500 and response[0].status_code not in _NOT_WRITTEN
    return False if is_lost or is_unclear else None
