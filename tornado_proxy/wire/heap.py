"""The heap of the C library, which keeps what Python frees."""

from __future__ import annotations

import ctypes


def trim_heap() -> None:
    """Returns free memory to the system, where the C library is glibc: others have no such function.

    It would lie between what is in use. With many clients this takes long, and stops all threads that ask for memory.
    """
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)
