"""Work in the background, which may not stop requests for long."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from tornado_proxy.service.limits import FIRST_PAUSE, LONGEST_PAUSE, SWITCH_INTERVAL

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_LOG = logging.getLogger("tornado_proxy")

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
        sys.setswitchinterval(SWITCH_INTERVAL)
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


async def guarded(
    name: str, work: Callable[[], Awaitable[None]], note: Callable[[Exception], None] = lambda _error: None
) -> None:
    """Does work beside the requests to its end; after a defect, which is logged and noted, it is begun again."""
    pause = FIRST_PAUSE
    while True:
        began = time.monotonic()
        try:
            return await work()
        except Exception as error:  # noqa: BLE001 - no defect of ours may end the service
            _LOG.exception("%s failed: it is begun again in %g s", name, pause)
            note(error)
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE) if time.monotonic() - began < 2 * LONGEST_PAUSE else FIRST_PAUSE
