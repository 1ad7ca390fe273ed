"""Measures whether a function of a text takes linear time, over texts that repeat one or two units."""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import permutations, product, starmap
from math import inf
from time import thread_time
from typing import NamedTuple

import pytest

SHORT, LONGER = 64, 512  # characters of the texts among which the worst are looked for
SMALLEST = 2e-5  # seconds; from shorter times, no growth can be told
KEPT = 3
SPAN = 8  # the length of a text against a part of it
# Of the times for the two: linear time gives 8, quadratic time 64. It may be more than 8 where the system gives blocks
# slowly: those of a long result come from it at each reading. A linear reader took 3.4 times as long for twice a text.
LARGEST_RATIO = 20.0
ATTEMPTS = 30
NOISE = 0.004  # seconds; a shorter time is too inaccurate for a ratio


class Text(NamedTuple):
    """A prefix, one or two units again and again, a suffix; `№` counts the units."""

    prefix: str
    units: tuple[str, ...]
    suffix: str

    def of(self, size: int) -> str:
        """The text of about this length in characters."""
        unit = "".join(self.units)
        times = range(size // len(unit))
        repeated = "".join(unit.replace("№", str(number)) for number in times) if "№" in unit else unit * len(times)
        return self.prefix + repeated + self.suffix


def texts_of(units: Sequence[str], prefixes: Sequence[str], suffixes: Sequence[str]) -> Iterator[Text]:
    """Yields the texts of each prefix, each unit or pair of units, and each suffix."""
    repeated = [*((unit,) for unit in units), *permutations(units, 2)]
    return starmap(Text, product(prefixes, repeated, suffixes))


def _cpu_time(read: Callable[[str], object], text: str) -> float:
    gc.disable()  # its time depends on what other tests keep
    start = thread_time()
    with suppress(Exception):  # a refused text counts too
        read(text)
    seconds = thread_time() - start
    gc.enable()
    return seconds


def _growing(read: Callable[[str], object], times: Iterable[tuple[float, Text]]) -> list[Text]:
    """Returns the texts whose time grows most from the short one to the longer one, whose times fall."""
    growths: list[tuple[float, Text]] = []
    for longer, text in times:
        # No text from here on can grow more; or all are read too fast, and only their time would rank them.
        if len(growths) == KEPT and (longer / SMALLEST <= growths[-1][0] or longer < SMALLEST):
            break
        growth = longer / (_cpu_time(read, text.of(SHORT)) + SMALLEST)
        growths = sorted([*growths, (growth, text)], reverse=True)[:KEPT]
    return [text for _, text in growths]


def check_linear(read: Callable[[str], object], texts: Iterable[Text], longest: int) -> None:
    """Fails if a reader takes more than 20 times as long for eight times the length of one of its worst texts.

    Those are the three slowest, and the three whose time grows most from a short text to a longer one.
    """
    times = sorted(((_cpu_time(read, text.of(LONGER)), text) for text in texts), key=lambda each: each[0], reverse=True)
    slowest = [text for _, text in times[:KEPT]]
    for text in dict.fromkeys((*_growing(read, times), *slowest)):
        part = full = inf
        for _ in range(ATTEMPTS):
            part = min(part, _cpu_time(read, text.of(longest // SPAN)))
            full = min(full, _cpu_time(read, text.of(longest)))
            if full <= max(NOISE, LARGEST_RATIO * part):
                break
        else:
            pytest.fail(f"{text.of(40)!r}: {part * 1e3:.2f} ms, {SPAN} times the length {full * 1e3:.1f} ms")
