"""A process without free descriptors."""

import itertools
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def no_descriptor_left() -> Iterator[list[int]]:
    """Opens files until no descriptor is free; gives theirs, at least two, which may be closed and taken from the list."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The limit is on numbers: every number below it must be taken.
    highest = max(int(entry.name) for entry in Path("/proc/self/fd").iterdir())
    opened: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 3, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            opened.extend(os.open(os.devnull, os.O_RDONLY) for _ in itertools.count())
        yield opened
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in opened:
            os.close(descriptor)
