"""Blocking calls of an event loop, made in threads: bounded in number and in time, and cut off when nobody waits.

A thread cannot be stopped, but its connection can be shut down under it: the call then fails at once, and the thread is
free for the next. `storage.s3.client` has the connections that take part in this.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tornado_proxy.storage.errors import Busy, TimedOut, Unreachable, UpstreamError

if TYPE_CHECKING:
    from tornado_proxy.storage.s3.client import InterruptibleConnection

T = TypeVar("T")

Parameters = Mapping[str, Any]
"""Parameters of an operation, by the names of the S3 API."""

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
        self.connection: InterruptibleConnection | None = None
        self._function = function
        self._undo = undo
        self.outcome.add_done_callback(self._settled)

    def make(self) -> None:
        """Makes the call, in a thread; what nobody waits for any more is undone."""
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

    def use(self, connection: InterruptibleConnection) -> None:
        """Notes the connection that the call waits for from now on; raises `CallAbandoned` where nobody waits."""
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
        """Settles the outcome unless it is settled, and gives up the connection."""
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
        """Shuts down the connection of a call that nobody waits for, unless another call uses it by now."""
        with _lock:
            if self.connection is not None and self.connection.call is self:
                self.connection.cut()

    def close_connection(self) -> None:
        """Closes the connection, in the call's thread, unless another call uses it by now."""
        with _lock:
            if self.connection is not None and self.connection.call is self:
                self.connection.abandon()

    def _settled(self, outcome: Future[T]) -> None:
        """Cuts off a call that was given up; an upload that S3 has whole is left to end, since it may have happened."""
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
        """Has a call made that goes on with something begun (a body, an upload in parts), without waiting for it."""
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
        """Makes no new call; what was begun may go on."""
        self._is_closed = True

    def _ended(self, call: BlockingCall[T]) -> None:
        with _lock:
            self._unfinished -= 1
        call.ended.set_result(None)


def ask(method: Callable[..., T], **parameters: object) -> T:
    """What an operation of a client returns; raises `UpstreamError` for an invalid number or date in the answer."""
    try:
        return method(**parameters)
    except (ValueError, OverflowError, RuntimeError) as error:  # the last is botocore's for a date of no sense
        # Nobody reads the rest of the answer.
        if (call := current_call()) is not None:
            call.close_connection()
        raise UpstreamError(f"S3's answer cannot be parsed: {error}") from error
