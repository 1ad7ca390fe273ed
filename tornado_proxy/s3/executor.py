"""Blocking calls in threads: limited in number and in time, and cut off if nobody waits for them any more.

A thread cannot be stopped, but its connection can be shut down. The call then fails at once, and the thread is free.
`s3.client` makes the connections.
"""

from __future__ import annotations

import asyncio
import math
import socket
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar

from tornado_proxy.s3.limits import MOST_UNSENT, PIECE_SENT_TO_S3
from tornado_proxy.storage.errors import Busy, TimedOut, Unreachable, UpstreamError
from tornado_proxy.storage.store import note_request_id

T = TypeVar("T")

Parameters = Mapping[str, Any]
"""Parameters of an operation by their names in the S3 API."""

_thread = threading.local()
_lock = threading.Lock()  # guards the links between calls and connections


class CallAbandoned(BaseException):
    """Ends a call for which nobody waits; not an `Exception`, because boto3 retries after one."""


class BlockingCall(Generic[T]):
    """A call that a thread makes or will make.

    `outcome` is the result for the caller; cancelling it, or setting its exception, ends the call. `ended` is done when
    no thread makes the call any more. `progress` is the monotonic time since which S3 is silent. It is infinite until a
    thread begins the call, if waiting for a thread does not count; each piece of an upload that S3 takes for the first
    time moves it forward, so that an S3 that takes a body again and again counts as silent.
    """

    def __init__(self, progress: float) -> None:
        self.outcome: Future[T] = Future()
        self.ended: Future[None] = Future()
        self.progress = progress
        self.is_upload = False
        self.is_sent = False
        self.taken = 0  # bytes, by the attempt that got furthest
        self.request_id = ""  # of S3
        self.connection: InterruptibleConnection | None = None
        self.outcome.add_done_callback(self._settled)

    def make(self, function: Callable[[], T], undo: Callable[[T], object] | None) -> None:
        """Makes the call in a thread; undoes its result if nobody waits for it any more."""
        if self.outcome.done():
            return
        _thread.call = self
        self.progress = min(self.progress, time.monotonic())
        try:
            result = function()
        except BaseException as error:  # noqa: BLE001 - raised where the call is awaited
            if self.outcome.done():
                self.close_connection()
            _thread.call = None
            self._finish(partial(self.outcome.set_exception, error))
        else:
            _thread.call = None
            if not self._finish(partial(self.outcome.set_result, result)) and undo is not None:
                undo(result)

    def use(self, connection: InterruptibleConnection) -> None:
        """Records the connection that the call waits for; raises `CallAbandoned` if nobody waits for the call."""
        with _lock:
            connection.call, self.connection = self, connection
        if self.outcome.done():
            raise CallAbandoned

    async def result(self, within: float) -> T:
        """Returns the result of the call; raises `TimedOut` after `within` seconds of silence.

        If the caller is cancelled, the call ends.
        """
        waiting = asyncio.wrap_future(self.outcome)
        try:
            while not waiting.done() and (left := self.progress + within - time.monotonic()) > 0:
                await asyncio.wait((waiting,), timeout=min(left, within))
            if not waiting.done():
                with suppress(InvalidStateError):  # it has just ended
                    self.outcome.set_exception(TimedOut(f"S3 did not answer within {within:g} s"))
            result = await waiting
        except asyncio.CancelledError:
            # A failure of this moment has nobody to look at it, which asyncio would report.
            waiting.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            self.outcome.cancel()
            asyncio.get_running_loop().call_later(within, self.cut)
            raise
        note_request_id(self.request_id)
        return result

    def _finish(self, settle: Callable[[], None]) -> bool:
        """Sets the outcome and releases the connection; returns False if the outcome was set before."""
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
        """Shuts down the connection unless another call uses it by now."""
        with _lock:
            if self.connection is not None and self.connection.call is self:
                self.connection.cut()

    def close_connection(self) -> None:
        """Closes the connection, in the thread of the call, unless another call uses it by now."""
        with _lock:
            if self.connection is not None and self.connection.call is self:
                self.connection.abandon()

    def _settled(self, outcome: Future[T]) -> None:
        """Cuts off an abandoned call; an upload that S3 has in full continues, since it may have succeeded."""
        if not (outcome.cancelled() and self.is_upload and self.is_sent):
            self.cut()


def current_call() -> BlockingCall[Any] | None:
    """Returns the call that this thread makes."""
    return getattr(_thread, "call", None)


