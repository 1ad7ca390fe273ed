"""Work on many items by all processors, its results in order.

Workers are forked, so that they inherit items and compiled rules as they are; only results travel.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_WORTH_IT = 20_000
"""Items below which starting workers takes longer than they save."""

_PORTION = 5_000

_inherited: tuple[Callable[[Sequence[Any]], Any], Sequence[Any]] = (len, ())
"""The work and all items, set for as long as workers are being forked."""


def in_portions(
    work: Callable[[Sequence[Item]], Result],
    items: Sequence[Item],
    progress: Callable[[float], None],
    workers: int | None = None,
) -> Iterator[Result]:
    """What `work` makes of each portion of the items, in order; `progress` hears what part is done, from 0 to 1.

    `workers` is how many there are; left out, as many as processors, and none for few items.
    """
    starts = range(0, len(items), _PORTION)
    if workers is None:
        workers = len(os.sched_getaffinity(0)) if len(items) >= _WORTH_IT else 1
    done = (work(items[start : start + _PORTION]) for start in starts)
    for number, result in enumerate(done if workers < 2 else _forked(work, items, starts, workers), start=1):
        yield result
        progress(number / len(starts))


def _forked(
    work: Callable[[Sequence[Item]], Result], items: Sequence[Item], starts: Sequence[int], workers: int
) -> Iterator[Result]:
    import multiprocessing  # noqa: PLC0415 - 20 ms that few items need not wait for
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - the same

    global _inherited  # noqa: PLW0603 - what forked workers share has to stand where they find it
    context = multiprocessing.get_context("fork")
    _inherited = (work, items)
    try:
        with ProcessPoolExecutor(workers, context, initializer=_leave_interrupts) as pool:
            yield from pool.map(_portion, starts)
    finally:
        _inherited = (len, ())


def _leave_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal; the one that started the others ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _portion(start: int) -> Any:
    work, items = _inherited
    return work(items[start : start + _PORTION])
