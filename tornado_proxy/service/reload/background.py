"""Work of seconds beside requests, which it may not stop for long."""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tornado_proxy.service.reload.collector import COLLECTOR

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


async def in_background(work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
    """Does seconds of Python work on a thread, one task at a time, without much delay for requests.

    What it freed goes back to the system: glibc would keep it, 3 MiB after a start.
    """

    def quietly() -> Result:
        with COLLECTOR.paused():
            try:
                return work(*args, **kwargs)
            finally:
                if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
                    trim(0)

    return await asyncio.to_thread(quietly)
