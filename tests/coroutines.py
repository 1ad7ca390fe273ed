"""Tests that are coroutines: a conftest that imports this hook runs them."""

from __future__ import annotations

import asyncio
import atexit
import inspect
from collections.abc import Coroutine
from typing import Any

import pytest

_LIMIT = 60  # seconds

# One loop for all: what a fixture keeps for several tests, connections above all, belongs to a loop.
_RUNNER = asyncio.Runner()
atexit.register(_RUNNER.close)


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns, in the loop of the tests; tasks that it leaves behind are cancelled."""

    async def bounded():
        try:
            async with asyncio.timeout(_LIMIT):
                return await coroutine
        finally:
            left = asyncio.all_tasks() - {asyncio.current_task()}
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    return _RUNNER.run(bounded())


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run a test that is a coroutine, with a limit that only a hanging one meets."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    run(pyfuncitem.obj(**arguments))
    return True
