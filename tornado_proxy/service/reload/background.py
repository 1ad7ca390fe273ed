"""Work of seconds beside requests, which neither it nor the garbage collector may stop for long."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

THAW_AFTER = 200
"""Reloads after which the collector looks at every object once more."""

CLIENT_WEIGHT = 20
"""A boto3 client is megabytes of cycles: a new one counts as this many reloads."""

_SWITCH_INTERVAL = 0.0005  # seconds that a thread may keep the interpreter's lock; a tenth of Python's default

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Collector:
    """The policy of the garbage collector, which belongs to the whole process: it never stops requests for long.

    It is off during work in the background, and does not look at the objects of a generation in force, which are
    hundreds of thousands. A frozen object is still freed with its last reference; one that only a cycle keeps alive is
    freed at the next thaw.
    """

    def __init__(self, thaw_after: int = THAW_AFTER) -> None:
        self._turn = threading.Lock()
        self._thaw_after = thaw_after
        self._due: int | None = None  # reloads since the last thaw; None before the first freeze

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Waits for other work in the background; then there are no collections, and threads take short turns.

        A request on the loop takes the interpreter's lock many times, and each time waits for the switch interval while
        the other thread computes: 5 ms each time by default. Compiled rules stay, so that the collector would run again
        and again, find nothing, and stop every thread meanwhile.
        """
        with self._turn:
            usual, collects = sys.getswitchinterval(), gc.isenabled()
            sys.setswitchinterval(_SWITCH_INTERVAL)
            gc.disable()
            try:
                yield
            finally:
                if collects:
                    gc.enable()
                sys.setswitchinterval(usual)

    def freeze(self, new_clients: int = 0) -> None:
        """Hides all living objects from the collector; each new S3 client brings the next thaw nearer."""
        if self._due is None:
            # A forked worker starts with frozen objects; a look at them would copy memory that it shares.
            self._due = 0 if gc.get_freeze_count() else self._thaw_after
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


COLLECTOR = Collector()


async def in_background(work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
    """Does seconds of Python work on a thread, one task at a time, without much delay for requests."""

    def quietly() -> Result:
        with COLLECTOR.paused():
            return work(*args, **kwargs)

    return await asyncio.to_thread(quietly)
