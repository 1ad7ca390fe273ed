"""How far a long work is, or that it goes on, on one line of a terminal; nothing where no terminal shows it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tornado_proxy.cli.diagnostics import obeys

_EVERY = 0.1  # seconds
_SOON = 1.0  # seconds that nobody minds
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


@contextmanager
def activity(label: str, soon: float = _SOON) -> Iterator[None]:
    """Tell that a work goes on, of which nobody knows how far it is, and for how long it has: after a second."""
    if not obeys(sys.stderr):
        yield
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(label, soon, done), name="activity", daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(label: str, soon: float, done: threading.Event) -> None:
    begun = time.monotonic()
    if done.wait(soon):
        return
    while not done.is_set():
        print(f"{_CLEAR}{label} … {time.monotonic() - begun:.0f} s", end="", file=sys.stderr, flush=True)
        done.wait(soon)
    print(_CLEAR, end="", file=sys.stderr, flush=True)
