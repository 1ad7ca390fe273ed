"""Tests that are coroutines: a conftest that imports this hook runs them."""

from __future__ import annotations

import asyncio
import inspect

import pytest

_LIMIT = 60  # seconds


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run a test that is a coroutine, in a loop of its own, with a limit that only a hanging one meets."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}

    async def limited():
        async with asyncio.timeout(_LIMIT):
            await pyfuncitem.obj(**arguments)

    asyncio.run(limited())
    return True
