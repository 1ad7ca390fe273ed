"""Reads a file whole, never more of it than is allowed, and never waiting for one that is none."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read_file(path: Path, largest: int, *, regular: bool) -> bytes:
    """The bytes of a file, at most `largest`; raises `OSError`, also where there are more.

    With `regular` it must be a regular file, so that it can be read again and again: a pipe would be waited for, with
    all that waits for the reader.
    """
    with open(path, "rb", opener=_at_once if regular else None) as file:
        if regular and not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "it is no regular file", str(path))
        data = file.read(largest + 1)
    if len(data) > largest:
        raise OSError(0, f"it is larger than {largest} bytes", str(path))
    return data


def _at_once(path: str, flags: int) -> int:
    """Open it without waiting for whoever may write into it."""
    return os.open(path, flags | os.O_NONBLOCK)
