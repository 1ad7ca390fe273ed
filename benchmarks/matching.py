"""The cost of finding the first rewrite that matches: `python benchmarks/matching.py [KEYS]`.

It compares three ways on the same lists and keys: one pass of an `re2.Set`, as in the service; patterns of google-re2
in order; and patterns of Python's `re` in order. Times are microseconds per key, as medians of rounds. The
ratios can be compared between machines.
"""

from __future__ import annotations

import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence

from gotemplate.regexp.matching import FirstMatch, Pattern, compile_pattern

ROUNDS = 7
SIZES = (1, 10, 100, 1_000, 10_000)

Search = Callable[[str], object]


def sources(count: int) -> list[str]:
    """Returns sources of moved pages as on a real site: sections, named groups, and a file at the end."""
    return [rf"^/section{number % 100}/(?P<page>[^/]+)/moved-{number}\.html$" for number in range(count)]


def keys(count: int) -> list[str]:
    """Returns keys for the first, the middle and the last rewrite, and two without a match."""
    moved = [f"/section{number % 100}/about/moved-{number}.html" for number in (0, count // 2, count - 1)]
    return [*moved, "/assets/site.css", "/section1/about/kept.html"]


def in_order(patterns: Sequence[Pattern]) -> Search:
    """Returns a search that tries the patterns one after another."""

    def find(key: str) -> object:
        return next((match for pattern in patterns if (match := pattern.search(key)) is not None), None)

    return find


def in_order_by_re(texts: Sequence[str]) -> Search:
    """Returns the same search with Python's engine, which backtracks."""
    patterns = [re.compile(text) for text in texts]

    def find(key: str) -> object:
        return next((match.groups() for pattern in patterns if (match := pattern.search(key)) is not None), None)

    return find


def microseconds(search: Search, searched_keys: Sequence[str], times: int) -> float:
    """Returns the median time of one search."""
    for key in searched_keys:
        search(key)
    rounds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(times):
            for key in searched_keys:
                search(key)
        rounds.append((time.perf_counter() - began) / times / len(searched_keys) * 1e6)
    return statistics.median(rounds)


def main() -> None:
    """Prints a line for each length of list."""
    repeat = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(
        f"{'rewrites':>8} {'load ms':>9} {'set µs':>9} {'in order µs':>12} {'re µs':>9} {'order/set':>10} {'re/set':>7}"
    )
    for size in SIZES:
        texts, searched_keys = sources(size), keys(size)
        began = time.perf_counter()
        patterns = [compile_pattern(text) for text in texts]
        first_match = FirstMatch(patterns)
        load = (time.perf_counter() - began) * 1e3
        slow_repeat = max(1, repeat // (10 * size))
        one_set = microseconds(first_match.find, searched_keys, repeat)
        ordered = microseconds(in_order(patterns), searched_keys, slow_repeat)
        by_re = microseconds(in_order_by_re(texts), searched_keys, slow_repeat)
        print(
            f"{size:8} {load:9.1f} {one_set:9.2f} {ordered:12.2f} {by_re:9.2f} "
            f"{ordered / one_set:10.1f} {by_re / one_set:7.1f}"
        )


if __name__ == "__main__":
    main()
