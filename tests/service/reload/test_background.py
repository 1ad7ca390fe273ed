"""Compilation in the background of requests."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import sys
import threading
from pathlib import Path

import pytest

from tornado_proxy.service.reload.background import in_background


async def test_background_work_has_short_turns():
    """During the work, the switch interval of threads is short and the garbage collector is off."""
    default_interval = sys.getswitchinterval()
    assert await in_background(lambda: (sys.getswitchinterval() < default_interval, gc.isenabled())) == (True, False)
    assert (sys.getswitchinterval(), gc.isenabled()) == (default_interval, True)


async def test_a_collector_that_is_off_stays_off():
    """Background work leaves the collector as it found it."""
    gc.disable()
    try:
        await in_background(int)
        assert not gc.isenabled()
    finally:
        gc.enable()


def _resident() -> int:
    """Returns the bytes of memory that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="glibc keeps what was freed")
async def test_the_system_gets_what_the_work_freed():
    """Freed blocks below one that is in use are no longer part of the process; glibc itself would keep them."""
    blocks = [bytes(2000) for _ in range(20_000)]
    before = _resident()

    def free() -> None:
        del blocks[:-1]

    await in_background(free)
    assert before - _resident() > 20_000_000


async def test_a_failure_restores_the_settings():
    """After an exception, the switch interval and the garbage collector are as before."""
    default_interval = sys.getswitchinterval()
    with pytest.raises(ValueError, match="broken"):
        await in_background(int, "broken")
    assert (sys.getswitchinterval(), gc.isenabled()) == (default_interval, True)


async def test_background_work_runs_one_at_a_time():
    """Two tasks never run at once, since each restores the settings that it found."""
    barrier = threading.Barrier(2)

    def wait_for_the_other() -> bool:
        try:
            barrier.wait(0.2)
        except threading.BrokenBarrierError:
            return False
        return True

    assert await asyncio.gather(in_background(wait_for_the_other), in_background(wait_for_the_other)) == [False, False]
