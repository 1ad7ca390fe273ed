"""The client of boto3 for a bucket, made without network access, its connections, and the endpoint that it finds.

It is made by botocore, boto3's lower half: the upper one has nothing that is used here, and takes 3 MiB. The import of
this module takes 0.1 s and 12 MiB, which reads from a plain endpoint need not.

botocore has one time-out for connecting and for sending: the socket keeps `connect_timeout` while a body is sent, and
`sendall` wants the whole body taken within it. These connections have time-outs for silence instead.
"""

from __future__ import annotations

import socket
import time
import weakref
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast
from urllib.parse import urlsplit

from botocore import UNSIGNED
from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)
from botocore.config import Config
from botocore.credentials import CredentialResolver, Credentials, ReadOnlyCredentials
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError, NoCredentialsError
from botocore.handlers import add_expect_header
from botocore.loaders import Loader
from botocore.session import Session, get_session
from botocore.utils import get_environ_proxies

from tornado_proxy.config.model import Bucket
from tornado_proxy.storage.errors import UpstreamError
from tornado_proxy.storage.s3.endpoint import PORTS, Endpoint, addressing_style, endpoint_url
from tornado_proxy.storage.s3.executor import BlockingCall, current_call
from tornado_proxy.storage.s3.failures import translated
from tornado_proxy.storage.s3.signature import Scope

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

T = TypeVar("T")

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

# The bytes that S3 takes within the time-out of silence, one after the other.
_PIECE = 64 * 1024

# The bytes that the kernel keeps before it has sent them (tcp(7)): with the megabytes that it keeps otherwise, a slow
# line looks silent long after the last byte was handed over.
_TCP_NOTSENT_LOWAT = 25
_UNSENT = 128 * 1024

# A conditional write that fails in one of these ways has not happened.
_NOT_WRITTEN = (429, 503)
_NOT_SENT = (ConnectTimeoutError, EndpointConnectionError)

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
                endpoint_url=endpoint_url(bucket),
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
        s3={"addressing_style": addressing_style(bucket), "payload_signing_enabled": True},
    )


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
    """Makes a client use these connections, and retry only idempotent calls."""
    session = client._endpoint.http_session  # type: ignore[attr-defined] # noqa: SLF001 - botocore has no option for it
    session._pool_classes_by_scheme.update(http=_Pool, https=_TLSPool)  # noqa: SLF001 - also what its proxies use
    # Parts are read like files; after `Expect: 100-continue` an S3 that does not know it costs a second for each.
    client.meta.events.unregister("before-call.s3", add_expect_header)
    client.meta.events.register_first("needs-retry.s3", _refuse_retry)  # type: ignore[arg-type]


class InterruptibleConnection:
    """A connection that is cut off with its call; of a class that has urllib3's `connect`, `request` and `send`."""

    call: BlockingCall[Any] | None = None
    silence: float | None = None  # seconds
    close: Callable[[], None]
    # An answer that ends with its connection takes the socket away from it, and is closed by itself.
    _socket: socket.socket | None = None
    _response: Callable[[], Any] = staticmethod(lambda: None)
    sock: socket.socket | None

    def connect(self) -> None:
        """Connects within the time-out of the connection, and waits for later bytes within that of silence."""
        self._begin()
        super().connect()  # type: ignore[misc]
        self._socket = self.sock
        if self.sock is not None:
            self.sock.settimeout(self.silence)
            with suppress(OSError):
                self.sock.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, _UNSENT)
        # A call that was given up while there was no socket yet is not cut off by anything else.
        self._begin()

    def request(self, method: str, url: str, body: Any = None, *arguments: Any, **keywords: Any) -> None:
        """Sends a request; once it is sent, S3 may act on it."""
        call = self._begin()
        if call is not None:
            call.is_sent = not body
        if self.sock is not None:
            self.sock.settimeout(self.silence)
        super().request(method, url, body, *arguments, **keywords)  # type: ignore[misc]
        if call is not None:
            call.is_sent = True

    def send(self, data: Any) -> None:
        """Sends bytes piece by piece, so that each has the whole time-out."""
        if not isinstance(data, bytes | bytearray | memoryview):
            super().send(data)  # type: ignore[misc]
            return
        call = self._begin()
        with memoryview(data) as view:
            for start in range(0, len(view), _PIECE):
                super().send(view[start : start + _PIECE])  # type: ignore[misc]
                if call is not None and call.is_upload:
                    call.progress = time.monotonic()

    def getresponse(self) -> Any:
        """The answer, which is not kept alive here: a cycle would be."""
        response = super().getresponse()  # type: ignore[misc]
        self._response = weakref.ref(response)
        return response

    def abandon(self) -> None:
        """Closes the connection and its answer, which nobody reads to the end."""
        if (response := self._response()) is not None:
            response.close()
        self.close()

    def cut(self) -> None:
        """Shuts the connection down under the thread that uses it."""
        # Without one of its own, it is still connecting, and `connect` looks afterwards.
        sock = self.sock or self._socket
        if sock is not None:
            with suppress(OSError):
                # Not that of TLS, which is not safe while another thread reads.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def _begin(self) -> BlockingCall[Any] | None:
        call = current_call()
        if call is not None:
            call.use(self)
        return call


class _Connection(InterruptibleConnection, AWSHTTPConnection):  # type: ignore[misc]
    pass


class _TLSConnection(InterruptibleConnection, AWSHTTPSConnection):  # type: ignore[misc]
    pass


class _Connecting:
    """A pool whose connections have its time-out for silence."""

    def _new_conn(self) -> Any:
        connection = super()._new_conn()  # type: ignore[misc]
        connection.silence = self.timeout.read_timeout  # type: ignore[attr-defined]
        connection.blocksize = _PIECE
        return connection


class _Pool(_Connecting, AWSHTTPConnectionPool):
    ConnectionCls = _Connection


class _TLSPool(_Connecting, AWSHTTPSConnectionPool):
    ConnectionCls = _TLSConnection


def _refuse_retry(
    response: tuple[Any, Any] | None, caught_exception: Exception | None, request_dict: dict[str, Any], **_: object
) -> Literal[False] | None:
    """Returns False for a call that must not be repeated.

    A conditional write without an answer may have succeeded; a second attempt would find the object of the first and
    fail.
    """
    call = current_call()
    if call is not None and call.outcome.done():
        return False
    headers = request_dict["headers"]
    if request_dict["method"] == "GET" or not ("If-None-Match" in headers or "If-Match" in headers):
        return None
    is_lost = caught_exception is not None and not isinstance(caught_exception, _NOT_SENT)
    is_unclear = response is not None and response[0].status_code >= 500 and response[0].status_code not in _NOT_WRITTEN
    return False if is_lost or is_unclear else None
