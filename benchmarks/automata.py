"""The cost of the linter's proofs: `python benchmarks/automata.py [REWRITES]` prints a line for each kind of list.

A seeded generator makes each list and knows which rewrites can be reached. The lines therefore also show how many
unreachable rewrites were found, and how many alarms were false.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice

from gotemplate.regexp.automaton import Language, language
from gotemplate.regexp.matching import FirstMatch, Pattern, compile_pattern, longest_matching_part
from gotemplate.regexp.proofs import Covered, NoKey, Unknown, overlaps, reachability

Sources = Iterator[tuple[str, bool]]
"""Sources in order, each with a flag that is true if a key can reach the rewrite."""


def site(draw: random.Random) -> Sources:
    """Yields sections with special pages before general ones, as people write them; some rewrites come too late."""
    for section in range(1_000_000):
        name = f"/{draw.choice(('press', 'docs', 'team', 'shop', 'blog'))}-{section}"
        yield rf"^{name}/(?P<year>\d{{4}})/(?P<page>[a-z0-9-]+)\.html$", True
        yield rf"^{name}/(?P<page>[^/]+)\.(?:html?|php)$", True
        yield rf"(?i)^{name}/img/(?P<file>.+\.(?:png|jpe?g|gif))$", True
        yield rf"^{name}/(?P<dir>\w+)/$", True
        yield rf"^{name}/(?P<rest>.*)$", True
        if section % 4 == 0:
            yield rf"^{name}/index\.html$", False


def late(_: random.Random) -> Sources:
    """Yields one rewrite that matches every key, and then all others."""
    yield "^/", True
    for number in range(1_000_000):
        yield rf"^/page-{number}/(?P<rest>[^/]+)\.html$", False


def together(_: random.Random) -> Sources:
    """Yields rewrites that several earlier ones cover only together, and rewrites that these leave a gap for."""
    for number in range(1_000_000):
        yield rf"^/{number}/[a-m]", True
        yield rf"^/{number}/[n-z]", True
        yield rf"^/{number}/[0-9]{{2,}}$", True
        yield rf"^/{number}/(?:[a-z]+|\d{{3,4}})$", False
        yield rf"^/{number}/(?:[a-z]+|\d{{1,4}})$", True


def unanchored(draw: random.Random) -> Sources:
    """Yields words that match anywhere in a key."""
    for number in range(1_000_000):
        yield rf"{draw.choice(('page', 'note', 'item'))}-{number:06}/", True


def unicode(_: random.Random) -> Sources:
    """Yields scripts and categories instead of ASCII."""
    for number in range(1_000_000):
        yield rf"^/{number}/\p{{Greek}}+/(?i:straße|ärger)$", True
        yield rf"^/{number}/\pL+/", True
        yield rf"^/{number}/\p{{Lu}}+/\pN", False


def exploding(_: random.Random) -> Sources:
    """Yields expressions whose deterministic automata are too large to be built."""
    for number in range(1_000_000):
        yield rf"a.{{{10 + number % 90}}}b.{{3}}{number}c", True
        yield rf"^/{number}/.*[ab].{{12}}$", True
        yield rf"^/{number}/.*[ab].{{12}}$", False


def measure(make: Callable[[random.Random], Sources], size: int) -> None:
    sources = list(islice(make(random.Random(1)), size))
    first = FirstMatch([compile_pattern(text) for text, _ in sources])
    started = time.process_time()
    languages = [language(text) for text, _ in sources]
    parsed = time.process_time()
    reaches = reachability(languages, lambda key: match[0] if (match := first.find(key)) else None)
    reached = time.process_time()
    alarms = [isinstance(reach, Covered | NoKey) for reach in reaches]
    unreachable = sum(not reachable for _, reachable in sources)
    print(
        f"{make.__name__:11} read {parsed - started:5.2f} s   reachability {reached - parsed:5.2f} s   "
        f"found {sum(alarm and not reachable for alarm, (_, reachable) in zip(alarms, sources, strict=True))}"
        f" of {unreachable}, false alarms "
        f"{sum(alarm and reachable for alarm, (_, reachable) in zip(alarms, sources, strict=True))}, "
        f"open {sum(isinstance(reach, Unknown) for reach in reaches)}"
    )
    measure_pairs(languages, [compile_pattern(text) for text, _ in sources])


def measure_pairs(languages: list[Language], patterns: list[Pattern]) -> None:
    started = time.process_time()
    pairs = sum(1 for _ in overlaps(languages, lambda index, key: patterns[index].search(key) is not None))
    paired = time.process_time()
    for expression in languages:
        longest_matching_part(expression.text, "/press-17/2024/a-page-of-some-length.html")
    explained = time.process_time()
    print(f"{'':11} {pairs} pairs in {paired - started:.2f} s   explained in {explained - paired:.2f} s")


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for make in (site, late, together, unanchored, unicode, exploding):
        measure(make, count)
