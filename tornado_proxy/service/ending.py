"""The end of a process, which no thread that hangs in a call may hold up."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

_PATIENCE = 0.5  # seconds in which idle threads end


class Unawaited(ThreadPoolExecutor):
    """Threads for calls that may hang, such as those into a file system: the end of an event loop waits for none."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - as it is
        """Let those end that can."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)


def end_process(status: int) -> int:
    """The exit status to end with; ends at once where the interpreter would wait for a thread.

    A thread cannot be stopped, and one that waits for a bucket may do so for minutes after all answers are given.
    """
    if hanging_threads(_PATIENCE):
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


def hanging_threads(patience: float) -> list[str]:
    """The names of the threads that the interpreter would wait for, and that do not end within so many seconds."""
    mine = threading.current_thread()
    others = [each for each in threading.enumerate() if each is not mine and not each.daemon]
    end = time.monotonic() + patience
    for each in others:
        each.join(max(0.0, end - time.monotonic()))
    return [each.name for each in others if each.is_alive()]
