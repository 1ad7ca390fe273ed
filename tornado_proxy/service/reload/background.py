"""Work in the background, and the garbage collector: neither may stop requests for long."""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

THAW_AFTER = 200  # reloads after which the collector looks at every object once more
CLIENT_WEIGHT = 20  # a boto3 client is megabytes of cycles: a new one counts as this many reloads

_MIDDLE, _OLDEST = 1, 2  # generations of objects; a collection of the oldest looks at all
_NEVER = 1 << 30  # collections of the others
_GROWTH = 1.25
_AT_LEAST_EVERY = 600.0  # seconds


_SWITCH_INTERVAL = 0.0005  # seconds that a thread may keep the interpreter's lock; a tenth of Python's default
_TURN = threading.Lock()


async def in_background(work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
    """Does seconds of Python work on a thread, one task at a time, without much delay for requests."""
    return await asyncio.to_thread(_undisturbed()(work), *args, **kwargs)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Waits for other work in the background; then there are no collections, and threads take short turns.

    A request on the loop takes the interpreter's lock many times, and each time waits for the switch interval while the
    other thread computes: 5 ms each time by default. Compiled rules stay, so that the collector would run again and
    again, find nothing, and stop every thread meanwhile.
    """
    with _TURN:
        usual, collects = sys.getswitchinterval(), gc.isenabled()
        sys.setswitchinterval(_SWITCH_INTERVAL)
        gc.disable()
        try:
            yield
        finally:
            if collects:
                gc.enable()
            sys.setswitchinterval(usual)


async def comes_within(event: asyncio.Event, seconds: float | None) -> bool:
    """Waits for an event, for some seconds at most; returns whether it came, and clears it."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    event.clear()
    return True


def _peak_memory() -> int:
    """Returns the most memory that the process has had, in KiB: garbage that fits into it need not be searched for."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Collector:
    """The policy of the garbage collector, which belongs to the whole process: it never stops requests for long.

    It does not look at the objects of a generation in force, which are hundreds of thousands. A frozen object is still
    freed with its last reference; one that only a cycle keeps alive is freed at the next thaw.
    """

    def __init__(self, thaw_after: int = THAW_AFTER, memory: Callable[[], int] = _peak_memory) -> None:
        self._memory = memory
        self._thaw_after = thaw_after
        self._due = 0  # reloads since the last thaw
        self._limit = 0.0  # memory beyond which all objects are looked at
        self._until = 0.0  # when that is done anyway

    def defer(self) -> None:
        """Looks at all objects only once the process has grown by a quarter, or after ten minutes.

        CPython up to 3.13 looks at all of them whenever enough have lived for a while. Each slow client has some that
        come and go at its pace, so with ten thousand clients all requests would stop for half a second every few
        seconds, to free nothing.
        """
        if self._check not in gc.callbacks:
            gc.callbacks.append(self._check)
        self._wait()

    def _check(self, phase: str, info: dict[str, Any]) -> None:
        """Called by Python before and after each collection."""
        if phase == "start":
            return
        if info["generation"] == _OLDEST:
            self._wait()
        elif info["generation"] == _MIDDLE and (self._memory() > self._limit or time.monotonic() > self._until):
            _look_at_all_after(0)

    def _wait(self) -> None:
        self._limit, self._until = _GROWTH * self._memory(), time.monotonic() + _AT_LEAST_EVERY
        _look_at_all_after(_NEVER)

    def freeze(self, new_clients: int = 0) -> None:
        """Hides all living objects from the collector; each new S3 client brings the next thaw nearer."""
        self._due += 1 + CLIENT_WEIGHT * new_clients
        if self._due > self._thaw_after:
            self._due = 0
            gc.unfreeze()
            gc.collect()
        gc.freeze()

    @staticmethod
    def freeze_to_fork() -> None:
        """Hides the objects that are in use: a collection in a child would write to each, and so copy shared memory."""
        gc.collect()
        gc.freeze()


def _look_at_all_after(collections: int) -> None:
    youngest, middle, _ = gc.get_threshold()
    gc.set_threshold(youngest, middle, collections)


COLLECTOR = Collector()
