"""The garbage collector, switched off to see what needs it."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collector() -> Iterator[None]:
    """Lets objects go only as references to them do; what is left before is collected."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
