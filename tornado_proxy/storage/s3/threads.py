"""The threads that make blocking calls for an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from tornado_proxy.storage.errors import Unreachable

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """The threads of one store, no more than so many, begun as they are needed.

    They end when they are closed, or when nobody holds this any more.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._executor = ThreadPoolExecutor(count, thread_name_prefix="s3")

    @classmethod
    def ended(cls) -> Threads:
        """Threads that make no call any more."""
        made = cls(1)
        made.close()
        return made

    def submit(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a call made, and do not wait for it; a future of this kind outlives a task that is cancelled."""
        try:
            return self._executor.submit(call, *args, **kwargs)
        except RuntimeError as error:
            raise Unreachable("the threads that call S3 have ended") from error

    async def run(self, call: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
        """What a call returns or raises.

        A thread cannot be stopped: if the caller is cancelled meanwhile, `undo` gets what the call will return, in
        the thread that made it, so that nothing it opened stays open.
        """
        future = self.submit(call)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if undo is not None:
                future.add_done_callback(lambda done: _undo(done, undo))
            raise

    def close(self, *, wait: bool = True) -> None:
        """End the threads, once the calls that are being made have returned; wait for that, or leave it to them."""
        self._executor.shutdown(wait=wait, cancel_futures=not wait)


def _undo(done: Future[T], undo: Callable[[T], object]) -> None:
    """Undo a call that came to something."""
    if not done.cancelled() and done.exception() is None:
        undo(done.result())
