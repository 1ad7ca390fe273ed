"""A process without free descriptors."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    """Opens files until no descriptor is free."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The limit is on numbers: every number below it must be taken.
    highest = max(int(entry.name) for entry in Path("/proc/self/fd").iterdir())
    opened = []
    while (number := os.open(os.devnull, os.O_RDONLY)) <= highest:
        opened.append(number)
    os.close(number)
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            os.open(os.devnull, os.O_RDONLY)
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in opened:
            os.close(descriptor)
