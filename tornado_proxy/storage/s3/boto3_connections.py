"""The connections of boto3, with time-outs for silence instead of for work, and with a way to interrupt a call.

botocore has one time-out for connecting and for sending: the socket keeps `connect_timeout` while a body is sent, and
`sendall` wants the whole body taken within it.
"""

from __future__ import annotations

import socket
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError
from botocore.handlers import add_expect_header

from tornado_proxy.storage.s3.executor import BlockingCall, current_call

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

# The bytes that S3 takes within the time-out of silence, one after the other.
_PIECE = 64 * 1024

# The bytes that the kernel keeps before it has sent them (tcp(7)): with the megabytes that it keeps otherwise, a slow
# line looks silent long after the last byte was handed over.
_TCP_NOTSENT_LOWAT = 25
_UNSENT = 128 * 1024

# A conditional write that fails in one of these ways has not happened.
_NOT_WRITTEN = (429, 503)
_NOT_SENT = (ConnectTimeoutError, EndpointConnectionError)


def install(client: S3Client) -> None:
    """Makes a client use these connections, and retry only idempotent calls."""
    session = client._endpoint.http_session  # type: ignore[attr-defined] # noqa: SLF001 - botocore has no option for it
    session._pool_classes_by_scheme.update(http=_Pool, https=_TLSPool)  # noqa: SLF001 - also what its proxies use
    # Parts are read like files; after `Expect: 100-continue` an S3 that does not know it costs a second for each.
    client.meta.events.unregister("before-call.s3", add_expect_header)
    client.meta.events.register_first("needs-retry.s3", _refuse_retry)  # type: ignore[arg-type]


class _Interruptible:
    """A connection that is cut off with its call; of a class that has urllib3's `connect`, `request` and `send`."""

    call: BlockingCall[Any] | None = None
    silence: float | None = None  # seconds
    close: Callable[[], None]
    # An answer that ends with its connection takes the socket away from it, and is closed by itself.
    _socket: socket.socket | None = None
    _response: Callable[[], Any] = staticmethod(lambda: None)
    sock: socket.socket | None

    def connect(self) -> None:
        """Connect within the time-out of the connection, and wait for later bytes within that of silence."""
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
        """Send a request; once it is sent, S3 may act on it."""
        call = self._begin()
        if call is not None:
            call.is_sent = not body
        if self.sock is not None:
            self.sock.settimeout(self.silence)
        super().request(method, url, body, *arguments, **keywords)  # type: ignore[misc]
        if call is not None:
            call.is_sent = True

    def send(self, data: Any) -> None:
        """Send bytes piece by piece, so that each has the whole time-out."""
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
        """Close the connection and its answer, which nobody reads to the end."""
        if (response := self._response()) is not None:
            response.close()
        self.close()

    def cut(self) -> None:
        """Shut the connection down under the thread that uses it."""
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


class _Connection(_Interruptible, AWSHTTPConnection):  # type: ignore[misc]
    pass


class _TLSConnection(_Interruptible, AWSHTTPSConnection):  # type: ignore[misc]
    pass


class _Pool(AWSHTTPConnectionPool):
    ConnectionCls = _Connection

    def _new_conn(self) -> Any:
        connection: Any = super()._new_conn()
        connection.silence = self.timeout.read_timeout
        connection.blocksize = _PIECE
        return connection


class _TLSPool(AWSHTTPSConnectionPool):
    ConnectionCls = _TLSConnection

    def _new_conn(self) -> Any:
        connection: Any = super()._new_conn()
        connection.silence = self.timeout.read_timeout
        connection.blocksize = _PIECE
        return connection


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
