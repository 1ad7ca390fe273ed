"""Work of seconds beside requests, which it may not stop for long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tornado_proxy.service.reload.collector import COLLECTOR

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


async def in_background(work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
    """Does seconds of Python work on a thread, one task at a time, without much delay for requests."""

    def quietly() -> Result:
        with COLLECTOR.paused():
            return work(*args, **kwargs)

    return await asyncio.to_thread(quietly)
