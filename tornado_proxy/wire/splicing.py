"""Bytes that the kernel moves from one socket to another, so that this process copies nothing (splice(2))."""

from __future__ import annotations

import asyncio
import os
from weakref import WeakKeyDictionary

CAN_SPLICE = hasattr(os, "splice")
"""Whether the system has it: Linux has."""

# Bytes that are moved at once: as many as a pipe holds (pipe(7)). Larger pipes took more CPU time, and what the second
# socket does not take is copied after all.
_STEP = 64 * 1024


class _Pipe:
    """The pipe that the kernel wants between two sockets; empty except within `splice`."""

    def __init__(self, end: int, beginning: int) -> None:
        self.end = end
        self.beginning = beginning

    def __del__(self) -> None:
        os.close(self.end)
        os.close(self.beginning)


# One for each loop: nothing else runs in its thread until the pipe is empty again.
_PIPES: WeakKeyDictionary[asyncio.AbstractEventLoop, _Pipe] = WeakKeyDictionary()


def splice(received: memoryview, source: int, most: int, target: int) -> tuple[int, bytes]:
    """Writes bytes to a socket, then at most `most` of those that have arrived at another one, as long as it takes all.

    Returns how many were taken from the other socket, and all that were not written. Neither socket may block; an error
    is left to the next who uses it.
    """
    taken = waiting = 0
    try:
        written = os.write(target, received)
    except OSError:
        written = 0
    if written < len(received):
        return 0, bytes(received[written:])
    try:
        pipe = _pipe()
        while taken < most and not waiting:
            waiting = os.splice(source, pipe.beginning, min(_STEP, most - taken), flags=os.SPLICE_F_NONBLOCK)
            if not waiting:
                break
            taken += waiting
            waiting -= os.splice(pipe.end, target, waiting, flags=os.SPLICE_F_NONBLOCK)
    except OSError:
        pass
    return taken, os.read(pipe.end, waiting) if waiting else b""


def _pipe() -> _Pipe:
    loop = asyncio.get_running_loop()
    if loop not in _PIPES:
        _PIPES[loop] = _Pipe(*os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC))
    return _PIPES[loop]
