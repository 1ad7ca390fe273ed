import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.rules.matching import FirstMatch
from tornado_proxy.rules.patterns import compile_pattern

SOURCES = [
    "^/a",
    "^/a/(?P<rest>.*)$",
    "b$",
    r"\B",
    r"(?i)É",
    r"^/[^/]+/\d{2,}",
    "(x*)*y",
    "^$",
    r"\pL\PL",
    "a|b|",
    "(?:ab){3}",
]
KEYS = st.text(st.sampled_from("/abéÉ中x1 y"), max_size=12)


def _one_by_one(patterns, key):
    """What the sets are held to: the first pattern that matches, found as it says."""
    for index, pattern in enumerate(patterns):
        captures = pattern.search(key)
        if captures is not None:
            return index, captures
    return None


@given(st.lists(st.sampled_from(SOURCES), max_size=8), KEYS)
def test_one_set_several_sets_and_no_set_agree_with_the_naive_loop(sources, key):
    """However the patterns are spread, the first that matches is found with the same captures."""
    patterns = [compile_pattern(source) for source in sources]
    expected = _one_by_one(patterns, key)
    assert FirstMatch(patterns).find(key) == expected
    assert FirstMatch(patterns, instructions=40).find(key) == expected
    assert FirstMatch(patterns, memory=1).find(key) == expected


def test_ten_thousand_patterns_are_searched_at_once():
    """The first of ten thousand that matches is found, and nothing where none does."""
    first_match = FirstMatch([compile_pattern(f"^/old/{number}/(.*)$") for number in range(10_000)])
    found = first_match.find("/old/9999/page.html")
    assert found is not None
    assert (found[0], found[1].groups[1]) == (9999, "page.html")
    assert first_match.find("/new/1/page.html") is None


def test_no_pattern_matches_nothing():
    """An empty list is a list."""
    assert FirstMatch([]).find("/a") is None


def test_a_key_that_is_not_unicode_is_searched_as_well():
    """It is read as the patterns read it."""
    assert FirstMatch([compile_pattern("x"), compile_pattern("^/.$")]).find("/\udcff") is not None


class _Exhausted:
    """A set that has run out of memory: it answers nothing, not even the pattern that matches every key."""

    def Match(self, text):  # noqa: N802 - RE2's name
        return None


@pytest.mark.parametrize(("key", "index"), [("/ab", 1), ("/c", None)])
def test_a_set_without_memory_to_read_on_is_done_without(key, index):
    """The patterns are tried one by one, with the same answer."""
    first_match = FirstMatch([compile_pattern("^/x"), compile_pattern("^/a")])
    (portion,) = first_match._portions
    portion._set = _Exhausted()
    found = first_match.find(key)
    assert (found and found[0]) == index


@given(st.lists(st.sampled_from(SOURCES), max_size=6), st.lists(st.sampled_from(SOURCES), max_size=6), KEYS)
def test_what_is_known_finds_what_is_found_without_it(sources, others, key):
    """Portions taken over from another list are those of this list."""
    patterns = [compile_pattern(source) for source in sources]
    known = FirstMatch([compile_pattern(source) for source in others], instructions=40)
    assert FirstMatch(patterns, instructions=40, known=known).find(key) == _one_by_one(patterns, key)


def test_a_portion_that_has_not_changed_is_taken_over():
    """An edit at the end leaves the sets before it as they are."""
    patterns = [compile_pattern(f"^/{number}$") for number in range(20)]
    known = FirstMatch(patterns, instructions=40)
    edited = FirstMatch([*patterns[:-1], compile_pattern("^/new$")], instructions=40, known=known)
    assert edited._portions[0] is known._portions[0]
    assert edited._portions[-1] is not known._portions[-1]
