"""The connections for the calls of boto3: cut off with their call, replaced when they are old, strict about heads.

botocore has a single time-out for connecting and sending: the socket keeps `connect_timeout` while a body is sent, and
`sendall` must send the whole body within it. And a call that nobody waits for would hold its thread until S3 answers.
These connections limit silence, and end with their call. botocore hands over each request by its event `before-send`.
"""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from http import HTTPStatus
from http.client import HTTPResponse, RemoteDisconnected
from io import BufferedReader
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, cast
from urllib.parse import urlsplit

from botocore import exceptions
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.handlers import add_expect_header
from botocore.model import OperationModel
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager, ProxyManager, Timeout
from urllib3 import exceptions as failures
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.response import assert_header_parsing

from tornado_proxy.config.model import Bucket
from tornado_proxy.s3.client import HOW_TO_TRUST, proxy_of, tls_context
from tornado_proxy.s3.connection import Retries, lifetime
from tornado_proxy.s3.executor import InterruptibleConnection, current_call
from tornado_proxy.s3.failures import THROTTLED, TRANSIENT
from tornado_proxy.s3.limits import CONNECTIONS_PER_THREAD, DISTRUSTED_FOR, PIECE_OF_THREAD
from tornado_proxy.storage.errors import NOT_S3, UpstreamError
from tornado_proxy.wire.dialing import Dialer

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


# After these failures, and where S3 asks for fewer requests, a conditional write has not happened.
_NOT_SENT = (exceptions.ConnectTimeoutError, exceptions.EndpointConnectionError)

# What botocore makes of the failures of urllib3; the first matching row applies.
_KNOWN: tuple[tuple[type[Exception], type[exceptions.BotoCoreError]], ...] = (
    (failures.SSLError, exceptions.SSLError),
    (failures.NewConnectionError, exceptions.EndpointConnectionError),
    (failures.ProxyError, exceptions.ProxyConnectionError),
    (failures.ConnectTimeoutError, exceptions.ConnectTimeoutError),
    (failures.ReadTimeoutError, exceptions.ReadTimeoutError),
    (failures.ProtocolError, exceptions.ConnectionClosedError),
)


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
    """An answer whose head is whole, and has only headers; urllib3 would only warn about others."""

    def begin(self) -> None:
        file, self.fp = self.fp, cast("BufferedReader", _WholeHead(self.fp))
        super().begin()
        assert_header_parsing(self.msg)
        if not self.isclosed():
            self.fp = file


class _AgingConnection(InterruptibleConnection):
    """A connection that is replaced when it is old; urllib3 opens one that is not connected again."""

    response_class = _StrictResponse
    dialer: Callable[[str, int], Dialer]
    _dns_host: str
    _old_at = math.inf  # in the time of `time.monotonic`

    def connect(self) -> None:
        self._old_at = time.monotonic() + lifetime()
        super().connect()

    @property
    def is_connected(self) -> bool:
        return bool(super().is_connected) and time.monotonic() < self._old_at  # type: ignore[misc]

    def _new_conn(self) -> socket.socket:
        connection: Any = self  # what urllib3 makes of it
        try:
            made = self.dialer(self._dns_host.strip("[]"), connection.port).connect_in_thread(connection.timeout)
        except socket.gaierror as error:
            raise failures.NameResolutionError(connection.host, connection, error) from error
        except TimeoutError as error:
            raise failures.ConnectTimeoutError(connection, f"no connection in {connection.timeout:g} s") from error
        except OSError as error:
            raise failures.NewConnectionError(connection, str(error)) from error
        made.settimeout(connection.timeout)
        return made


