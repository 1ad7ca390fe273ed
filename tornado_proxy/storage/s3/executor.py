"""Blocking calls of an event loop, made in threads: bounded in number and in time, and cut off when nobody waits.

A thread cannot be stopped, but its connection can be shut down under it: the call then fails at once, and the thread is
free for the next. botocore has one time-out for connecting and for sending: the socket keeps `connect_timeout` while a
body is sent, and `sendall` wants the whole body taken within it. These connections have time-outs for silence instead.
"""

from __future__ import annotations

import asyncio
import math
import socket
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError
from botocore.handlers import add_expect_header

from tornado_proxy.storage.errors import Busy, TimedOut, Unreachable

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

T = TypeVar("T")

# The bytes that S3 takes within the time-out of silence, one after the other.
_PIECE = 64 * 1024

# The bytes that the kernel keeps before it has sent them (tcp(7)): with the megabytes that it keeps otherwise, a slow
# line looks silent long after the last byte was handed over.
_TCP_NOTSENT_LOWAT = 25
_UNSENT = 128 * 1024

# A conditional write that fails in one of these ways has not happened.
_NOT_WRITTEN = (429, 503)
_NOT_SENT = (ConnectTimeoutError, EndpointConnectionError)

_thread = threading.local()
_lock = threading.Lock()  # guards which call uses which connection


class CallAbandoned(BaseException):
    """Ends a call for which nobody waits; no `Exception`, since boto3 would try again after one."""


class BlockingCall(Generic[T]):
    """A call that a thread makes, or will make.

    `outcome` is what its caller waits for; cancelling it, or giving it an exception, ends the call. `ended` is done
    when no thread makes the call any more. `progress` is the moment since when S3 is waited for: infinite before a
    thread has begun a call whose wait for a thread does not count; each piece that S3 takes of an upload moves it on.
    """

    def __init__(self, function: Callable[[], T], undo: Callable[[T], object] | None, progress: float) -> None:
        self.outcome: Future[T] = Future()
        self.ended: Future[None] = Future()
        self.progress = progress
        self.is_upload = False
        self.is_sent = False
        self.connection: _Interruptible | None = None
        self._function = function
        self._undo = undo
        self.outcome.add_done_callback(self._settled)

    def make(self) -> None:
        """Make the call, in a thread; what nobody waits for any more is undone."""
        if self.outcome.done():
            return
        _thread.call = self
        self.progress = min(self.progress, time.monotonic())
        try:
            result = self._function()
        except BaseException as error:  # noqa: BLE001 - it is raised where the call is waited for
            if self.outcome.done():
                self.close_connection()
            _thread.call = None
            self._finish(partial(self.outcome.set_exception, error))
        else:
            _thread.call = None
            if not self._finish(partial(self.outcome.set_result, result)) and self._undo is not None:
                self._undo(result)

    def use(self, connection: _Interruptible) -> None:
        """Note the connection that the call waits for from now on; raises `CallAbandoned` where nobody waits."""
        with _lock:
            connection.call, self.connection = self, connection
        if self.outcome.done():
            raise CallAbandoned

    async def result(self, within: float) -> T:
        """What the call returns or raises; `TimedOut` if S3 does nothing within a time in seconds.

        If the caller is cancelled, the call is ended.
        """
        loop = asyncio.get_running_loop()
        timer: asyncio.Handle

        def look() -> None:
            nonlocal timer
            left = self.progress + within - time.monotonic()
            if left > 0:
                timer = loop.call_later(min(left, within), look)
            else:
                with suppress(InvalidStateError):
                    self.outcome.set_exception(TimedOut(f"S3 did not answer within {within:g} s"))

        timer = loop.call_soon(look)
        try:
            return await asyncio.wrap_future(self.outcome)
        except asyncio.CancelledError:
            loop.call_later(within, self.cut)
            raise
        finally:
            timer.cancel()

    def _finish(self, settle: Callable[[], None]) -> bool:
        """Settle the outcome, if anybody waits for it; the connection is not the call's any more."""
        with _lock:
            connection, self.connection = self.connection, None
            if connection is not None and connection.call is self:
                connection.call = None
        try:
            settle()
        except InvalidStateError:
            return False
        return True

    def cut(self) -> None:
        """Shut down the connection of a call that nobody waits for, unless another call uses it by now."""
        with _lock:
            if self.connection is not None and self.connection.call is self:
                self.connection.cut()

    def close_connection(self) -> None:
        """Close the connection, in the call's thread, unless another call uses it by now."""
        with _lock:
            if self.connection is not None and self.connection.call is self:
                self.connection.abandon()

    def _settled(self, outcome: Future[T]) -> None:
        """Cut off a call that was given up; an upload that S3 has whole is left to end, since it may have happened."""
        if not (outcome.cancelled() and self.is_upload and self.is_sent):
            self.cut()


def current_call() -> BlockingCall[Any] | None:
    """The call that this thread makes."""
    return getattr(_thread, "call", None)


class Executor:
    """The threads that make a store's calls; `queue` new calls at most wait for one, more raise `Busy`.

    The threads end when nobody holds this any more.
    """

    def __init__(self, threads: int, queue: int = 1000, timeout: float = 60.0) -> None:
        self.timeout = timeout
        self._most = threads + queue
        self._unfinished = 0
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="s3")
        self._is_closed = False

    def submit(
        self, function: Callable[[], T], undo: Callable[[T], object] | None = None, *, is_upload: bool = False
    ) -> BlockingCall[T]:
        """Have a call made that goes on with something begun (a body, an upload in parts), and do not wait for it."""
        call = BlockingCall(function, undo, math.inf)
        call.is_upload = is_upload
        with _lock:
            self._unfinished += 1
        made = self._pool.submit(call.make)
        made.add_done_callback(lambda _: self._ended(call))
        # A call that is given up before a thread has begun it leaves the queue.
        call.outcome.add_done_callback(lambda _: made.cancel())
        return call

    async def run(
        self,
        function: Callable[[], T],
        undo: Callable[[T], object] | None = None,
        *,
        is_upload: bool = False,
        within: float = 0,
    ) -> T:
        """What a new call returns or raises; unless it is an upload, the wait for a thread counts in its time.

        `within` counts if it is longer than that of the executor, in seconds.
        If the caller is cancelled meanwhile, `undo` gets what the call returns all the same, in its thread, so that
        nothing that it opened stays open.
        """
        if self._is_closed:
            raise Unreachable("the store is closed")
        if self._unfinished >= self._most:
            raise Busy(f"{self._unfinished} calls to S3 are being made or wait for a thread")
        call = self.submit(function, undo, is_upload=is_upload)
        if not is_upload:
            call.progress = min(call.progress, time.monotonic())
        return await call.result(max(within, self.timeout))

    def close(self) -> None:
        """Make no new call; what was begun may go on."""
        self._is_closed = True

    def _ended(self, call: BlockingCall[T]) -> None:
        with _lock:
            self._unfinished -= 1
        call.ended.set_result(None)


def make_interruptible(client: S3Client) -> None:
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
