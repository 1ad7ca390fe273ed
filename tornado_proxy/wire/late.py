"""What is loaded at its first use, with descriptors kept for its files: clients may have taken all others."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

_MOST = 4  # of which threads may take some, e.g. to resolve a name
_KEPT: list[int] = []  # descriptors of this process
os.register_at_fork(after_in_child=_KEPT.clear)

_EXHAUSTED = (errno.EMFILE, errno.ENFILE)


def keep_descriptors() -> None:
    """Keeps a few descriptors for `late` from now on, as far as they are free."""
    with suppress(OSError):
        while len(_KEPT) < _MOST:
            _KEPT.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))


def late(load: Callable[[], T]) -> T:
    """Returns what a function loads; while no descriptor is free for its files, it is tried with a kept one."""
    try:
        while True:
            try:
                return load()
            except (OSError, ImportError) as error:
                # The dynamic linker does not say more than that it cannot open a library.
                if not _KEPT or (isinstance(error, OSError) and error.errno not in _EXHAUSTED):
                    raise
                os.close(_KEPT.pop())
    finally:
        if 0 < len(_KEPT) < _MOST:
            keep_descriptors()