class Transport:
    """Sends the requests of a boto3 client for concurrent use by `threads` threads."""

    def __init__(self, bucket: Bucket, threads: int, retries: Retries) -> None:
        self._options: Mapping[str, Any] = {
            "timeout": Timeout(connect=bucket.connect_timeout, read=bucket.read_timeout),
            "maxsize": threads * CONNECTIONS_PER_THREAD,
            "blocksize": PIECE_OF_THREAD,
        }
        self._ca_path = bucket.ca_path
        self._retries = retries
        self._max_attempts = bucket.max_attempts
        self._distrusted_at = -math.inf
        settings = {"silence": bucket.read_timeout, "dialer": staticmethod(lru_cache(Dialer))}
        plain = type("Connection", (_AgingConnection, HTTPConnection), settings)
        secured = type("TLSConnection", (_AgingConnection, HTTPSConnection), settings)
        self._pools: dict[str, type[HTTPConnectionPool]] = {
            "http": type("Pool", (HTTPConnectionPool,), {"ConnectionCls": plain}),
            "https": type("TLSPool", (HTTPSConnectionPool,), {"ConnectionCls": secured}),
        }
        self._managers: dict[tuple[str, str], PoolManager] = {}  # by scheme and host

    def carry(self, client: S3Client) -> None:
        """Sends the requests of a client from now on, and has it repeat only what may be repeated."""
        events: Any = client.meta.events  # the stubs allow no handler that returns a value
        events.register("before-send.s3", self.send)
        # boto3 sends `Expect: 100-continue` with files; an S3 that does not support it would delay each by a second.
        events.unregister("before-call.s3", add_expect_header)
        events.register_first("needs-retry.s3", self._refuse_retry)

    def close(self) -> None:
        """Closes the connections that no call uses."""
        for manager in self._managers.values():
            manager.clear()

    def send(self, request: AWSPreparedRequest, **_: object) -> AWSResponse:
        """Returns the answer to a request, or raises an exception of botocore; its body is read unless it streams."""
        url, place = request.url, urlsplit(request.url)
        manager, target = self._manager(place.scheme, place.netloc), url
        if manager.proxy is None or place.scheme == "https":
            target = f"{place.path or '/'}{'?' if place.query else ''}{place.query}"
        try:
            pool: Any = manager.connection_from_url(url)
            answer = pool.urlopen(
                request.method,
                target,
                request.body,
                request.headers,
                retries=False,
                assert_same_host=False,
                preload_content=False,
                decode_content=False,
                # A stream knows its length, and what to say of one that ends early.
                enforce_content_length=not request.stream_output,
            )
            response = AWSResponse(url, answer.status, answer.headers, answer)
            if not request.stream_output:
                response.content  # noqa: B018 - reads it
        except Exception as error:
            kind = next((known for theirs, known in _KNOWN if isinstance(error, theirs)), exceptions.HTTPClientError)
            # urllib3 calls the connection aborted when S3 takes no more of a body.
            kind = exceptions.ReadTimeoutError if any(isinstance(each, TimeoutError) for each in error.args) else kind
            told = self._distrusted(error) if isinstance(error, failures.SSLError) else error
            raise kind(endpoint_url=url, proxy_url=str(manager.proxy).rpartition("@")[2], error=told) from error
        # boto3 would take most pages for internal errors of S3.
        if not request.stream_output and answer.status == HTTPStatus.OK and b"<html" in response.content[:1000].lower():
            raise UpstreamError(NOT_S3)
        return response

    def _distrusted(self, error: failures.SSLError) -> failures.SSLError:
        """Lets the next attempt read whom to trust again: the authority may have been renewed. Returns what to say."""
        if time.monotonic() >= self._distrusted_at + DISTRUSTED_FOR:
            self._distrusted_at = time.monotonic()
            self.close()
            self._managers = {}
        return failures.SSLError(f"{error}; {HOW_TO_TRUST}") if "CERTIFICATE_VERIFY_FAILED" in str(error) else error

    def _manager(self, scheme: str, host: str) -> PoolManager:
        if (found := self._managers.get((scheme, host))) is None:
            proxy, options = proxy_of(f"{scheme}://{host}"), self._options
            if "https" in (scheme, urlsplit(proxy or "").scheme):
                options = {**options, "ssl_context": tls_context(self._ca_path)}
            manager = ProxyManager(proxy, **options) if proxy else PoolManager(**options)
            manager.pool_classes_by_scheme = self._pools
            found = self._managers.setdefault((scheme, host), manager)
        return found

    def _refuse_retry(
        self,
        response: tuple[Any, Any] | None,
        caught_exception: Exception | None,
        request_dict: dict[str, Any],
        operation: OperationModel,
        attempts: int,
        **_: object,
    ) -> Literal[False] | None:
        """Returns False for a call that must not be repeated: nobody waits, too many fail, or it may have succeeded.

        A conditional write without an answer may have; a second attempt would find the object of the first and fail. So
        may a completion, whose upload a second attempt would not find.
        """
        call, context, headers = current_call(), request_dict["context"], request_dict["headers"]
        if call is not None and call.outcome.done():
            return False
        status = response[0].status_code if response is not None else 0
        if status < HTTPStatus.MULTIPLE_CHOICES and caught_exception is None:
            self._retries.give_back(context.pop("paid", 0))
            return None
        if operation.name == "CompleteMultipartUpload" or (
            request_dict["method"] != "GET" and ("If-None-Match" in headers or "If-Match" in headers)
        ):
            is_lost = caught_exception is not None and not isinstance(caught_exception, _NOT_SENT)
            if is_lost or (status >= HTTPStatus.INTERNAL_SERVER_ERROR and status not in THROTTLED):
                return False
        if attempts < self._max_attempts and (status in TRANSIENT or caught_exception is not None):
            context["paid"] = self._retries.take(status)
            return None if context["paid"] else False
        return None
