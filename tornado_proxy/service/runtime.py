"""Python itself, set up for a server: the event loop, the garbage collector, threads, descriptors, and the end."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, Literal, ParamSpec, TypeVar

THAW_AFTER = 200
"""Reloads after which the collector looks at every object once more."""

CLIENT_WEIGHT = 20
"""A boto3 client is megabytes of cycles: a new one counts as this many reloads."""

_SWITCH_INTERVAL = 0.0005  # seconds that a thread may keep the interpreter's lock; a tenth of Python's default
_PATIENCE = 0.5  # seconds in which idle threads end

_background = threading.Lock()

P = ParamSpec("P")
T = TypeVar("T")


def run_event_loop(main: Coroutine[Any, Any, None], choice: Literal["auto", "asyncio", "uvloop"]) -> None:
    """Runs a coroutine on a new event loop; raises `NoEventLoop`."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if choice != "asyncio":
        try:
            import uvloop  # noqa: PLC0415 - not installed everywhere, and not wanted by everyone

            factory = uvloop.new_event_loop
        except ImportError as error:
            if choice == "uvloop":
                main.close()
                raise NoEventLoop("`server.eventLoop` is `uvloop`, which is not installed") from error
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main)


class NoEventLoop(Exception):
    """The configured event loop is not installed."""


class CannotServe(Exception):
    """A worker ended before it served, or the fork server ended."""


@contextmanager
def background_work() -> Iterator[None]:
    """Seconds of Python work on a thread, with little delay for requests; a second one waits for the first.

    Both settings belong to the whole process. A request on the loop takes the interpreter's lock many times, and each
    time waits for the switch interval while the other thread computes: 5 ms each time by default. Compiling rules
    makes hundreds of thousands of objects that stay, so the collector would run again and again, find nothing, and
    stop every thread meanwhile.
    """
    with _background:
        usual = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_INTERVAL)
        gc.disable()
        try:
            yield
        finally:
            gc.enable()
            sys.setswitchinterval(usual)


def in_background(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls a function as background work; returns its result."""
    with background_work():
        return work(*args, **kwargs)


class GcFreezer:
    """Hides long-lived objects from the garbage collector, which would otherwise scan them in every full collection.

    The compiled rules are hundreds of thousands of objects, and a full collection stops every request while it looks at
    them. A frozen object is still freed with its last reference; one that only a cycle keeps alive is freed at the next
    thaw.
    """

    def __init__(self, thaw_after: int = THAW_AFTER) -> None:
        self._thaw_after = thaw_after
        # A forked worker starts with frozen objects; to look at them would copy the pages that it shares with others.
        self._due = 0 if gc.get_freeze_count() else thaw_after

    def __repr__(self) -> str:
        return f"<GcFreezer, {self._due} of {self._thaw_after}>"

    def freeze(self, new_clients: int = 0) -> None:
        """Freezes everything alive, and has the collector run; each new S3 client brings the next thaw nearer."""
        self._due += 1 + CLIENT_WEIGHT * new_clients
        if self._due > self._thaw_after:
            self._due = 0
            gc.unfreeze()
            gc.collect()
        gc.freeze()
        gc.enable()  # a service starts without it


class DetachedExecutor(ThreadPoolExecutor):
    """Threads for calls that may hang, such as those into a file system: the end of an event loop waits for none."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - the base's signature
        """Ends idle threads; does not wait for the others."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)


def end_process(status: int) -> int:
    """Returns the exit status, or ends the process at once where the interpreter would wait for a thread.

    A thread cannot be stopped, and one that waits for a bucket may do so for minutes after all answers are given.
    """
    if hanging_threads(_PATIENCE):
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


def hanging_threads(patience: float) -> list[str]:
    """The names of the non-daemon threads that do not end within `patience` seconds."""
    mine = threading.current_thread()
    others = [each for each in threading.enumerate() if each is not mine and not each.daemon]
    end = time.monotonic() + patience
    for each in others:
        each.join(max(0.0, end - time.monotonic()))
    return [each.name for each in others if each.is_alive()]


def raise_descriptor_limit() -> None:
    """Lets the process open as many descriptors as its hard limit permits, as programs in Go do.

    The soft limit is often 1024, for the sake of select(2), and a client may need a connection to S3 besides its own.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # the kernel may permit less than the hard limit (fs.nr_open)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
