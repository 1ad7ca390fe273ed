"""Measures whether a function of a text takes linear time, over texts that repeat one or two units."""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import product
from math import inf
from time import thread_time

import pytest

MakeText = Callable[[int], str]
"""Returns a text of about this length in characters."""

SHORT, LONGER = 64, 512  # characters of the texts among which the worst are looked for
SMALLEST = 2e-5  # seconds; below that, a time says nothing about growth
KEPT = 3
SPAN = 8  # the length of a text against a part of it
# Of the times for the two: linear time gives 8, quadratic time 64. It may be more than 8 where the system gives blocks
# slowly: those of a long result come from it at each reading. A linear reader took 3.4 times as long for twice a text.
LARGEST_RATIO = 20.0
ATTEMPTS = 30
NOISE = 0.004  # seconds; a shorter time is too inaccurate for a ratio


def text_makers(units: Sequence[str], prefixes: Sequence[str], suffixes: Sequence[str]) -> Iterator[MakeText]:
    """Yields the makers of all texts: a prefix, one or two units again and again, a suffix; `№` counts the units."""
    repeated = [*units, *("".join(pair) for pair in product(units, repeat=2) if pair[0] != pair[1])]
    for prefix, unit, suffix in product(prefixes, repeated, suffixes):
        yield lambda size, p=prefix, u=unit, s=suffix: p + _repeated(u, size // len(u)) + s


def _repeated(unit: str, times: int) -> str:
    return "".join(unit.replace("№", str(number)) for number in range(times)) if "№" in unit else unit * times


def _cpu_time(read: Callable[[str], object], text: str) -> float:
    gc.disable()  # its time depends on what other tests keep
    start = thread_time()
    # A refused text counts too.
    with suppress(ValueError, Exception):
        read(text)
    seconds = thread_time() - start
    gc.enable()
    return seconds


def _growing(read: Callable[[str], object], times: Iterable[tuple[float, MakeText]]) -> list[MakeText]:
    """Returns the texts whose time grows most from the short one to the longer one, whose times fall."""
    growths: list[tuple[float, MakeText]] = []
    for longer, make_text in times:
        # No text from here on grows more, however fast its short one is read.
        if len(growths) == KEPT and longer / SMALLEST <= growths[-1][0]:
            break
        growth = longer / (_cpu_time(read, make_text(SHORT)) + SMALLEST)
        growths = sorted([*growths, (growth, make_text)], key=lambda each: each[0], reverse=True)[:KEPT]
    return [make_text for _, make_text in growths]


def check_linear(read: Callable[[str], object], texts: Iterable[MakeText], longest: int) -> None:
    """Fails if a reader takes more than 20 times as long for eight times the length of one of its worst texts.

    Those are the three slowest, and the three whose time grows most from a short text to a longer one.
    """
    times = [(_cpu_time(read, make_text(LONGER)), make_text) for make_text in texts]
    times.sort(key=lambda each: each[0], reverse=True)
    slowest = [make_text for _, make_text in times[:KEPT]]
    for make_text in dict.fromkeys((*_growing(read, times), *slowest)):
        part = full = inf
        for _ in range(ATTEMPTS):
            part = min(part, _cpu_time(read, make_text(longest // SPAN)))
            full = min(full, _cpu_time(read, make_text(longest)))
            if full <= max(NOISE, LARGEST_RATIO * part):
                break
        else:
            pytest.fail(f"{make_text(40)!r}: {part * 1e3:.2f} ms, {SPAN} times the length {full * 1e3:.1f} ms")
