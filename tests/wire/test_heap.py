from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest

from tornado_proxy.wire.heap import trim_heap


def _resident() -> int:
    """Returns the bytes of memory that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="glibc keeps what was freed")
def test_the_system_gets_what_was_freed():
    """Freed blocks below one that is in use are no longer part of the process; glibc itself would keep them."""
    blocks = [bytes(2000) for _ in range(20_000)]
    before = _resident()
    del blocks[:-1]
    trim_heap()
    assert before - _resident() > 20_000_000