class InterruptibleConnection:
    """A connection that is cut off with its call.

    A mixin for classes with the methods `connect`, `request` and `send` of urllib3's connections.
    """

    call: BlockingCall[Any] | None = None
    silence: float | None = None  # seconds
    _taken = 0  # bytes of the request
    close: Callable[[], None]
    # An answer that ends with its connection takes over `sock`, and closes it.
    _socket: socket.socket | None = None
    _response: Callable[[], Any] = staticmethod(lambda: None)
    sock: socket.socket | None

    def connect(self) -> None:
        """Connects within the time-out for connecting; later bytes have the time-out for silence."""
        self._begin()
        super().connect()  # type: ignore[misc]
        self._socket = self.sock
        if self.sock is not None:
            self.sock.settimeout(self.silence)
            with suppress(OSError):
                self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, MOST_UNSENT)
        # Nothing else cuts off a call that was abandoned before there was a socket.
        self._begin()

    def request(self, method: str, url: str, body: Any = None, *arguments: Any, **keywords: Any) -> None:
        """Sends a request; S3 may act on it once it is sent."""
        if (call := self._begin()) is not None:
            call.is_sent = not body
        self._taken = 0
        if self.sock is not None:
            self.sock.settimeout(self.silence)
        super().request(method, url, body, *arguments, **keywords)  # type: ignore[misc]
        if call is not None:
            call.is_sent = True

    def send(self, data: Any) -> None:
        """Sends bytes in pieces: each has the whole time-out, so that a slow connection is no silent one."""
        call = self._begin()
        with memoryview(data) as view:
            for start in range(0, len(view), PIECE_SENT_TO_S3):
                piece = view[start : start + PIECE_SENT_TO_S3]
                super().send(piece)  # type: ignore[misc]
                self._taken += len(piece)
                if call is not None and call.is_upload and self._taken > call.taken:
                    call.taken, call.progress = self._taken, time.monotonic()

    def getresponse(self) -> Any:
        """Returns the answer; the connection keeps only a weak reference to it, to avoid a cycle."""
        response = super().getresponse()  # type: ignore[misc]
        self._response = weakref.ref(response)
        return response

    def abandon(self) -> None:
        """Closes the connection and its answer."""
        if (response := self._response()) is not None:
            response.close()
        self.close()

    def cut(self) -> None:
        """Shuts the connection down while another thread uses it."""
        # Without a socket it is still connecting, and `connect` checks afterwards.
        if (sock := self.sock or self._socket) is not None:
            with suppress(OSError):
                # Not the method of a TLS socket, which is not safe while another thread reads.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def _begin(self) -> BlockingCall[Any] | None:
        if (call := current_call()) is not None:
            call.use(self)
        return call


class Executor:
    """The threads for the calls of a store; at most `queue` calls wait for one, further ones raise `Busy`.

    The threads end with the last reference to the executor.
    """

    def __init__(self, threads: int, queue: int, timeout: float) -> None:
        self.timeout = timeout
        self._most = threads + queue
        self._unfinished: set[BlockingCall[Any]] = set()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="s3")
        self._is_closed = False

    def submit(
        self, function: Callable[[], T], undo: Callable[[T], object] | None = None, *, is_upload: bool = False
    ) -> BlockingCall[T]:
        """Starts a call that continues something begun, such as a body or an upload, without waiting for it."""
        call: BlockingCall[T] = BlockingCall(math.inf)
        call.is_upload = is_upload
        unfinished = self._unfinished
        unfinished.add(call)

        # A call is part of a circle of references. With the executor in it, the threads would live until the garbage
        # collector runs, and with the function, all that a request has.
        def end(_: object) -> None:
            unfinished.remove(call)
            call.ended.set_result(None)

        made = self._pool.submit(call.make, function, undo)
        made.add_done_callback(end)
        # A call that is abandoned before it begins leaves the queue.
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
        """Returns the result of a new call; the wait for a thread counts, except for uploads.

        A `within` longer than the time limit of the executor, in seconds, replaces it. If the caller is cancelled
        meanwhile, `undo` receives the result in the thread, so that nothing stays open.
        """
        if self._is_closed:
            raise Unreachable("the store is closed")
        if len(self._unfinished) >= self._most:
            raise Busy(f"{len(self._unfinished)} calls to S3 are being made or wait for a thread")
        call = self.submit(function, undo, is_upload=is_upload)
        if not is_upload:
            call.progress = min(call.progress, time.monotonic())
        try:
            return await call.result(max(within, self.timeout))
        except asyncio.CancelledError:
            # The call ended at that moment, so that its thread left the result to the caller.
            if undo is not None and not call.outcome.cancelled() and call.outcome.exception() is None:
                self.submit(partial(undo, call.outcome.result()))
            raise

    def close(self) -> None:
        """Makes no new calls; running ones may end."""
        self._is_closed = True


def ask(method: Callable[..., T], **parameters: object) -> T:
    """Returns the result of an operation; raises `UpstreamError` for an invalid number or date in the answer."""
    try:
        answer = method(**parameters)
    except (ValueError, OverflowError, RuntimeError) as error:  # botocore raises the last for an invalid date
        # The rest of the answer is not read.
        if (call := current_call()) is not None:
            call.close_connection()
        raise UpstreamError(f"the answer of S3 cannot be parsed: {error}") from error
    if (call := current_call()) is not None and isinstance(answer, Mapping):
        call.request_id = answer.get("ResponseMetadata", {}).get("RequestId", "")
    return answer
