"""Threads beside the event loop: work that leaves requests their turn, calls that may hang, and the process's end."""

from __future__ import annotations

import gc
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

_SWITCH_INTERVAL = 0.0005  # seconds that a thread may keep the interpreter's lock; a tenth of Python's default
_PATIENCE = 0.5  # seconds in which idle threads end

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def background_work() -> Iterator[None]:
    """Seconds of Python work on a thread, with little delay for requests; one at a time.

    Both settings belong to the whole process. A request on the loop takes the interpreter's lock many times, and each
    time waits for the switch interval while the other thread computes: 5 ms each time by default. Compiling rules
    makes hundreds of thousands of objects that stay, so the collector would run again and again, find nothing, and
    stop every thread meanwhile.
    """
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
