"""Sources that are made to be slow: each is refused at load, or found in any key within a few milliseconds."""

import random
import time

import pytest

from gotemplate.regexp.matching import compile_source
from gotemplate.regexp.syntax import PatternError

# The limit of a search in seconds. It takes 20 ms at most on an idle machine, and longer on a loaded one.
SLOWEST = 0.1
COUNTS = (10, 100, 300, 1000)
FAMILIES = {
    "optional places": "(?:a?){{{n}}}a{{{n}}}",
    "a distance": "a.{{{n}}}b",
    "a distance in a group": "(a.{{{n}}})b",
    "optional word characters": r"(?:\w?){{{n}}}b",
    "letters": r"\pL{{{n}}}",
    "optional letters": r"(?:\pL?){{{n}}}1",
    "segments": "^/(?:[^/]{{1,{n}}}/?)*$",
    "runs within runs": "((?:.*a){{{n}}})",
    "an exact length": "^.{{1,{n}}}$",
}
REPEATED = {
    "optional groups": "(a?)",
    "groups of anything": "(.?)",
    "words": r"(\w+)\W+",
    "nested repetitions": "(?:a*b?)*",
    "named segments": "/([^/]*)",
}


def _keys():
    """Yields keys of 1,024 bytes that make an automaton work: one letter, two letters in any order, long characters."""
    draw = random.Random(7)
    yield from ("/" + unit * (1023 // len(unit.encode())) for unit in ("a", "ab", "aé", "/", "é中", "a/", "\U00010d50"))
    yield from ("/" + "".join(draw.choice(letters) for _ in range(1023)) for letters in ("ab", "abc/."))
    yield "/" + "".join(draw.choice("aé中/\U00010d50") for _ in range(400))


KEYS = tuple(_keys())


def _slowest_search(source):
    """Returns the processor's seconds for the slowest first search of an accepted source, or None for a refused one."""
    try:
        pattern = compile_source(source)
    except PatternError:
        return None
    times = []
    for key in KEYS:
        started = time.thread_time()
        pattern.search(key)
        times.append(time.thread_time() - started)
    return max(times)


def _sources():
    yield from (form.format(n=count) for form in FAMILIES.values() for count in COUNTS)
    yield from (unit * count for unit in REPEATED.values() for count in COUNTS)
    draw = random.Random(11)
    units = ("a?", ".*", "(.?)", "(a|b)", "[^/]*", r"\w+", "(?:ab?)*", r"\pL", "/", "$", r"\b", "a{40}", ".{1,60}")
    yield from ("".join(draw.choice(units) for _ in range(draw.randrange(5, 120))) for _ in range(60))


@pytest.mark.parametrize("source", [*_sources()], ids=lambda source: source[:20])
def test_a_source_is_refused_or_fast(source):
    """The limits of a source bound the time of every search, even of the first one."""
    # Of three measurements, the machine may disturb two.
    assert any(seconds is None or seconds < SLOWEST for seconds in (_slowest_search(source) for _ in range(3)))
