"""What lets requests have their turn while a generation is compiled on a thread beside them.

The interpreter's lock goes from thread to thread. A request takes it many times over, and would wait each time for as
long as the compiling thread may keep it. The collector of cyclic garbage stops everybody for as long as it takes to
look at every object; those of the rules are hundreds of thousands, and none of them is garbage.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

_TURN = 0.0005  # seconds for which a thread may keep the interpreter's lock; a tenth of Python's own choice

THAW_AFTER = 200
"""So many reloads set objects aside before all are looked at once more."""

CLIENT_WEIGHT = 20
"""A client of boto3's is megabytes of cycles: it counts as so many reloads."""

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def short_turns() -> Iterator[None]:
    """Work of some seconds on a thread, which hardly delays others; one at a time."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        sys.setswitchinterval(usual)


def in_short_turns(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a piece of work comes to, done in short turns."""
    with short_turns():
        return work(*args, **kwargs)


class Memory:
    """Sets objects that stay aside from the collector of garbage, so that it need not look at them again and again.

    What is set aside is still freed with its last reference; what only a cycle keeps alive, by the next thaw.
    """

    def __init__(self, thaw_after: int = THAW_AFTER) -> None:
        self._thaw_after = thaw_after
        self._due = thaw_after

    def __repr__(self) -> str:
        return f"<Memory, {self._due} of {self._thaw_after}>"

    def settle(self, clients: int = 0) -> None:
        """Set aside everything that is there; so many clients of buckets will have to go one day."""
        self._due += 1 + CLIENT_WEIGHT * clients
        if self._due > self._thaw_after:
            self._due = 0
            gc.unfreeze()
            gc.collect()
        gc.freeze()
