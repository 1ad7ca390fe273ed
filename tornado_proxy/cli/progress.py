"""How far a long work is, on one line of a terminal; nothing where no terminal shows it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tornado_proxy.cli.diagnostics import obeys

_EVERY = 0.1  # seconds
_WIDTH = 30  # columns of the bar
_CLEAR = "\r\x1b[K"


@contextmanager
def progress(label: str, clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[float], None]]:
    """Show a bar while the block runs; what it is given hears what part of the work is done, from 0 to 1."""
    if not obeys(sys.stderr):
        yield lambda _: None
        return
    shown_at = clock()

    def show(part: float) -> None:
        nonlocal shown_at
        now = clock()
        if now - shown_at >= _EVERY:
            shown_at = now
            full = round(part * _WIDTH)
            bar = "█" * full + "░" * (_WIDTH - full)
            print(f"{_CLEAR}{label} {bar} {part:4.0%}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        print(_CLEAR, end="", file=sys.stderr, flush=True)
