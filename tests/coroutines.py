"""Hooks of pytest that run tests which are coroutines; the conftest of all tests imports them."""

import asyncio
import inspect
from collections.abc import Coroutine
from typing import Any

import pytest

_LIMIT = 60  # seconds

# One loop for all tests: the connections that a fixture keeps for several tests belong to a loop.
_RUNNER = asyncio.Runner()


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Runs a coroutine in the loop of the tests and returns its result; cancels the tasks that it leaves behind."""

    async def bounded():
        try:
            async with asyncio.timeout(_LIMIT):
                return await coroutine
        finally:
            remaining = asyncio.all_tasks() - {asyncio.current_task()}
            for task in remaining:
                task.cancel()
            await asyncio.gather(*remaining, return_exceptions=True)

    return _RUNNER.run(bounded())


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Runs a test that is a coroutine, with a limit that only a hanging test reaches."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    run(pyfuncitem.obj(**arguments))
    return True


def pytest_unconfigure():
    """Closes the loop: at the exit of the interpreter, Python 3.12 begins no thread."""
    _RUNNER.close()
